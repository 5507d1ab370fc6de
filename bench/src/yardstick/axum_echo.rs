//! Owns the limit: axum parses the JSON body into a value and answers with it. No task, no store.

use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;

pub fn router() -> Router {
    Router::new().route("/", post(echo))
}

async fn echo(Json(body): Json<Value>) -> Json<Value> {
    Json(body)
}
