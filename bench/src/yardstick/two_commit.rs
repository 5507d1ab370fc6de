//! Owns the door of the two-commit yardstick: a SendMessage is committed once as a task with its message and
//! once as a completed task with its artifact, then answered. Nothing else of A2A.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::writer::{Operation, Writer};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    context_id: Option<String>,
    #[serde(borrow)]
    parts: &'a RawValue,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Outcome<'a>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    task: Task<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    id: &'a str,
    context_id: &'a str,
    status: Status<'a>,
    artifacts: [Artifact<'a>; 1],
    history: [&'a RawValue; 1],
}

#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    timestamp: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    artifact_id: &'a str,
    parts: &'a RawValue,
}

pub fn router(writer: Writer) -> Router {
    Router::new().route("/", post(send)).route("/commits", get(commits)).with_state(writer)
}

/// The same without the second half: a message is committed once, as a task, and answered.
pub fn router_of_one(writer: Writer) -> Router {
    Router::new().route("/", post(take)).route("/commits", get(commits)).with_state(writer)
}

async fn commits(State(writer): State<Writer>) -> Json<serde_json::Value> {
    Json(serde_json::json!({"store": {"commits": writer.commits()}}))
}

async fn send(State(writer): State<Writer>, body: Bytes) -> Response {
    match answer(&writer, &body).await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

async fn take(State(writer): State<Writer>, body: Bytes) -> Response {
    match taken(&writer, &body).await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

async fn taken(writer: &Writer, body: &[u8]) -> crate::Result<Vec<u8>> {
    let request: Request<'_> = serde_json::from_slice(body)?;
    let message: Message<'_> = serde_json::from_str(request.params.message.get())?;
    let id = Uuid::now_v7().to_string();
    let context_id = message.context_id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let at = now();
    let create = Operation::Create {
        id: id.clone(),
        context_id: context_id.clone(),
        at: at.clone(),
        message: request.params.message.get().to_owned(),
    };
    if !writer.commit(create).await {
        return Err("the writer is gone".into());
    }
    let artifact = Artifact { artifact_id: "echo", parts: message.parts };
    let task = Task {
        id: &id,
        context_id: &context_id,
        status: Status { state: "TASK_STATE_SUBMITTED", timestamp: &at },
        artifacts: [artifact],
        history: [request.params.message],
    };
    let answer = Answer { jsonrpc: "2.0", id: request.id, result: Outcome { task } };
    Ok(serde_json::to_vec(&answer)?)
}

async fn answer(writer: &Writer, body: &[u8]) -> crate::Result<Vec<u8>> {
    let request: Request<'_> = serde_json::from_slice(body)?;
    let message: Message<'_> = serde_json::from_str(request.params.message.get())?;
    let id = Uuid::now_v7().to_string();
    let context_id = message.context_id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let create = Operation::Create {
        id: id.clone(),
        context_id: context_id.clone(),
        at: now(),
        message: request.params.message.get().to_owned(),
    };
    if !writer.commit(create).await {
        return Err("the writer is gone".into());
    }
    let artifact = Artifact { artifact_id: "echo", parts: message.parts };
    let at = now();
    let complete =
        Operation::Complete { id: id.clone(), at: at.clone(), artifact: serde_json::to_string(&artifact)? };
    if !writer.commit(complete).await {
        return Err("the writer is gone".into());
    }
    let status = Status { state: "TASK_STATE_COMPLETED", timestamp: &at };
    let task = Task {
        id: &id,
        context_id: &context_id,
        status,
        artifacts: [artifact],
        history: [request.params.message],
    };
    let answer = Answer { jsonrpc: "2.0", id: request.id, result: Outcome { task } };
    Ok(serde_json::to_vec(&answer)?)
}

fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
