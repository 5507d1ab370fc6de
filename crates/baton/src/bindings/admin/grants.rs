//! Grants, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Actor, Credential, Grant, GrantLimits, GrantRecord, GrantState, Verb};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::Doors;
use super::{MaybeSent, Operator, Sent, answer};
use crate::service::grants::{Draft, WantedGrant, WantedLimits, spell_rate};
use crate::service::{Error, Service};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewGrant)]
pub struct Create {
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

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Rotation)]
pub struct Rotate {
    /// How long the tokens of before go on.
    overlap: Option<String>,
}

/// A grant as the operator sees it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Grant)]
pub struct Shown {
    pub id: String,
    pub label: String,
    #[schema(value_type = Vec<String>)]
    pub agents: Vec<AgentName>,
    #[schema(value_type = Vec<String>)]
    pub verbs: Vec<Verb>,
    pub limits: Limits,
    /// `active`, `paused`, `revoked` or `expired`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub paused_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub changed_at: Timestamp,
    pub changed_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Used>,
    pub credentials: Vec<Key>,
    /// Only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GrantLimits)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_tasks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_per_day: Option<u32>,
    /// In bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<u64>,
}

/// What is counted of a grant with limits on tasks.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GrantUsage)]
pub struct Used {
    pub open_tasks: u32,
    pub tasks_today: u32,
}

/// A token, by its first characters.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GrantCredential)]
pub struct Key {
    pub hint: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
struct Grants {
    grants: Vec<Shown>,
}

/// What would be made.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GrantDryRun)]
pub struct WouldBe {
    pub dry_run: bool,
    pub label: String,
    #[schema(value_type = Vec<String>)]
    pub agents: Vec<AgentName>,
    #[schema(value_type = Vec<String>)]
    pub verbs: Vec<Verb>,
    pub limits: Limits,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// What the holder could do, in plain words.
    pub means: Vec<String>,
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
    pub fn of(record: &GrantRecord, now: Timestamp, token: Option<String>) -> Self {
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

/// Every grant, the newest first.
pub async fn all(service: &Service) -> Result<Vec<Shown>, Error> {
    let (grants, now) = (service.store.list_grants().await?, service.now());
    Ok(grants.iter().map(|record| Shown::of(record, now, None)).collect())
}

pub async fn load(service: &Service, id: &str) -> Result<Shown, Error> {
    Ok(Shown::of(&service.load_grant(id).await?, service.now(), None))
}

/// Makes one; the token is in the answer and nowhere else.
pub async fn make(service: &Service, wanted: WantedGrant, by: &Actor) -> Result<Shown, Error> {
    let (grant, token) = service.create_grant(wanted, by).await?;
    let record = service.load_grant(&grant.id).await?;
    Ok(Shown::of(&record, service.now(), Some(token.reveal().to_owned())))
}

/// What would be made, in plain words too.
pub fn dry(service: &Service, wanted: WantedGrant) -> Result<WouldBe, Error> {
    Ok(WouldBe::of(service, service.draft_grant(wanted)?))
}

/// A new token, as in [`make`]. The earlier ones go on for `overlap`.
pub async fn turn(service: &Service, id: &str, overlap: Option<&str>, by: &Actor) -> Result<Shown, Error> {
    let (record, token) = service.rotate_grant(id, overlap, by).await?;
    Ok(Shown::of(&record, service.now(), Some(token.reveal().to_owned())))
}

/// All grants, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/grants",
    responses((status = 200, description = "All of them", body = Grants))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(all(&doors.service).await.map(|grants| Grants { grants }), None)
}

/// A grant.
#[utoipa::path(
    get,
    path = "/api/v1/grants/{id}",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "The grant", body = Shown))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator, Path(id): Path<String>) -> Response {
    answer(load(&doors.service, &id).await, None)
}

/// Makes a grant, or says what it would be.
#[utoipa::path(
    post,
    path = "/api/v1/grants",
    request_body = Create,
    responses((status = 200, description = "The grant with its token, which is in no other answer; with `dryRun`, what would be made", body = Object))
)]
pub async fn create(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Sent(wanted): Sent<Create>,
) -> Response {
    let Create { label, agents, verbs, limits, expires, dry_run } = wanted;
    let wanted = WantedGrant { label, agents, verbs, limits, expires };
    if dry_run {
        return answer(dry(&doors.service, wanted), None);
    }
    answer(make(&doors.service, wanted, &by).await, None)
}

impl WouldBe {
    pub fn of(service: &Service, draft: Draft) -> Self {
        let means = service.words_of(&draft);
        let Draft { label, agents, verbs, limits, expires_at } = draft;
        Self { dry_run: true, label, agents, verbs, limits: Limits::of(&limits), expires_at, means }
    }
}

/// Refuses the calls of a grant for now.
#[utoipa::path(
    post,
    path = "/api/v1/grants/{id}/pause",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "The grant", body = Shown))
)]
pub async fn pause(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let paused = doors.service.pause_grant(&id, &by).await;
    answer(paused.map(|record| Shown::of(&record, doors.service.now(), None)), None)
}

/// Takes the calls of a paused grant again.
#[utoipa::path(
    post,
    path = "/api/v1/grants/{id}/resume",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "The grant", body = Shown))
)]
pub async fn resume(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let resumed = doors.service.resume_grant(&id, &by).await;
    answer(resumed.map(|record| Shown::of(&record, doors.service.now(), None)), None)
}

/// Makes a new token; those of before go on for a while.
#[utoipa::path(
    post,
    path = "/api/v1/grants/{id}/rotate",
    params(("id" = String, Path, description = "Of the grant")),
    request_body = Option<Rotate>,
    responses((status = 200, description = "The grant with its new token", body = Shown))
)]
pub async fn rotate(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
    MaybeSent(Rotate { overlap }): MaybeSent<Rotate>,
) -> Response {
    answer(turn(&doors.service, &id, overlap.as_deref(), &by).await, None)
}

/// Ends a grant and everything that came in by it.
#[utoipa::path(
    delete,
    path = "/api/v1/grants/{id}",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "The grant", body = Shown))
)]
pub async fn revoke(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let revoked = doors.service.revoke_grant(&id, &by).await;
    answer(revoked.map(|record| Shown::of(&record, doors.service.now(), None)), None)
}
