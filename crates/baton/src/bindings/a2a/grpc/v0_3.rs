//! The service of A2A 0.3, `a2a.v1.A2AService`: the agent is named by the metadata `a2a-agent`, since its requests have no
//! tenant.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::model::{AgentInterface, StreamResponse};
use baton_wire::fault::{Fault, Kind};
use baton_wire::grpc::{frame, v0_3};
use baton_wire::operation::Operation;
use baton_wire::version::Version;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request};

use super::super::call::Answer;
use super::super::card;
use super::{Codec, admit, answer, message, reply, scope, serve};
use crate::bindings::{Doors, fault};
use crate::service::Error;
use crate::service::manifest::ExtendedCard;

/// Which agent is meant; the default agent where it is absent.
const AGENT: &str = "a2a-agent";

/// Answers one call of a method.
pub async fn v0_3(
    State(doors): State<Arc<Doors>>,
    Path(method): Path<String>,
    request: Request<Body>,
) -> Response {
    answer(request, async |parts, body| run(&doors, &method, parts, body).await).await
}

async fn run(doors: &Doors, method: &str, parts: Parts, body: Body) -> Result<Response, Fault> {
    let caller = admit(doors, &parts, Version::V0_3).await?;
    let operation = v0_3::operation(method).ok_or(Kind::MethodNotFound)?;
    let request = v0_3::read(operation, message(doors, &caller, body).await?)?;
    let scope = scope(doors, agent(&parts.headers)?, caller, &parts)?;
    let agent = &scope.agent.settings;
    // GetAgentCard of 0.3 is for either card: where there is no extended one, it is the public one.
    if operation == Operation::GetExtendedAgentCard
        && doors.service.manifest(agent).capabilities.extended_card != ExtendedCard::On
    {
        let (card, interfaces) = card::signed(&doors.service, agent);
        return Ok(reply::whole(frame::write(&v0_3::card(&card, &interfaces))));
    }
    let legacy = || doors.service.manifest(agent).legacy_interfaces();
    let codec = Codec { version: Version::V0_3, item, encode: |answer: &Answer| encode(answer, legacy) };
    serve(doors, &scope, &parts.headers, request, codec).await
}

fn agent(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let Some(name) = headers.get(AGENT) else { return Ok(None) };
    name.to_str().map(Some).map_err(|_| fault::of(Error::AgentNotFound, None))
}

fn item(event: u64, item: &StreamResponse, until_input: bool) -> Bytes {
    frame::write(&v0_3::stream_item(event, item, until_input))
}

/// An answer that is not a stream. Pages of tasks are unknown to this version, and nothing here asks for one.
fn encode(answer: &Answer, legacy: impl FnOnce() -> Vec<AgentInterface>) -> Bytes {
    match answer {
        Answer::Sent(sent) => frame::write(&v0_3::sent(sent)),
        Answer::Task(task) => frame::write(&v0_3::task(task)),
        Answer::PushConfig(config) => frame::write(&v0_3::config(config)),
        Answer::PushConfigs(page) => frame::write(&v0_3::configs(page)),
        Answer::ExtendedCard(card) => frame::write(&v0_3::card(card, &legacy())),
        Answer::Deleted | Answer::Page(_) | Answer::Stream(_) => frame::write(&()),
    }
}
