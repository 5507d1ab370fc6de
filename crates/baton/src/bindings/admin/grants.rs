//! Grants, for the operator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Credential, Grant, GrantLimits, GrantRecord, GrantState, Verb};
use http::Request;
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::super::Doors;
use super::{answer, read, read_optional};
use crate::service::Error;
use crate::service::grants::{Draft, WantedGrant, WantedLimits, spell_rate};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Create {
    label: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    limits: WantedLimits,
    expires: Option<String>,
    /// Nothing is made: the answer says what the holder could do.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rotate {
    /// How long the tokens of before go on.
    overlap: Option<String>,
}

/// A grant as the operator sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: String,
    label: String,
    agents: Vec<AgentName>,
    verbs: Vec<Verb>,
    limits: Limits,
    /// `active`, `paused`, `revoked` or `expired`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    created_at: Timestamp,
    created_by: String,
    changed_at: Timestamp,
    changed_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Used>,
    credentials: Vec<Key>,
    /// Only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_tasks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks_per_day: Option<u32>,
    /// In bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<u64>,
}

/// What is counted of a grant with limits on tasks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Used {
    open_tasks: u32,
    tasks_today: u32,
}

/// A token, by its first characters.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    hint: String,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct Grants {
    grants: Vec<Shown>,
}

/// What would be made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WouldBe {
    dry_run: bool,
    label: String,
    agents: Vec<AgentName>,
    verbs: Vec<Verb>,
    limits: Limits,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// What the holder could do, in plain words.
    means: Vec<String>,
}

impl Limits {
    fn of(limits: &GrantLimits) -> Self {
        Self {
            rate: limits.rate.as_ref().map(spell_rate),
            burst: limits.rate.map(|rate| rate.burst),
            open_tasks: limits.open_tasks,
            tasks_per_day: limits.tasks_per_day,
            body: limits.body,
        }
    }
}

impl From<&Credential> for Key {
    fn from(credential: &Credential) -> Self {
        let Credential { digest: _, hint, created_at, expires_at } = credential;
        Self { hint: hint.clone(), created_at: *created_at, expires_at: *expires_at }
    }
}

impl Shown {
    fn of(record: &GrantRecord, now: Timestamp, token: Option<String>) -> Self {
        let grant: &Grant = &record.grant;
        let state = grant.state_at(now);
        let (paused_at, revoked_at) = match state {
            GrantState::Active | GrantState::Expired { .. } => (None, None),
            GrantState::Paused { at } => (Some(at), None),
            GrantState::Revoked { at } => (None, Some(at)),
        };
        Self {
            id: grant.id.to_string(),
            label: grant.label.clone(),
            agents: grant.agents.clone(),
            verbs: grant.verbs.clone(),
            limits: Limits::of(&grant.limits),
            state: state.as_str(),
            expires_at: grant.expires_at,
            paused_at,
            revoked_at,
            created_at: grant.created_at,
            created_by: grant.created_by.clone(),
            changed_at: grant.changed_at,
            changed_by: grant.changed_by.clone(),
            last_used_at: record.last_used_at,
            usage: record.usage.map(|usage| Used { open_tasks: usage.open, tasks_today: usage.made_on(now) }),
            credentials: grant.credentials.iter().map(Key::from).collect(),
            token,
        }
    }
}

pub async fn list(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    let listed = async {
        doors.gate.operator(&request)?;
        let (grants, now) = (doors.service.store.list_grants().await?, doors.service.now());
        Ok(Grants { grants: grants.iter().map(|record| Shown::of(record, now, None)).collect() })
    };
    answer(listed.await, None)
}

pub async fn show(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let shown = async {
        doors.gate.operator(&request)?;
        Ok(Shown::of(&doors.service.load_grant(&id).await?, doors.service.now(), None))
    };
    answer(shown.await, None)
}

pub async fn create(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let read = async {
        let by = doors.gate.operator(&parts)?;
        Ok((by, read::<Create>(&doors, &parts.headers, body).await?))
    };
    let (by, Create { label, agents, verbs, limits, expires, dry_run }) = match read.await {
        Ok(wanted) => wanted,
        Err(why) => return answer(Err::<(), _>(why), None),
    };
    let wanted = WantedGrant { label, agents, verbs, limits, expires };
    if dry_run {
        return answer(dry(&doors, wanted), None);
    }
    let created = async {
        let (grant, token) = doors.service.create_grant(wanted, &by).await?;
        let record = doors.service.load_grant(&grant.id).await?;
        Ok(Shown::of(&record, doors.service.now(), Some(token.reveal().to_owned())))
    };
    answer(created.await, None)
}

fn dry(doors: &Doors, wanted: WantedGrant) -> Result<WouldBe, Error> {
    Ok(WouldBe::of(doors, doors.service.draft_grant(wanted)?))
}

impl WouldBe {
    pub(super) fn of(doors: &Doors, draft: Draft) -> Self {
        let means = doors.service.words_of(&draft);
        let Draft { label, agents, verbs, limits, expires_at } = draft;
        Self { dry_run: true, label, agents, verbs, limits: Limits::of(&limits), expires_at, means }
    }
}

pub async fn pause(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let paused = async {
        let by = doors.gate.operator(&request)?;
        Ok(Shown::of(&doors.service.pause_grant(&id, &by).await?, doors.service.now(), None))
    };
    answer(paused.await, None)
}

pub async fn resume(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let resumed = async {
        let by = doors.gate.operator(&request)?;
        Ok(Shown::of(&doors.service.resume_grant(&id, &by).await?, doors.service.now(), None))
    };
    answer(resumed.await, None)
}

pub async fn rotate(
    State(doors): State<Arc<Doors>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let rotated = async {
        let (parts, body) = request.into_parts();
        let by = doors.gate.operator(&parts)?;
        let Rotate { overlap } = read_optional(&doors, &parts.headers, body).await?;
        let (record, token) = doors.service.rotate_grant(&id, overlap.as_deref(), &by).await?;
        Ok(Shown::of(&record, doors.service.now(), Some(token.reveal().to_owned())))
    };
    answer(rotated.await, None)
}

pub async fn revoke(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let revoked = async {
        let by = doors.gate.operator(&request)?;
        Ok(Shown::of(&doors.service.revoke_grant(&id, &by).await?, doors.service.now(), None))
    };
    answer(revoked.await, None)
}
