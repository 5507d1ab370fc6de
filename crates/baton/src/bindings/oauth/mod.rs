//! The doors of OAuth 2: where clients register, where they send an operator, where tokens are had, and what says so. Their
//! errors are those of RFC 6749, not of A2A. The page on which the operator decides is one of the console.

mod cors;
mod form;
mod metadata;
mod register;
mod reply;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::{Doors, console};

pub fn router() -> Router<Arc<Doors>> {
    let endpoints = Router::new()
        .route("/oauth/token", post(token::exchange).options(cors::ask_first))
        .route("/oauth/revoke", post(token::revoke).options(cors::ask_first))
        .route("/oauth/register", post(register::register).options(cors::ask_first))
        .route("/.well-known/oauth-authorization-server", get(metadata::server).options(cors::ask_first))
        .route(
            "/.well-known/oauth-authorization-server/{*path}",
            get(metadata::server_below).options(cors::ask_first),
        )
        .route("/.well-known/oauth-protected-resource", get(metadata::resource).options(cors::ask_first))
        .route(
            "/.well-known/oauth-protected-resource/{*path}",
            get(metadata::resource_below).options(cors::ask_first),
        );
    let page = get(console::begin).layer(axum::middleware::map_response(console::harden));
    endpoints.layer(axum::middleware::from_fn(cors::open)).route("/oauth/authorize", page)
}
