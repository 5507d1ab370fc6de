//! The service of A2A 1.0, `lf.a2a.v1.A2AService`.

use std::sync::Arc;

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
use http::request::Parts;

use super::super::call::Answer;
use super::{Codec, admit, answer, message, scope, serve};
use crate::bindings::Doors;

/// Answers one call of a method.
pub async fn v1(doors: &Doors, method: &str, request: Request<Body>) -> Response {
    answer(request, async |parts, body| run(doors, method, parts, body).await).await
}

pub async fn call(
    State(doors): State<Arc<Doors>>,
    Path(method): Path<String>,
    request: Request<Body>,
) -> Response {
    v1(&doors, &method, request).await
}

async fn run(doors: &Doors, method: &str, parts: Parts, body: Body) -> Result<Response, Fault> {
    let caller = admit(doors, &parts, Version::V1_0).await?;
    let operation = v1::operation(method).ok_or(Kind::MethodNotFound)?;
    let request = v1::read(operation, message(doors, &caller, body).await?)?;
    let scope = scope(doors, request.tenant(), caller, &parts)?;
    let codec = Codec { version: Version::V1_0, item, encode };
    serve(doors, &scope, &parts.headers, request, codec).await
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
