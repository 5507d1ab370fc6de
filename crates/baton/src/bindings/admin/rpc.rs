//! The operator's methods in JSON-RPC: the family `a2a.*`, each also without its prefix.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_store::{Actor, Hold};
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::operation::METHOD_PREFIX;
use http::Request;
use http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::media::{Media, is_json};
use super::super::{Doors, body, fault};
use super::control::{Act, Controls, perform};
use super::tasks::Shown;
use crate::service::Error;

/// What a method answers.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Controls(Controls),
    Task(Box<Shown>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAgent {
    agent: Option<AgentName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfGrant {
    grant: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    #[serde(default = "on")]
    on: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfTask {
    id: String,
}

const fn on() -> bool {
    true
}

/// Calls a method of the operator: GetNode, Drain, LameDuck, Pause, Resume, Freeze, Unfreeze, CancelTask, each also as a2a.NAME.
#[utoipa::path(
    post,
    path = "/api/v1/rpc",
    request_body = Object,
    responses((status = 200, description = "A response of JSON-RPC 2.0, with a result or an error", body = Object))
)]
pub async fn call(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let by = match doors.gate.operator(&parts) {
        Ok(by) => by,
        Err(why) => return fault::rpc(&fault::of(why, None), &Id::NULL),
    };
    if !is_json(&parts.headers) {
        let fault =
            Fault::new(Kind::ContentTypeNotSupported).with_message("Content-Type must be application/json");
        return fault::rpc(&fault, &Id::NULL);
    }
    let bytes = match body::read(body, doors.service.limits().body).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault::rpc(&fault, &Id::NULL),
    };
    let rpc = match jsonrpc::read(&bytes) {
        Ok(rpc) => rpc,
        Err(rejected) => return fault::rpc(&rejected.fault, &rejected.id),
    };
    match run(&doors, &rpc, &by).await {
        Ok(answer) => {
            let mut response = Response::new(Body::from(jsonrpc::result(&rpc.id, &answer)));
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response
        }
        Err(fault) => fault::rpc(&fault, &rpc.id),
    }
}

async fn run(doors: &Doors, rpc: &jsonrpc::Request<'_>, by: &Actor) -> Result<Answer, Fault> {
    let service = &doors.service;
    let params = rpc.params;
    let act = match rpc.method.strip_prefix(METHOD_PREFIX).unwrap_or(&rpc.method) {
        "GetNode" => {
            let Nothing {} = read(params)?;
            return Ok(Answer::Controls(Controls::of(service)));
        }
        "CancelTask" => {
            let OfTask { id } = read(params)?;
            let canceled =
                service.cancel_as_operator(by, &id).await.map_err(|why| fault::of(why, Some(&id)))?;
            return Ok(Answer::Task(Box::new(Shown::of(&canceled, None, true))));
        }
        "Drain" => {
            let Nothing {} = read(params)?;
            Act::Drain
        }
        "LameDuck" => {
            let Switch { on } = read(params)?;
            Act::LameDuck(on)
        }
        "Pause" => Act::Hold(paused(params)?),
        "Resume" => Act::Release(paused(params)?),
        "Freeze" => Act::Hold(frozen(params)?),
        "Unfreeze" => Act::Release(frozen(params)?),
        _ => {
            return Err(Fault::new(Kind::MethodNotFound).with_message(
                "Method not found; those of the operator are GetNode, Drain, LameDuck, Pause, Resume, Freeze, \
                 Unfreeze and CancelTask, each also as a2a.NAME",
            ));
        }
    };
    perform(service, act, by).await.map(Answer::Controls).map_err(unknown)
}

/// What is named in the params and is nowhere is a fault of the params.
fn unknown(why: Error) -> Fault {
    let why = match why {
        Error::AgentNotFound => Error::invalid("params.agent", "there is no such agent here"),
        Error::GrantNotFound => Error::invalid("params.grant", "there is no grant of this id"),
        why => why,
    };
    fault::of(why, None)
}

fn paused(params: Option<&RawValue>) -> Result<Hold, Fault> {
    let OfAgent { agent } = read(params)?;
    Ok(agent.map_or(Hold::PauseNode, Hold::PauseAgent))
}

fn frozen(params: Option<&RawValue>) -> Result<Hold, Fault> {
    let OfGrant { grant } = read(params)?;
    Ok(grant.map_or(Hold::FreezeNode, |id| Hold::FreezeGrant(id.into())))
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Fault> {
    let mut json = serde_json::Deserializer::from_str(params.map_or("{}", RawValue::get));
    serde_path_to_error::deserialize(&mut json).map_err(|why| {
        fault::of(Error::invalid(&format!("params.{}", why.path()), why.inner().to_string()), None)
    })
}
