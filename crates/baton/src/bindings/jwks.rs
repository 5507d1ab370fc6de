//! The public halves of the node's signing keys (RFC 7517), for those who verify its cards and its webhooks.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use baton_wire::response::encode;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::Doors;

pub fn router() -> Router<Arc<Doors>> {
    Router::new().route("/.well-known/jwks.json", get(show))
}

async fn show(State(doors): State<Arc<Doors>>) -> Response {
    let mut response = Response::new(Body::from(encode(&doors.service.keys.jwks())));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/jwk-set+json"));
    // A verifier that meets a new kid asks again anyway; a key that was retired should not live on for long.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}
