//! The admin API, `/api/v1`: what the operator and the command line see of a node.

pub(super) mod audit;
pub(super) mod control;
pub(super) mod deliveries;
pub(super) mod friends;
pub(super) mod grants;
mod keys;
pub(super) mod log;
mod login;
pub(super) mod needs;
mod peers;
mod rpc;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod tasks;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use axum::routing::{delete, get, post};
use baton_wire::response::encode;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::media::{Media, is_json};
use super::{Doors, body, fault};
use crate::service::Error;

pub fn router() -> Router<Arc<Doors>> {
    Router::new()
        .route("/api/v1/status", get(status::show))
        .route("/api/v1/node/drain", post(control::drain))
        .route("/api/v1/node/lame-duck", post(control::lame_duck))
        .route("/api/v1/node/end-lame-duck", post(control::end_lame_duck))
        .route("/api/v1/node/pause", post(control::pause))
        .route("/api/v1/node/resume", post(control::resume))
        .route("/api/v1/node/freeze", post(control::freeze))
        .route("/api/v1/node/unfreeze", post(control::unfreeze))
        .route("/api/v1/rpc", post(rpc::call))
        .route("/api/v1/agents/{name}/pause", post(control::pause_agent))
        .route("/api/v1/agents/{name}/resume", post(control::resume_agent))
        .route("/api/v1/grants/{id}/freeze", post(control::freeze_grant))
        .route("/api/v1/grants/{id}/unfreeze", post(control::unfreeze_grant))
        .route("/api/v1/agents", get(status::agents))
        .route("/api/v1/agents/{name}", get(status::agent))
        .route("/api/v1/agents/{name}/card", get(status::card))
        .route("/api/v1/tasks", get(tasks::list))
        .route("/api/v1/tasks/{id}", get(tasks::show))
        .route("/api/v1/tasks/{id}/cancel", post(tasks::cancel))
        .route("/api/v1/tasks/{id}/messages", post(tasks::message))
        .route("/api/v1/tasks/{id}/events", get(tasks::events))
        .route("/api/v1/tasks/{id}/log", get(log::show))
        .route("/api/v1/tasks/{id}/retry", post(tasks::retry))
        .route("/api/v1/tasks/{id}/attend", post(needs::attend))
        .route("/api/v1/needs", get(needs::show))
        .route("/api/v1/login", post(login::invite))
        .route("/api/v1/settings", get(settings::show))
        .route("/api/v1/keys", get(keys::list).post(keys::create))
        .route("/api/v1/keys/{kid}", delete(keys::retire))
        .route("/api/v1/deliveries", get(deliveries::list))
        .route("/api/v1/deliveries/{task}/{id}", get(deliveries::show))
        .route("/api/v1/deliveries/{task}/{id}/replay", post(deliveries::replay))
        .route("/api/v1/friend-requests", get(friends::list))
        .route("/api/v1/friend-requests/{id}", get(friends::show))
        .route("/api/v1/friend-requests/{id}/look", post(friends::look))
        .route("/api/v1/friend-requests/{id}/approve", post(friends::approve))
        .route("/api/v1/friend-requests/{id}/deny", post(friends::deny))
        .route("/api/v1/peers", get(peers::list).post(peers::ask))
        .route("/api/v1/peers/{id}", get(peers::show).delete(peers::forget))
        .route("/api/v1/peers/{id}/check", post(peers::check))
        .route("/api/v1/peers/{id}/messages", post(peers::say))
        .route("/api/v1/audit", get(audit::list))
        .route("/api/v1/audit/verify", get(audit::verify))
        .route("/api/v1/grants", get(grants::list).post(grants::create))
        .route("/api/v1/grants/{id}", get(grants::show).delete(grants::revoke))
        .route("/api/v1/grants/{id}/pause", post(grants::pause))
        .route("/api/v1/grants/{id}/resume", post(grants::resume))
        .route("/api/v1/grants/{id}/rotate", post(grants::rotate))
}

fn answer(result: Result<impl Serialize, Error>, id: Option<&str>) -> Response {
    match result {
        Ok(value) => {
            let mut response = Response::new(Body::from(encode(&value)));
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response
        }
        Err(why) => fault::rest(&fault::of(why, id), Media::Json),
    }
}

/// The query of a request, as far as it could be read.
type Asked<T> = Result<Query<T>, QueryRejection>;

fn query<T>(asked: Asked<T>) -> Result<T, Error> {
    asked.map(|Query(asked)| asked).map_err(|why| Error::invalid("", why.body_text()))
}

/// The request's body as JSON.
async fn read<T: DeserializeOwned>(doors: &Doors, headers: &HeaderMap, body: Body) -> Result<T, Error> {
    if !is_json(headers) {
        return Err(Error::invalid("Content-Type", "must be application/json"));
    }
    parse(&whole(doors, headers, body).await?)
}

/// The same, where everything in it may be left out, and so the body.
async fn read_optional<T: DeserializeOwned + Default>(
    doors: &Doors,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Error> {
    let bytes = whole(doors, headers, body).await?;
    match bytes.is_empty() {
        true => Ok(T::default()),
        false if is_json(headers) => parse(&bytes),
        false => Err(Error::invalid("Content-Type", "must be application/json")),
    }
}

async fn whole(doors: &Doors, headers: &HeaderMap, body: Body) -> Result<Bytes, Error> {
    let bytes = body::read(headers, body, doors.service.limits().body).await;
    bytes.map_err(|fault| Error::invalid("body", fault.message()))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut json)
        .map_err(|why| Error::invalid(&why.path().to_string(), why.inner().to_string()))
}
