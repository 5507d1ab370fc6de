//! JSON-RPC 2.0 over HTTP (§9), in either version.

use axum::body::Body;
use axum::response::Response;
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::operation::Operation;
use baton_wire::request::Call;
use baton_wire::sse::Wrap;
use baton_wire::v03::{self, Spelled, Spelling};
use baton_wire::version::{A2A_VERSION, Version};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

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
    let bytes = match body::read(body, scope.caller.body_limit(doors.service.limits().body)).await {
        Ok(bytes) => bytes,
        Err(fault) => return fault::rpc(&fault, &Id::NULL),
    };
    let rpc = match jsonrpc::read(&bytes) {
        Ok(rpc) => rpc,
        Err(rejected) => return fault::rpc(&rejected.fault, &rejected.id),
    };
    match run(doors, &scope, &parts, &rpc).await {
        Ok(response) => response,
        Err(fault) => refuse(&fault, &rpc, &parts.headers),
    }
}

/// A refusal. Who asked for a stream in 0.3 reads it as an event of one: the clients of 0.3 lose the code of any other
/// answer. What stands in front of the protocol is an HTTP status for everybody.
fn refuse(fault: &Fault, rpc: &jsonrpc::Request<'_>, headers: &HeaderMap) -> Response {
    let streaming = v03::operation(&rpc.method).is_some_and(Operation::is_streaming);
    if streaming && accepts_events(headers) && fault.jsonrpc_http_status() == StatusCode::OK {
        return sse::refuse(fault, &Wrap::JsonRpcV03(rpc.id.clone()));
    }
    fault::rpc(fault, &rpc.id)
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let named = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/event-stream"));
    headers.get_all(ACCEPT).iter().any(named)
}

async fn run(
    doors: &Doors,
    scope: &Scope,
    parts: &http::request::Parts,
    rpc: &jsonrpc::Request<'_>,
) -> Result<Response, Fault> {
    let headers = parts.headers.get_all(A2A_VERSION).iter().map(HeaderValue::as_bytes);
    let asked = Version::asked(headers, parts.uri.query())?;
    let (operation, version) = Operation::from_method(asked, &rpc.method)?;
    let request = Call::from_params((operation, version), rpc.params)?;
    let parameters = Parameters::read(&parts.headers, scope, version)?;
    let activated = parameters.activated.clone();
    let place = doors.enter(scope, operation)?;
    let response = match call(&doors.service, scope, request, parameters).await? {
        Answer::Stream(follow) => {
            let id = rpc.id.clone();
            let wrap = if version == Version::V0_3 { Wrap::JsonRpcV03(id) } else { Wrap::JsonRpc(id) };
            sse::respond(&doors.service, *follow, wrap, place)
        }
        answer => {
            let headers = answer.headers();
            let body = splice::body(answer, |answer| match version {
                Version::V1_0 => jsonrpc::result(&rpc.id, answer),
                Version::V0_3 => jsonrpc::result(&rpc.id, &Spelled(Spelling::JsonRpc, answer)),
            });
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response.headers_mut().extend(headers);
            response
        }
    };
    Ok(activated.echo(response))
}
