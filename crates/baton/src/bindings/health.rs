//! Whether the node lives, and whether it takes work.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;

use super::Doors;

pub fn router() -> Router<Doors> {
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready))
}

async fn ready(State(doors): State<Doors>) -> Response {
    if doors.service.draining.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n").into_response();
    }
    match doors.service.store.next_ready(&probe()).await {
        Ok(_) => "ready\n".into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n").into_response(),
    }
}

/// A name that no task has: the read costs nothing and goes through to the database.
fn probe() -> baton_core::ident::AgentName {
    baton_core::ident::AgentName::parse("readyz-probe").expect("a valid name")
}
