//! Drain, lame duck, pause and freeze, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Actor, Held, Hold};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, answer};
use crate::service::{Error, Service};

/// Something that an operator does.
pub enum Act {
    Drain,
    /// Begins, or ends.
    LameDuck(bool),
    Hold(Hold),
    Release(Hold),
}

/// What the operator has done to the node and its parts.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Controls {
    /// The node is about to end.
    pub draining: bool,
    /// The node says that it is not ready, and serves all the same.
    pub lame_duck: bool,
    /// The node takes no messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Since>,
    /// Nothing is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Since>,
    /// Grants by which no messages are taken.
    pub frozen_grants: Vec<FrozenGrant>,
    /// Agents for which nothing is claimed.
    pub paused_agents: Vec<PausedAgent>,
}

/// Since when, and who said so.
#[derive(Serialize, ToSchema)]
pub struct Since {
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    pub by: String,
}

#[derive(Serialize, ToSchema)]
pub struct FrozenGrant {
    /// The grant's id.
    pub grant: String,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    pub by: String,
}

#[derive(Serialize, ToSchema)]
pub struct PausedAgent {
    pub agent: String,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    pub by: String,
}

impl Controls {
    pub fn of(service: &Service) -> Self {
        let mut controls = Self {
            draining: service.draining.is_cancelled(),
            lame_duck: service.controls.is_lame_duck(),
            frozen: None,
            paused: None,
            frozen_grants: Vec::new(),
            paused_agents: Vec::new(),
        };
        for Held { hold, since, by } in service.controls.list() {
            match hold {
                Hold::FreezeNode => controls.frozen = Some(Since { since, by }),
                Hold::PauseNode => controls.paused = Some(Since { since, by }),
                Hold::FreezeGrant(grant) => {
                    controls.frozen_grants.push(FrozenGrant { grant: grant.to_string(), since, by });
                }
                Hold::PauseAgent(agent) => {
                    controls.paused_agents.push(PausedAgent { agent: agent.to_string(), since, by });
                }
            }
        }
        controls
    }
}

/// Does it, and answers what is so then.
pub async fn perform(service: &Service, act: Act, by: &Actor) -> Result<Controls, Error> {
    match act {
        Act::Drain => service.drain_by(by).await?,
        Act::LameDuck(on) => service.set_lame_duck(on, by).await?,
        Act::Hold(hold) => service.hold(hold, by).await?,
        Act::Release(hold) => service.release(hold, by).await?,
    }
    Ok(Controls::of(service))
}

async fn act(doors: &Doors, Operator(by): Operator, act: Act) -> Response {
    answer(perform(&doors.service, act, &by).await, None)
}

async fn act_on_agent(doors: &Doors, by: Operator, name: &str, hold: fn(Hold) -> Act) -> Response {
    match AgentName::parse(name) {
        Ok(name) => act(doors, by, hold(Hold::PauseAgent(name))).await,
        Err(_) => answer(Err::<Controls, _>(Error::AgentNotFound), None),
    }
}

/// Stops the node as SIGTERM does.
#[utoipa::path(
    post,
    path = "/api/v1/node/drain",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn drain(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::Drain).await
}

/// Says that the node is not ready, and serves on.
#[utoipa::path(
    post,
    path = "/api/v1/node/lame-duck",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn lame_duck(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::LameDuck(true)).await
}

/// Says that the node is ready again.
#[utoipa::path(
    post,
    path = "/api/v1/node/end-lame-duck",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn end_lame_duck(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::LameDuck(false)).await
}

/// Begins no work; messages are taken.
#[utoipa::path(
    post,
    path = "/api/v1/node/pause",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn pause(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::Hold(Hold::PauseNode)).await
}

/// Begins work again.
#[utoipa::path(
    post,
    path = "/api/v1/node/resume",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn resume(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::Release(Hold::PauseNode)).await
}

/// Takes no messages from anybody.
#[utoipa::path(
    post,
    path = "/api/v1/node/freeze",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn freeze(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::Hold(Hold::FreezeNode)).await
}

/// Takes messages again.
#[utoipa::path(
    post,
    path = "/api/v1/node/unfreeze",
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn unfreeze(State(doors): State<Arc<Doors>>, by: Operator) -> Response {
    act(&doors, by, Act::Release(Hold::FreezeNode)).await
}

/// Begins no work of one agent.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{name}/pause",
    params(("name" = String, Path, description = "Of the agent")),
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn pause_agent(
    State(doors): State<Arc<Doors>>,
    by: Operator,
    Path(name): Path<String>,
) -> Response {
    act_on_agent(&doors, by, &name, Act::Hold).await
}

/// Begins work of one agent again.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{name}/resume",
    params(("name" = String, Path, description = "Of the agent")),
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn resume_agent(
    State(doors): State<Arc<Doors>>,
    by: Operator,
    Path(name): Path<String>,
) -> Response {
    act_on_agent(&doors, by, &name, Act::Release).await
}

/// Takes no messages by one grant.
#[utoipa::path(
    post,
    path = "/api/v1/grants/{id}/freeze",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn freeze_grant(State(doors): State<Arc<Doors>>, by: Operator, Path(id): Path<String>) -> Response {
    act(&doors, by, Act::Hold(Hold::FreezeGrant(id.into()))).await
}

/// Takes messages by one grant again.
#[utoipa::path(
    post,
    path = "/api/v1/grants/{id}/unfreeze",
    params(("id" = String, Path, description = "Of the grant")),
    responses((status = 200, description = "What holds then", body = Controls))
)]
pub async fn unfreeze_grant(
    State(doors): State<Arc<Doors>>,
    by: Operator,
    Path(id): Path<String>,
) -> Response {
    act(&doors, by, Act::Release(Hold::FreezeGrant(id.into()))).await
}
