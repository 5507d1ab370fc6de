//! What the node says of itself to clients of OAuth 2: as an authorization server (RFC 8414), and as what it protects
//! (RFC 9728). Nothing of it depends on who asks, nor on what agents there are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_store::Verb;
use baton_wire::fault::{Fault, Kind};
use baton_wire::response::encode;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;

use super::super::media::Media;
use super::super::{Doors, fault};
use crate::service::manifest::Site;

#[derive(Serialize)]
struct Server<'a> {
    issuer: &'a str,
    token_endpoint: String,
    token_endpoint_auth_methods_supported: [&'static str; 2],
    grant_types_supported: [&'static str; 1],
    /// Nothing is authorized in a browser.
    response_types_supported: [&'static str; 0],
    scopes_supported: [&'static str; 6],
}

#[derive(Serialize)]
struct Protected<'a> {
    resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<&'a str>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: [&'static str; 6],
}

pub async fn server(State(doors): State<Arc<Doors>>) -> Response {
    let site = &doors.service.site;
    if site.ways.client_credentials.is_none() {
        return nowhere();
    }
    answer(&Server {
        issuer: &site.base,
        token_endpoint: site.token_endpoint(),
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
        grant_types_supported: ["client_credentials"],
        response_types_supported: [],
        scopes_supported: Verb::ALL.map(Verb::as_str),
    })
}

/// The form for a node below a path (RFC 8414 §3.1).
pub async fn server_below(state: State<Arc<Doors>>, Path(path): Path<String>) -> Response {
    if format!("/{path}") == state.service.site.path() { server(state).await } else { nowhere() }
}

pub async fn resource(State(doors): State<Arc<Doors>>) -> Response {
    let site = &doors.service.site;
    answer(&protected(site, site.base.clone()))
}

/// The form with the resource's own path (RFC 9728 §3.1): an agent, or a node below a path. Every name is answered: who
/// may know of an agent is not asked here.
pub async fn resource_below(State(doors): State<Arc<Doors>>, Path(path): Path<String>) -> Response {
    let site = &doors.service.site;
    let path = format!("/{path}");
    let below = path.strip_prefix(site.path()).unwrap_or(&path);
    let agent = below.strip_prefix("/a2a/").map(|name| name.strip_suffix('/').unwrap_or(name));
    match agent.map(AgentName::parse) {
        Some(Ok(agent)) => answer(&protected(site, site.url(&agent))),
        None if below.is_empty() => answer(&protected(site, site.base.clone())),
        Some(Err(_)) | None => nowhere(),
    }
}

/// Who can be asked for tokens that are good here.
fn protected(site: &Site, resource: String) -> Protected<'_> {
    let own = site.ways.client_credentials.map(|_| site.base.as_str());
    let issuers = site.ways.issuers.iter().map(|issuer| issuer.url.as_str());
    Protected {
        resource,
        authorization_servers: own.into_iter().chain(issuers).collect(),
        bearer_methods_supported: ["header"],
        scopes_supported: Verb::ALL.map(Verb::as_str),
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
