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
mod openapi;
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
use baton_wire::response::encode;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::media::{Media, is_json};
use super::{Doors, body, fault};
use crate::service::Error;

pub fn router() -> Router<Arc<Doors>> {
    routes().split_for_parts().0
}

/// Every operation, with what it says of itself.
fn routes() -> OpenApiRouter<Arc<Doors>> {
    OpenApiRouter::with_openapi(openapi::Base::openapi())
        .routes(routes!(openapi::show))
        .routes(routes!(status::show))
        .routes(routes!(control::drain))
        .routes(routes!(control::lame_duck))
        .routes(routes!(control::end_lame_duck))
        .routes(routes!(control::pause))
        .routes(routes!(control::resume))
        .routes(routes!(control::freeze))
        .routes(routes!(control::unfreeze))
        .routes(routes!(rpc::call))
        .routes(routes!(control::pause_agent))
        .routes(routes!(control::resume_agent))
        .routes(routes!(control::freeze_grant))
        .routes(routes!(control::unfreeze_grant))
        .routes(routes!(status::agents))
        .routes(routes!(status::agent))
        .routes(routes!(status::card))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::message))
        .routes(routes!(tasks::events))
        .routes(routes!(log::show))
        .routes(routes!(tasks::retry))
        .routes(routes!(needs::attend))
        .routes(routes!(needs::show))
        .routes(routes!(login::invite))
        .routes(routes!(settings::show))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::retire))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(deliveries::replay))
        .routes(routes!(friends::list))
        .routes(routes!(friends::show))
        .routes(routes!(friends::look))
        .routes(routes!(friends::approve))
        .routes(routes!(friends::deny))
        .routes(routes!(peers::list, peers::ask))
        .routes(routes!(peers::show, peers::forget))
        .routes(routes!(peers::check))
        .routes(routes!(peers::say))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(grants::list, grants::create))
        .routes(routes!(grants::show, grants::revoke))
        .routes(routes!(grants::pause))
        .routes(routes!(grants::resume))
        .routes(routes!(grants::rotate))
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

/// The request's body as JSON. It is read whatever it is: a connection whose request was not read cannot go on.
async fn read<T: DeserializeOwned>(doors: &Doors, headers: &HeaderMap, body: Body) -> Result<T, Error> {
    let bytes = whole(doors, headers, body).await?;
    if !is_json(headers) {
        return Err(Error::invalid("Content-Type", "must be application/json"));
    }
    parse(&bytes)
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
        false if is_json(headers) => Ok(parse::<Option<T>>(&bytes)?.unwrap_or_default()),
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
