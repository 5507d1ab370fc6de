//! Agent cards (§4.4, §8): what an agent says of itself, with what caches need.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::model::{AgentCard, AgentInterface};
use baton_core::time::Timestamp;
use baton_wire::fault::Fault;
use baton_wire::response::encode;
use baton_wire::v03::card::Card;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use super::super::media::Media;
use super::super::{Doors, fault};
use crate::config::settings::Agent;
use crate::hex::hex;
use crate::service::agents::Entry;
use crate::service::manifest::{Address, Served, Viewer};
use crate::service::{Error, Service};

/// How long a public card may be kept without asking again.
const PUBLIC: &str = "public, max-age=60";

/// What these doors really serve, in order of preference. A line belongs here as soon as the binding answers in the
/// version, and not before: every card follows.
pub const SERVED: [Served; 6] = [
    Served { binding: "JSONRPC", version: "1.0", address: Address::Agent },
    Served { binding: "HTTP+JSON", version: "1.0", address: Address::Agent },
    Served { binding: "GRPC", version: "1.0", address: Address::Authority },
    Served { binding: "JSONRPC", version: "0.3", address: Address::Agent },
    Served { binding: "HTTP+JSON", version: "0.3", address: Address::Agent },
    Served { binding: "GRPC", version: "0.3", address: Address::AuthorityOfDefault },
];

/// The public card as it is sent, with the members of 0.3 where they are wanted.
pub fn public(service: &Service, agent: &Agent) -> Bytes {
    let (card, interfaces) = signed(service, agent);
    encode(&Card { card: &card, interfaces: &interfaces })
}

/// The public card and its interfaces of 0.3: signed, where the node has a key for it.
pub fn signed(service: &Service, agent: &Agent) -> (AgentCard, Vec<AgentInterface>) {
    let manifest = service.manifest(agent);
    let (mut card, interfaces) = (manifest.card(Viewer::Anybody), manifest.legacy_interfaces());
    let unsigned = encode(&Card { card: &card, interfaces: &interfaces });
    card.signatures = service.signer.sign(&String::from_utf8_lossy(&unsigned));
    (card, interfaces)
}

pub async fn of_default(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    match doors.service.agents.find_default() {
        Some(agent) => answer(&doors, agent.name().as_str(), &request).await,
        None => refuse(&fault::of(Error::AgentNotFound, None), &request.headers),
    }
}

pub async fn of_agent(
    State(doors): State<Arc<Doors>>,
    Path(agent): Path<String>,
    request: Parts,
) -> Response {
    answer(&doors, &agent, &request).await
}

/// The card, where it is published or the caller has a grant for the agent; else nothing is here.
async fn answer(doors: &Doors, agent: &str, request: &Parts) -> Response {
    let agent = match shown(doors, agent, request).await {
        Ok(agent) => agent,
        Err(why) => return refuse(&fault::of(why, None), &request.headers),
    };
    let body = public(&doors.service, &agent.settings);
    let etag = format!("\"{}\"", hex(&Sha256::digest(&body)[..16]));
    // No card is older than the configuration and the keys.
    let loaded = doors.service.agents.loaded_at();
    let changed = doors.service.keys.changed_at().map_or(loaded, |changed| loaded.max(changed));
    let fresh = is_fresh(&request.headers, &etag, changed);
    let mut response = Response::new(if fresh { Body::empty() } else { Body::from(body) });
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, Media::Json.header());
    let cache = if agent.settings.publish { PUBLIC } else { "private, max-age=60" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(VARY, HeaderValue::from_static("authorization"));
    headers.extend(HeaderValue::try_from(etag).ok().map(|etag| (ETAG, etag)));
    headers.extend(HeaderValue::try_from(http_date(changed)).ok().map(|at| (LAST_MODIFIED, at)));
    response
}

/// The agent of this name, where its card is for this caller. A name that is nobody's is asked of the gate as one that is
/// hidden, so that neither the answer nor how it came about tells them apart.
async fn shown(doors: &Doors, name: &str, request: &Parts) -> Result<Arc<Entry>, Error> {
    let known = AgentName::parse(name).ok().and_then(|name| doors.service.agents.find(&name));
    if let Some(agent) = known.filter(|agent| agent.settings.publish) {
        return Ok(agent);
    }
    match doors.gate.scope(&doors.service, name, request).await {
        Ok(scope) => Ok(scope.agent),
        // These come about before the name is looked at.
        Err(
            why @ (Error::RateLimited(_)
            | Error::GrantPaused
            | Error::IssuerUnreachable
            | Error::Unavailable(_)
            | Error::Internal(_)),
        ) => Err(why),
        Err(_) => Err(Error::AgentNotFound),
    }
}

fn refuse(fault: &Fault, headers: &HeaderMap) -> Response {
    fault::rest(fault, Media::of(headers))
}

/// RFC 9110 §13: the tag decides where one is sent, else the time.
fn is_fresh(headers: &HeaderMap, etag: &str, changed: Timestamp) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut tags = headers.get_all(IF_NONE_MATCH).iter().peekable();
    if tags.peek().is_some() {
        return tags.any(|value| {
            text(value)
                .split(',')
                .map(str::trim)
                .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
        });
    }
    let since =
        headers.get(IF_MODIFIED_SINCE).map(text).and_then(|since| httpdate::parse_http_date(&since).ok());
    since.is_some_and(|since| system_time(changed) <= since)
}

fn http_date(at: Timestamp) -> String {
    httpdate::fmt_http_date(system_time(at))
}

/// Whole seconds, as an HTTP date has them.
fn system_time(at: Timestamp) -> std::time::SystemTime {
    let seconds = u64::try_from(at.as_millis() / 1000).unwrap_or(0);
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
}
