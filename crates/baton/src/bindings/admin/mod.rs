//! The admin API, `/api/v1`: what the operator and the command line see of a node.

pub(super) mod audit;
pub(super) mod clients;
pub(super) mod control;
pub(super) mod deliveries;
pub(super) mod friends;
pub(super) mod grants;
mod keys;
pub(super) mod log;
mod login;
pub(super) mod needs;
mod openapi;
mod peers;
mod rpc;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod tasks;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Query};
use axum::response::Response;
use axum::routing::{delete, get, post};
use baton_store::Actor;
use baton_wire::response::encode;
use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::OpenApi;

use super::media::{Media, is_json};
use super::{Doors, body, fault};
use crate::service::Error;

/// Where all of it is.
pub const AT: &str = "/api/v1";

/// Makes of one list what is routed and what is described.
macro_rules! operations {
    ($($method:ident $path:literal => $($handler:ident)::+,)+) => {
        pub fn router() -> Router<Arc<Doors>> {
            Router::new()$(.route(concat!("/api/v1/", $path), $method($($handler)::+)))+
        }

        /// What every handler says of itself.
        #[derive(OpenApi)]
        #[openapi(paths($($($handler)::+),+))]
        struct Described;

        /// The methods and paths of [`router`], which handlers repeat where they describe themselves.
        #[cfg(test)]
        const ROUTED: &[(&str, &str)] = &[$((stringify!($method), concat!("/api/v1/", $path))),+];
    };
}

operations! {
    get "openapi.json" => openapi::show,
    get "status" => status::show,
    post "node/drain" => control::drain,
    post "node/lame-duck" => control::lame_duck,
    post "node/end-lame-duck" => control::end_lame_duck,
    post "node/pause" => control::pause,
    post "node/resume" => control::resume,
    post "node/freeze" => control::freeze,
    post "node/unfreeze" => control::unfreeze,
    post "rpc" => rpc::call,
    post "agents/{name}/pause" => control::pause_agent,
    post "agents/{name}/resume" => control::resume_agent,
    post "grants/{id}/freeze" => control::freeze_grant,
    post "grants/{id}/unfreeze" => control::unfreeze_grant,
    get "agents" => status::agents,
    get "agents/{name}" => status::agent,
    get "agents/{name}/card" => status::card,
    get "tasks" => tasks::list,
    get "tasks/{id}" => tasks::show,
    post "tasks/{id}/cancel" => tasks::cancel,
    post "tasks/{id}/messages" => tasks::message,
    get "tasks/{id}/events" => tasks::events,
    get "tasks/{id}/log" => log::show,
    post "tasks/{id}/retry" => tasks::retry,
    post "tasks/{id}/attend" => needs::attend,
    get "needs" => needs::show,
    post "login" => login::invite,
    get "settings" => settings::show,
    get "keys" => keys::list,
    post "keys" => keys::create,
    delete "keys/{kid}" => keys::retire,
    get "deliveries" => deliveries::list,
    get "deliveries/{task}/{id}" => deliveries::show,
    post "deliveries/{task}/{id}/replay" => deliveries::replay,
    get "friend-requests" => friends::list,
    get "friend-requests/{id}" => friends::show,
    post "friend-requests/{id}/look" => friends::look,
    post "friend-requests/{id}/approve" => friends::approve,
    post "friend-requests/{id}/deny" => friends::deny,
    get "peers" => peers::list,
    post "peers" => peers::ask,
    get "peers/{id}" => peers::show,
    delete "peers/{id}" => peers::forget,
    post "peers/{id}/check" => peers::check,
    post "peers/{id}/messages" => peers::say,
    get "audit" => audit::list,
    get "audit/verify" => audit::verify,
    get "grants" => grants::list,
    post "grants" => grants::create,
    get "grants/{id}" => grants::show,
    delete "grants/{id}" => grants::revoke,
    post "grants/{id}/pause" => grants::pause,
    post "grants/{id}/resume" => grants::resume,
    post "grants/{id}/rotate" => grants::rotate,
    post "work/claim" => work::claim,
    post "work/claim_next" => work::claim_next,
    post "work/heartbeat" => work::heartbeat,
    post "work/progress" => work::progress,
    post "work/ask" => work::ask,
    post "work/complete" => work::complete,
    post "work/fail" => work::fail,
    post "work/release" => work::release,
    post "work/reject" => work::reject,
    get "clients" => clients::list,
    delete "clients/{id}" => clients::sign_out,
}

/// The operator. It stands before everything else that a handler takes: nothing more of a request of somebody else is read.
#[derive(Debug)]
pub struct Operator(Actor);

impl FromRequestParts<Arc<Doors>> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Response> {
        doors.gate.operator(parts).map(Self).map_err(refuse)
    }
}

/// The request's body as JSON.
#[derive(Debug)]
pub struct Sent<T>(T);

impl<T: DeserializeOwned> FromRequest<Arc<Doors>> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, doors: &Arc<Doors>) -> Result<Self, Response> {
        let (head, body) = request.into_parts();
        let read = async {
            let bytes = whole(doors, body).await?;
            if is_json(&head.headers) { body::parse(&bytes) } else { Err(not_json()) }
        };
        read.await.map(Self).map_err(refuse)
    }
}

/// The same, where everything in it may be left out, and so the body.
#[derive(Debug)]
pub struct MaybeSent<T>(T);

impl<T: DeserializeOwned + Default> FromRequest<Arc<Doors>> for MaybeSent<T> {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, doors: &Arc<Doors>) -> Result<Self, Response> {
        let (head, body) = request.into_parts();
        let read = async {
            let bytes = whole(doors, body).await?;
            match bytes.is_empty() {
                true => Ok(T::default()),
                false if is_json(&head.headers) => Ok(body::parse::<Option<T>>(&bytes)?.unwrap_or_default()),
                false => Err(not_json()),
            }
        };
        read.await.map(Self).map_err(refuse)
    }
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

fn not_json() -> Error {
    Error::invalid("Content-Type", "must be application/json")
}

fn refuse(why: Error) -> Response {
    fault::rest(&fault::of(why, None), Media::Json)
}

async fn whole(doors: &Doors, body: Body) -> Result<Bytes, Error> {
    let bytes = body::read(body, doors.service.limits().body).await;
    bytes.map_err(|fault| Error::invalid("body", fault.message()))
}
