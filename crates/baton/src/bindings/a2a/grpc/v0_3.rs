//! The service of A2A 0.3, `a2a.v1.A2AService`: the agent is named by the metadata `a2a-agent`, since its requests have no
//! tenant.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::model::{AgentInterface, StreamResponse};
use baton_wire::fault::{Fault, Kind};
use baton_wire::grpc::{frame, v0_3};
use baton_wire::operation::Operation;
use baton_wire::version::Version;
use bytes::Bytes;
use http::{HeaderMap, Request};

use super::super::call::{Answer, Parameters, call};
use super::{admit, message, not_grpc, reply, scope, wait};
use crate::bindings::stream::Open;
use crate::bindings::{Doors, fault};
use crate::service::Error;
use crate::service::manifest::{ExtendedCard, Viewer};

/// Which agent is meant; the default agent where it is absent.
const AGENT: &str = "a2a-agent";

/// Answers one call of a method.
pub async fn v0_3(
    State(doors): State<Doors>,
    Path(method): Path<String>,
    request: Request<Body>,
) -> Response {
    if let Some(response) = not_grpc(&request) {
        return response;
    }
    match run(&doors, &method, request).await {
        Ok(response) => response,
        Err(fault) => reply::refuse(&fault),
    }
}

async fn run(doors: &Doors, method: &str, request: Request<Body>) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let caller = admit(doors, &parts, Version::V0_3).await?;
    let operation = v0_3::operation(method).ok_or(Kind::MethodNotFound)?;
    let request = v0_3::read(operation, message(doors, &parts, body).await?)?;
    let scope = scope(doors, agent(&parts.headers)?, caller)?;
    // GetAgentCard of 0.3 is for either card: where there is no extended one, it is the public one.
    let manifest = doors.service.manifest(&scope.agent.settings);
    if operation == Operation::GetExtendedAgentCard && manifest.capabilities.extended_card != ExtendedCard::On
    {
        let card = manifest.card(Viewer::Anybody);
        return Ok(reply::whole(frame::write(&v0_3::card(&card, &manifest.legacy_interfaces()))));
    }
    let mut parameters = Parameters::read(&parts.headers, &scope, Version::V0_3)?;
    parameters.wait = wait(&parts.headers);
    let activated = parameters.activated.clone();
    let place = doors.enter(&scope, operation)?;
    let response = match call(&doors.service, &scope, request, parameters).await? {
        Answer::Stream(follow) => {
            let caller = place.map(|place| (scope.caller.clone(), place));
            reply::streamed(Open::new(&doors.service, *follow, caller), item)
        }
        answer => reply::whole(encode(&answer, &manifest.legacy_interfaces())),
    };
    Ok(activated.echo(response))
}

fn agent(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let Some(name) = headers.get(AGENT) else { return Ok(None) };
    name.to_str().map(Some).map_err(|_| fault::of(Error::AgentNotFound, None))
}

fn item(event: u64, item: &StreamResponse, until_input: bool) -> Bytes {
    frame::write(&v0_3::stream_item(event, item, until_input))
}

/// An answer that is not a stream. Pages of tasks are unknown to this version, and nothing here asks for one.
fn encode(answer: &Answer, legacy: &[AgentInterface]) -> Bytes {
    match answer {
        Answer::Sent(sent) => frame::write(&v0_3::sent(sent)),
        Answer::Task(task) => frame::write(&v0_3::task(task)),
        Answer::PushConfig(config) => frame::write(&v0_3::config(config)),
        Answer::PushConfigs(page) => frame::write(&v0_3::configs(page)),
        Answer::ExtendedCard(card) => frame::write(&v0_3::card(card, legacy)),
        Answer::Deleted | Answer::Page(_) | Answer::Stream(_) => frame::write(&()),
    }
}
