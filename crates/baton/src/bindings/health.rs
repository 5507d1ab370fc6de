//! Whether the node lives, and whether it takes work.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use baton_store::Hold;
use http::StatusCode;

use super::Doors;
use crate::service::Service;

pub fn router() -> Router<Arc<Doors>> {
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready))
}

async fn ready(State(doors): State<Arc<Doors>>) -> Response {
    match is_ready(&doors.service).await {
        Ok(()) => {
            let mut text = "ready\n".to_owned();
            for (hold, what) in
                [(Hold::FreezeNode, "frozen: takes no messages"), (Hold::PauseNode, "paused: work waits")]
            {
                if doors.service.controls.holds(&hold) {
                    let _ = writeln!(text, "{what}");
                }
            }
            text.into_response()
        }
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// Whether the node is to be sent requests, or why not. A frozen node is: reads and cancellations still come in.
pub async fn is_ready(service: &Service) -> Result<(), &'static str> {
    if service.draining.is_cancelled() {
        return Err("draining");
    }
    if service.controls.is_lame_duck() {
        return Err("lame duck");
    }
    service.store.next_ready(&probe()).await.map(|_| ()).map_err(|_| "the store does not answer")
}

/// A name that no task has: the read costs nothing and goes through to the database.
fn probe() -> baton_core::ident::AgentName {
    baton_core::ident::AgentName::parse("readyz-probe").expect("a valid name")
}
