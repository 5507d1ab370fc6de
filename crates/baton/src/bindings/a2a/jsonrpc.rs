//! JSON-RPC 2.0 over HTTP (§9).

use axum::body::Body;
use axum::response::Response;
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::operation::Operation;
use baton_wire::request::Call;
use baton_wire::sse::Wrap;
use baton_wire::version::{A2A_VERSION, Version};
use http::header::CONTENT_TYPE;
use http::{Method, Request};

use super::super::media::{Media, is_json};
use super::super::{Doors, body, fault, sse};
use super::call::{Answer, Parameters, call};
use super::splice;
use crate::service::Scope;

/// Answers one request to `/a2a/{agent}`.
pub async fn answer(doors: &Doors, agent: &str, request: Request<Body>) -> Response {
    if request.method() != Method::POST {
        return fault::rest(&Fault::method_not_allowed("POST"), Media::of(request.headers()));
    }
    let (parts, body) = request.into_parts();
    let scope = match doors.gate.scope(&doors.service, agent, &parts).await {
        Ok(scope) => scope,
        Err(why) => return fault::rpc(&fault::of(why, None), &Id::NULL),
    };
    if !is_json(&parts.headers) {
        let fault =
            Fault::new(Kind::ContentTypeNotSupported).with_message("Content-Type must be application/json");
        return fault::rpc(&fault, &Id::NULL);
    }
    let bytes = match body::read(&parts.headers, body, doors.service.limits().body).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault::rpc(&fault, &Id::NULL),
    };
    let rpc = match jsonrpc::read(&bytes) {
        Ok(rpc) => rpc,
        Err(rejected) => return fault::rpc(&rejected.fault, &rejected.id),
    };
    match run(doors, &scope, &parts, &rpc).await {
        Ok(response) => response,
        Err(fault) => fault::rpc(&fault, &rpc.id),
    }
}

async fn run(
    doors: &Doors,
    scope: &Scope,
    parts: &http::request::Parts,
    rpc: &jsonrpc::Request<'_>,
) -> Result<Response, Fault> {
    Version::asked(
        parts.headers.get_all(A2A_VERSION).iter().map(http::HeaderValue::as_bytes),
        parts.uri.query(),
    )?;
    let operation = Operation::from_method(&rpc.method)?;
    let request = Call::from_params(operation, rpc.params)?;
    let parameters = Parameters::read(&parts.headers, scope)?;
    let activated = parameters.activated.clone();
    let place = doors.enter(scope, operation)?;
    let response = match call(&doors.service, scope, request, parameters).await? {
        Answer::Stream(follow) => {
            let caller = place.map(|place| (scope.caller.clone(), place));
            sse::respond(&doors.service, *follow, Wrap::JsonRpc(rpc.id.clone()), caller)
        }
        answer => {
            let headers = answer.headers();
            let body = splice::body(answer, |answer| jsonrpc::result(&rpc.id, answer));
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response.headers_mut().extend(headers);
            response
        }
    };
    Ok(activated.echo(response))
}
