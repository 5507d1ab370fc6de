//! HTTP+JSON (§11), in either version: what is below `v1/` is of 0.3.

use axum::body::Body;
use axum::response::Response;
use baton_wire::fault::{Fault, Kind};
use baton_wire::operation::{Route, version_of};
use baton_wire::request::Call;
use baton_wire::response::encode;
use baton_wire::sse::Wrap;
use baton_wire::v03::{Spelled, read::rest_spelling};
use baton_wire::version::{A2A_VERSION, Version};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};

use super::super::media::{Media, is_json};
use super::super::{Doors, body, fault, sse};
use super::call::{Answer, Parameters, call};
use super::splice;

/// Answers one request below `/a2a/{agent}/`, or of the forms `/{tenant}/…` and `/v1/…`.
pub async fn rest(doors: &Doors, agent: &str, request: Request<Body>) -> Response {
    let media = Media::of(request.headers());
    let (version, _) = version_of(below(request.uri().path(), agent));
    match run(doors, agent, request, media).await {
        Ok(response) => response,
        Err(fault) if version == Version::V0_3 => fault::rest_v03(&fault, media),
        Err(fault) => fault::rest(&fault, media),
    }
}

async fn run(doors: &Doors, agent: &str, request: Request<Body>, media: Media) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let scope = doors.gate.scope(&doors.service, agent, &parts).await.map_err(|why| fault::of(why, None))?;
    let headers = parts.headers.get_all(A2A_VERSION).iter().map(HeaderValue::as_bytes);
    let asked = Version::asked(headers, parts.uri.query())?;
    let route = Route::parse(&parts.method, below(parts.uri.path(), agent))?.asked(asked)?;
    let version = route.version;
    let most = scope.caller.body_limit(doors.service.limits().body);
    let bytes = body::read(body, most).await?;
    if !bytes.is_empty() && !is_json(&parts.headers) {
        return Err(Fault::new(Kind::ContentTypeNotSupported)
            .with_message("Content-Type must be application/json or application/a2a+json"));
    }
    let old = (version == Version::V0_3).then(|| rest_spelling(&bytes));
    let request = Call::from_rest(route, parts.uri.query().unwrap_or_default(), &bytes)?;
    let parameters = Parameters::read(&parts.headers, &scope, version)?;
    let activated = parameters.activated.clone();
    let place = doors.enter(&scope, request.operation())?;
    let response = match call(&doors.service, &scope, request, parameters).await? {
        Answer::Stream(follow) => {
            sse::respond(&doors.service, *follow, old.map_or(Wrap::Bare, Wrap::BareV03), place)
        }
        answer => {
            let headers = answer.headers();
            let body = splice::body(answer, |answer| match old {
                None => encode(answer),
                Some(spelling) => encode(&Spelled(spelling, answer)),
            });
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, media.header());
            response.headers_mut().extend(headers);
            response
        }
    };
    Ok(activated.echo(response))
}

/// The path below the agent's base; of a `/{tenant}/…` path all of it.
fn below<'p>(path: &'p str, agent: &str) -> &'p str {
    path.strip_prefix("/a2a/").and_then(|rest| rest.strip_prefix(agent)).unwrap_or(path)
}
