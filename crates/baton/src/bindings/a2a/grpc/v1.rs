//! The service of A2A 1.0, `lf.a2a.v1.A2AService`.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::model::StreamResponse;
use baton_wire::fault::{Fault, Kind};
use baton_wire::grpc::frame;
use baton_wire::grpc::v1::{self, pb};
use baton_wire::version::Version;
use bytes::Bytes;
use http::Request;

use super::super::call::{Answer, Parameters, call};
use super::{admit, message, not_grpc, reply, scope, wait};
use crate::bindings::Doors;
use crate::bindings::stream::Open;

/// Answers one call of a method.
pub async fn v1(State(doors): State<Doors>, Path(method): Path<String>, request: Request<Body>) -> Response {
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
    let caller = admit(doors, &parts, Version::V1_0).await?;
    let operation = v1::operation(method).ok_or(Kind::MethodNotFound)?;
    let request = v1::read(operation, message(doors, &parts, body).await?)?;
    let scope = scope(doors, request.tenant(), caller)?;
    let mut parameters = Parameters::read(&parts.headers, &scope, Version::V1_0)?;
    parameters.wait = wait(&parts.headers);
    let activated = parameters.activated.clone();
    let place = doors.enter(&scope, operation)?;
    let response = match call(&doors.service, &scope, request, parameters).await? {
        Answer::Stream(follow) => {
            let caller = place.map(|place| (scope.caller.clone(), place));
            reply::streamed(Open::new(&doors.service, *follow, caller), item)
        }
        answer => reply::whole(encode(&answer)),
    };
    Ok(activated.echo(response))
}

fn item(event: u64, item: &StreamResponse, _: bool) -> Bytes {
    frame::write(&v1::stream_item(event, item))
}

/// An answer that is not a stream.
fn encode(answer: &Answer) -> Bytes {
    match answer {
        Answer::Sent(sent) => frame::write(&pb::SendMessageResponse::from(sent)),
        Answer::Task(task) => frame::write(&pb::Task::from(&**task)),
        Answer::Page(page) => frame::write(&pb::ListTasksResponse::from(page)),
        Answer::PushConfig(config) => frame::write(&pb::TaskPushNotificationConfig::from(&**config)),
        Answer::PushConfigs(page) => frame::write(&pb::ListTaskPushNotificationConfigsResponse::from(page)),
        Answer::ExtendedCard(card) => frame::write(&pb::AgentCard::from(&**card)),
        Answer::Deleted | Answer::Stream(_) => frame::write(&()),
    }
}
