//! Whether the node lives, and whether it takes work.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;

use super::Doors;
use crate::service::Service;

pub fn router() -> Router<Arc<Doors>> {
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready))
}

async fn ready(State(doors): State<Arc<Doors>>) -> Response {
    match is_ready(&doors.service).await {
        Ok(()) => "ready\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// Whether the node takes work, or why not.
pub async fn is_ready(service: &Service) -> Result<(), &'static str> {
    if service.draining.is_cancelled() {
        return Err("draining");
    }
    service.store.next_ready(&probe()).await.map(|_| ()).map_err(|_| "the store does not answer")
}

/// A name that no task has: the read costs nothing and goes through to the database.
fn probe() -> baton_core::ident::AgentName {
    baton_core::ident::AgentName::parse("readyz-probe").expect("a valid name")
}
