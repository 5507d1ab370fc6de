//! Agent cards (§4.4, §8): what an agent says of itself, with what caches need.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::json::Json;
use baton_core::model::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, SecurityRequirement, StringList,
};
use baton_core::time::Timestamp;
use baton_wire::fault::Fault;
use baton_wire::response::encode;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use super::super::media::Media;
use super::super::{Doors, fault};
use super::call::IDEMPOTENT_SEND;
use crate::config::settings::Agent;
use crate::service::Error;

/// How long a public card may be kept without asking again.
const PUBLIC: &str = "public, max-age=60";

/// What cards are built from beside the agent itself.
#[derive(Debug)]
pub struct Cards {
    /// What cards advertise, without a trailing slash.
    base: String,
    /// Loopback needs no credentials.
    dev: bool,
}

impl Cards {
    pub const fn new(base: String, dev: bool) -> Self {
        Self { base, dev }
    }

    /// Where an agent is to be had.
    pub fn url(&self, agent: &AgentName) -> String {
        format!("{}/a2a/{agent}", self.base)
    }

    fn card(&self, agent: &Agent) -> AgentCard {
        let url = self.url(&agent.name);
        let interface = |binding: &str| AgentInterface {
            url: url.clone(),
            protocol_binding: binding.to_owned(),
            tenant: None,
            protocol_version: "1.0".to_owned(),
        };
        let (security_schemes, security_requirements) = if self.dev { Default::default() } else { bearer() };
        AgentCard {
            name: agent.title.clone(),
            description: agent.description.clone(),
            supported_interfaces: vec![interface("JSONRPC"), interface("HTTP+JSON")],
            provider: agent.provider.clone(),
            version: agent.version.clone(),
            documentation_url: agent.documentation_url.clone(),
            capabilities: AgentCapabilities {
                streaming: Some(agent.streaming),
                push_notifications: Some(false),
                extensions: vec![AgentExtension {
                    uri: IDEMPOTENT_SEND.to_owned(),
                    description: Some(
                        "A repeated SendMessage with the same messageId gives the same task".to_owned(),
                    ),
                    required: false,
                    params: None,
                }],
                extended_agent_card: Some(false),
            },
            security_schemes,
            security_requirements,
            default_input_modes: agent.input_modes.clone(),
            default_output_modes: agent.output_modes.clone(),
            skills: if agent.skills.is_empty() { vec![only_skill(agent)] } else { agent.skills.clone() },
            signatures: Vec::new(),
            icon_url: agent.icon_url.clone(),
        }
    }
}

fn bearer() -> (BTreeMap<String, Json>, Vec<SecurityRequirement>) {
    let scheme = Json::parse(r#"{"httpAuthSecurityScheme":{"scheme":"Bearer"}}"#).expect("a constant");
    let schemes = BTreeMap::from([("bearer".to_owned(), StringList::default())]);
    (BTreeMap::from([("bearer".to_owned(), scheme)]), vec![SecurityRequirement { schemes }])
}

/// A card has one skill at least: an agent that declares none does what it says it does.
fn only_skill(agent: &Agent) -> AgentSkill {
    AgentSkill {
        id: agent.name.to_string(),
        name: agent.title.clone(),
        description: agent.description.clone(),
        tags: vec![agent.name.to_string()],
        ..AgentSkill::default()
    }
}

pub async fn of_default(State(doors): State<Doors>, request: Parts) -> Response {
    match doors.service.agents.find_default() {
        Some(agent) => answer(&doors, agent.name().as_str(), &request).await,
        None => refuse(&fault::of(Error::AgentNotFound, None), &request.headers),
    }
}

pub async fn of_agent(State(doors): State<Doors>, Path(agent): Path<String>, request: Parts) -> Response {
    answer(&doors, &agent, &request).await
}

/// The card, where it is published or the caller has a grant for the agent; else nothing is here.
async fn answer(doors: &Doors, agent: &str, request: &Parts) -> Response {
    let known = AgentName::parse(agent).ok().and_then(|name| doors.service.agents.find(&name));
    let Some(agent) = known else { return refuse(&fault::of(Error::AgentNotFound, None), &request.headers) };
    if !agent.settings.publish
        && doors.gate.scope(&doors.service, agent.name().as_str(), request).await.is_err()
    {
        return refuse(&fault::of(Error::AgentNotFound, None), &request.headers);
    }
    let body = encode(&doors.cards.card(&agent.settings));
    let etag = format!("\"{}\"", hex(&Sha256::digest(&body)[..16]));
    // No card is older than the configuration.
    let changed = doors.service.agents.loaded_at();
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
