//! The doors of OAuth 2: where tokens are had, and what says so. Its errors are those of RFC 6749, not of A2A.

mod metadata;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::Doors;

pub fn router() -> Router<Arc<Doors>> {
    Router::new()
        .route("/oauth/token", post(token::exchange))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .route("/.well-known/oauth-authorization-server/{*path}", get(metadata::server_below))
        .route("/.well-known/oauth-protected-resource", get(metadata::resource))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::resource_below))
}
