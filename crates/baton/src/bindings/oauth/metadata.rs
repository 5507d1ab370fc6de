//! What the node says of itself to clients of OAuth 2: as an authorization server (RFC 8414), and as what it protects
//! (RFC 9728). Nothing of it depends on who asks, nor on what agents there are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_store::Verb;
use baton_wire::fault::{Fault, Kind};
use baton_wire::response::encode;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;

use super::super::media::Media;
use super::super::{Doors, fault};
use crate::access::Resource;
use crate::service::manifest::Site;
use crate::service::oauth::MCP_VERBS;

#[derive(Default, Serialize)]
struct Server<'a> {
    issuer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    grant_types_supported: Vec<&'static str>,
    /// Empty where nothing is authorized in a browser.
    response_types_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    response_modes_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_challenge_methods_supported: Vec<&'static str>,
    scopes_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    client_id_metadata_document_supported: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Serialize)]
struct Protected<'a> {
    resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<&'a str>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: Vec<&'static str>,
}

pub async fn server(State(doors): State<Arc<Doors>>) -> Response {
    let site = &doors.service.site;
    let mut server = Server {
        issuer: &site.base,
        token_endpoint: site.token_endpoint(),
        scopes_supported: spelled(&Verb::ALL),
        ..Server::default()
    };
    if site.ways.client_credentials.is_some() {
        server.token_endpoint_auth_methods_supported = vec!["client_secret_basic", "client_secret_post"];
        server.grant_types_supported = vec!["client_credentials"];
    }
    if site.ways.authorization_code.is_some() {
        with_codes(&mut server, site);
    }
    if server.grant_types_supported.is_empty() { nowhere() } else { answer(&server) }
}

/// What there is for clients that ask an operator in a browser.
fn with_codes<'a>(server: &mut Server<'a>, site: &'a Site) {
    let at = |path: &str| Some(format!("{}/oauth/{path}", site.base));
    server.authorization_endpoint = at("authorize");
    server.revocation_endpoint = at("revoke");
    server.registration_endpoint = at("register").filter(|_| site.ways.registration);
    server.token_endpoint_auth_methods_supported.push("none");
    server.revocation_endpoint_auth_methods_supported = vec!["none"];
    server.grant_types_supported.extend(["authorization_code", "refresh_token"]);
    server.response_types_supported = vec!["code"];
    server.response_modes_supported = vec!["query"];
    server.code_challenge_methods_supported = vec!["S256"];
    server.client_id_metadata_document_supported = true;
    server.authorization_response_iss_parameter_supported = true;
}

fn spelled(verbs: &[Verb]) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

/// The form for a node below a path (RFC 8414 §3.1).
pub async fn server_below(state: State<Arc<Doors>>, Path(path): Path<String>) -> Response {
    if format!("/{path}") == state.service.site.path() { server(state).await } else { nowhere() }
}

pub async fn resource(State(doors): State<Arc<Doors>>) -> Response {
    let site = &doors.service.site;
    answer(&protected(site, &Resource::Node))
}

/// The form with the resource's own path (RFC 9728 §3.1): an agent, the MCP server, or a node below a path. Every name is
/// answered: who may know of an agent is not asked here.
pub async fn resource_below(State(doors): State<Arc<Doors>>, Path(path): Path<String>) -> Response {
    let site = &doors.service.site;
    let path = format!("/{path}");
    let below = path.strip_prefix(site.path()).unwrap_or(&path);
    Resource::parse(below).map_or_else(nowhere, |resource| answer(&protected(site, &resource)))
}

/// Who can be asked for tokens that are good here.
fn protected<'a>(site: &'a Site, resource: &Resource) -> Protected<'a> {
    let is_server = site.ways.client_credentials.is_some() || site.ways.authorization_code.is_some();
    let own = is_server.then_some(site.base.as_str());
    let issuers = site.ways.issuers.iter().map(|issuer| issuer.url.as_str());
    Protected {
        resource: format!("{}{}", site.base, resource.path()),
        authorization_servers: own.into_iter().chain(issuers).collect(),
        bearer_methods_supported: ["header"],
        // What there is use for there: clients ask for all of it.
        scopes_supported: spelled(if *resource == Resource::Mcp { &MCP_VERBS } else { &Verb::ALL }),
    }
}

fn answer(metadata: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(encode(metadata)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, Media::Json.header());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

fn nowhere() -> Response {
    fault::rest(&Fault::new(Kind::UnknownPath), Media::Json)
}
