//! Drain, lame duck, pause and freeze, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Actor, Held, Hold};
use http::request::Parts;
use serde::Serialize;

use super::super::Doors;
use super::answer;
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
#[derive(Serialize)]
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
#[derive(Serialize)]
pub struct Since {
    pub since: Timestamp,
    pub by: String,
}

#[derive(Serialize)]
pub struct FrozenGrant {
    /// The grant's id.
    pub grant: String,
    pub since: Timestamp,
    pub by: String,
}

#[derive(Serialize)]
pub struct PausedAgent {
    pub agent: String,
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

async fn act(doors: &Doors, request: &Parts, act: Act) -> Response {
    let done = async {
        let by = doors.gate.operator(request)?;
        perform(&doors.service, act, &by).await
    };
    answer(done.await, None)
}

async fn act_on_agent(doors: &Doors, request: &Parts, name: &str, hold: fn(Hold) -> Act) -> Response {
    let done = async {
        let by = doors.gate.operator(request)?;
        let name = AgentName::parse(name).map_err(|_| Error::AgentNotFound)?;
        perform(&doors.service, hold(Hold::PauseAgent(name)), &by).await
    };
    answer(done.await, None)
}

pub async fn drain(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::Drain).await
}

pub async fn lame_duck(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::LameDuck(true)).await
}

pub async fn end_lame_duck(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::LameDuck(false)).await
}

pub async fn pause(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::Hold(Hold::PauseNode)).await
}

pub async fn resume(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::Release(Hold::PauseNode)).await
}

pub async fn freeze(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::Hold(Hold::FreezeNode)).await
}

pub async fn unfreeze(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    act(&doors, &request, Act::Release(Hold::FreezeNode)).await
}

pub async fn pause_agent(
    State(doors): State<Arc<Doors>>,
    Path(name): Path<String>,
    request: Parts,
) -> Response {
    act_on_agent(&doors, &request, &name, Act::Hold).await
}

pub async fn resume_agent(
    State(doors): State<Arc<Doors>>,
    Path(name): Path<String>,
    request: Parts,
) -> Response {
    act_on_agent(&doors, &request, &name, Act::Release).await
}

pub async fn freeze_grant(
    State(doors): State<Arc<Doors>>,
    Path(id): Path<String>,
    request: Parts,
) -> Response {
    act(&doors, &request, Act::Hold(Hold::FreezeGrant(id.into()))).await
}

pub async fn unfreeze_grant(
    State(doors): State<Arc<Doors>>,
    Path(id): Path<String>,
    request: Parts,
) -> Response {
    act(&doors, &request, Act::Release(Hold::FreezeGrant(id.into()))).await
}
