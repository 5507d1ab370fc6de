//! Where clients register themselves (RFC 7591). It needs no credentials and gives none: an id, by which an operator may be
//! asked.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use baton_store::Registration;
use http::{Request, StatusCode};
use serde::{Deserialize, Serialize};

use super::super::media::is_json;
use super::super::{Doors, body};
use super::reply::{Stop, bad, respond, stopped};
use super::token::nowhere;
use crate::service::oauth::clients::{Wanted, Wrong};

/// Bytes of a registration: its redirect URIs, and what else clients say that nobody keeps.
const BODY: usize = 64 * 1024;

/// What is read of what a client says of itself.
#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    redirect_uris: Vec<String>,
    client_name: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// What is kept of it, and what it comes to (§3.2.1).
#[derive(Serialize)]
struct Registered {
    client_id: String,
    client_id_issued_at: i64,
    client_name: String,
    redirect_uris: Vec<String>,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
}

pub async fn register(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    if !doors.service.site.ways.registration {
        return nowhere();
    }
    match run(&doors, request).await {
        Ok(registered) => respond(StatusCode::CREATED, &registered),
        Err(why) => stopped(why),
    }
}

async fn run(doors: &Doors, request: Request<Body>) -> Result<Registered, Stop> {
    let (parts, content) = request.into_parts();
    doors.gate.admit_registration(&parts).map_err(Stop::Failed)?;
    let wrong = |what: String| bad("invalid_client_metadata", what);
    if !is_json(&parts.headers) {
        return Err(wrong("The registration is the body, as application/json".to_owned()).into());
    }
    let bytes = body::read(content, BODY).await;
    let bytes =
        bytes.map_err(|_| wrong("The body broke off, or is larger than any registration is".to_owned()))?;
    let metadata: Metadata = serde_json::from_slice(&bytes).map_err(|why| wrong(why.to_string()))?;
    for (name, listed, needed) in [
        ("grant_types", &metadata.grant_types, "authorization_code"),
        ("response_types", &metadata.response_types, "code"),
    ] {
        if listed.as_ref().is_some_and(|listed| !listed.iter().any(|one| one == needed)) {
            return Err(
                wrong(format!("{name} has {needed} in it: there is nothing else to register for")).into()
            );
        }
    }
    let wanted = Wanted { name: metadata.client_name, redirects: metadata.redirect_uris };
    let wanted = wanted.check().map_err(|why| match why {
        Wrong::Redirect(what) => bad("invalid_redirect_uri", what),
        Wrong::Other(what) => wrong(what),
    })?;
    let new = doors.service.register_oauth_client(wanted, doors.gate.origin_of(&parts)).await;
    let Registration { id, name, redirects, created_at, .. } = new.map_err(Stop::Failed)?;
    Ok(Registered {
        client_id: id,
        client_id_issued_at: created_at.as_millis() / 1_000,
        client_name: name,
        redirect_uris: redirects,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
    })
}
