//! gRPC (§10): the operations on the same port, over HTTP/2.
//!
//! What a caller may see of a request that is refused stands in its status: authentication comes before anything is read.

mod health;
mod reply;
mod v0_3;
mod v1;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::any;
use baton_core::ident::AgentName;
use baton_core::model::{StreamResponse, Violation};
use baton_wire::fault::{Fault, Kind};
use baton_wire::grpc::frame;
use baton_wire::request::Call;
use baton_wire::version::{A2A_VERSION, Version};
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

use super::super::stream::Open;
use super::super::{Doors, body, fault};
use super::call::{Answer, Parameters, call};
use super::splice::{self, Form};
use crate::access::{Caller, Door};
use crate::service::{Error, Scope};
pub use health::{REFLECTION, reflection};
pub use reply::refuse;
pub use v1::v1;

/// What the paths of the methods of A2A 1.0 begin with.
pub const V1: &str = "/lf.a2a.v1.A2AService/";

const ENCODING: &str = "grpc-encoding";
const TIMEOUT: &str = "grpc-timeout";

/// Of a client's deadline, what is left for the answer to come back in: a tenth, but not more than this.
const MARGIN: Duration = Duration::from_secs(1);

pub fn router(doors: &Doors) -> Router<Arc<Doors>> {
    Router::new()
        .merge(health::router(doors))
        .route(&format!("{V1}{{method}}"), any(v1::call))
        .route("/a2a.v1.A2AService/{method}", any(v0_3::v0_3))
}

/// Whether a request says that it is gRPC. Its siblings for browsers and for JSON are not spoken here.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        let kind = value.split(';').next().unwrap_or_default().trim();
        ["application/grpc", "application/grpc+proto"].iter().any(|grpc| kind.eq_ignore_ascii_case(grpc))
    })
}

/// An answer to what is no gRPC at all, where only gRPC is spoken.
fn not_grpc(request: &Request<Body>) -> Option<Response> {
    let status = if request.method() != Method::POST {
        StatusCode::METHOD_NOT_ALLOWED
    } else if !is_grpc(request.headers()) {
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    } else {
        return None;
    };
    let mut response =
        Response::new(Body::from("This path speaks gRPC only: POST application/grpc over HTTP/2\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    Some(response)
}

/// Answers one call in the way of its service.
async fn answer<F>(request: Request<Body>, run: impl FnOnce(Parts, Body) -> F) -> Response
where
    F: Future<Output = Result<Response, Fault>>,
{
    if let Some(response) = not_grpc(&request) {
        return response;
    }
    let (parts, body) = request.into_parts();
    match run(parts, body).await {
        Ok(response) => response,
        Err(fault) => reply::refuse(&fault),
    }
}

/// How a version spells what it answers.
struct Codec<E> {
    version: Version,
    item: fn(u64, &StreamResponse, bool) -> Bytes,
    encode: E,
}

/// Does what was asked, and spells what came of it.
async fn serve<E>(
    doors: &Doors,
    scope: &Scope,
    headers: &HeaderMap,
    request: Call,
    codec: Codec<E>,
) -> Result<Response, Fault>
where
    E: FnOnce(&Answer) -> Bytes,
{
    let mut parameters = Parameters::read(headers, scope, codec.version)?;
    parameters.wait = wait(headers);
    let activated = parameters.activated.clone();
    let place = doors.enter(scope, request.operation())?;
    let response = match call(&doors.service, scope, request, parameters).await? {
        Answer::Stream(follow) => reply::streamed(Open::new(&doors.service, *follow, place), codec.item),
        answer => reply::spliced(splice::answer(answer, Form::Frame, codec.encode)),
    };
    Ok(activated.echo(response))
}

/// Who calls, and that the request is in a version and an encoding that this service speaks. Nothing is read before.
async fn admit(doors: &Doors, parts: &Parts, version: Version) -> Result<Caller, Fault> {
    let caller = doors.gate.caller(Door::SomeAgent, parts).await.map_err(|why| fault::of(why, None))?;
    let asked = Version::asked(parts.headers.get_all(A2A_VERSION).iter().map(HeaderValue::as_bytes), None)?;
    if asked.is_some_and(|asked| asked != version) {
        return Err(Fault::new(Kind::VersionNotSupported).with_message(format!(
            "This gRPC service speaks A2A {version}; other versions have services of their own"
        )));
    }
    match parts.headers.get(ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(caller),
        Some(_) => Err(Fault::new(Kind::EncodingNotSupported)),
    }
}

/// The message of a request.
async fn message(doors: &Doors, caller: &Caller, body: Body) -> Result<Bytes, Fault> {
    let most = caller.body_limit(doors.service.limits().body);
    let bytes = body::read(body, most.saturating_add(frame::PREFIX)).await?;
    frame::read(bytes)
}

/// The caller at the agent that it names, or at the one that answers where none is named.
fn scope(doors: &Doors, agent: Option<&str>, caller: Caller, request: &Parts) -> Result<Scope, Fault> {
    let name = match agent {
        Some(name) => AgentName::parse(name).map_err(|_| Error::AgentNotFound),
        None => doors.service.agents.find_default().map(|agent| agent.name().clone()).ok_or_else(|| {
            Error::Invalid(Violation::new("tenant", "is required here: the name of the agent that is meant"))
        }),
    };
    name.and_then(|name| doors.gate.scope_of(&doors.service, &name, caller, request))
        .map_err(|why| fault::of(why, None))
}

/// How long a blocking call may wait, so that its answer is there before the client's deadline.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let timeout = parse_timeout(headers.get(TIMEOUT)?.to_str().ok()?)?;
    Some(timeout.saturating_sub((timeout / 10).min(MARGIN)))
}

/// A number of at most eight digits and its unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_leaves_time_for_the_answer() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TIMEOUT, text.parse().unwrap());
            super::wait(&headers)
        };
        assert_eq!(wait("5S"), Some(Duration::from_millis(4500)));
        assert_eq!(wait("2M"), Some(Duration::from_secs(119)));
        assert_eq!(wait("1H"), Some(Duration::from_secs(3599)));
        assert_eq!(wait("100m"), Some(Duration::from_millis(90)));
        assert_eq!(wait("99999999u"), Some(Duration::from_micros(98_999_999)));
        assert_eq!(wait("0n"), Some(Duration::ZERO));
        for wrong in ["", "5", "S", "123456789S", "1s", "-1S", "1.5S"] {
            assert_eq!(wait(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn its_siblings_are_not_grpc() {
        let is = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            is_grpc(&headers)
        };
        assert!(is("application/grpc") && is("application/grpc+proto") && is("Application/GRPC; x=y"));
        for other in ["application/grpc-web", "application/grpc+json", "application/json", "text/plain", ""] {
            assert!(!is(other), "{other}");
        }
    }
}
