//! What the endpoints of OAuth answer: JSON, with the errors of RFC 6749 §5.2, never to be kept by anybody.

use axum::body::Body;
use axum::response::Response;
use baton_wire::response::encode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use super::super::fault;
use super::super::media::Media;
use crate::service::Error;
use crate::service::oauth::Refused;

/// RFC 6749 §5.2.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    error: &'static str,
    error_description: String,
    #[serde(skip)]
    status: StatusCode,
}

/// Why there is nothing to be had.
#[derive(Debug)]
pub enum Stop {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Refused> for Stop {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Client => client().into(),
            Refused::Scope => bad("invalid_scope", "The scope has verbs in it that were not granted").into(),
            Refused::Grant => grant().into(),
            Refused::Target => bad("invalid_target", "The resource is not what was asked for before").into(),
            Refused::Paused => bad("unauthorized_client", "The grant is paused").into(),
            Refused::Failed(why) => Self::Failed(why),
        }
    }
}

pub fn bad(error: &'static str, what: impl Into<String>) -> Refusal {
    Refusal { error, error_description: what.into(), status: StatusCode::BAD_REQUEST }
}

/// Of the token endpoint: no client proved to be one.
pub fn client() -> Refusal {
    let what = "The client_id is the id of a grant, and the client_secret its token; or the client_id is not known here, or not any more";
    Refusal { status: StatusCode::UNAUTHORIZED, ..bad("invalid_client", what) }
}

/// What is brought is not good: whatever it is, the same is said.
pub fn grant() -> Refusal {
    bad("invalid_grant", "What was brought is not good here, or not any more: ask the operator again")
}

pub fn refused(refusal: &Refusal) -> Response {
    let mut response = respond(refusal.status, refusal);
    // HTTP wants one, whichever way the client tried.
    if refusal.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"baton\""));
    }
    response
}

pub fn failed(why: Error) -> Response {
    let fault = fault::of(why, None);
    let (error, what, status) = match fault.http_status() {
        status @ StatusCode::TOO_MANY_REQUESTS => {
            ("temporarily_unavailable", "Too many requests; an access token is good for many calls", status)
        }
        status @ StatusCode::SERVICE_UNAVAILABLE => {
            ("temporarily_unavailable", "The node cannot do this now; try again soon", status)
        }
        _ => ("server_error", "The node failed; its log says why", StatusCode::INTERNAL_SERVER_ERROR),
    };
    let mut response = respond(status, &Refusal { status, ..bad(error, what) });
    response.headers_mut().extend(fault.headers().filter(|(name, _)| *name == RETRY_AFTER));
    response
}

pub fn stopped(why: Stop) -> Response {
    match why {
        Stop::Refused(refusal) => refused(&refusal),
        Stop::Failed(why) => failed(why),
    }
}

pub fn respond(status: StatusCode, said: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(encode(said)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, Media::Json.header());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
