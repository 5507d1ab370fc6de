//! Grants, for the operator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Grant, GrantState, Verb};
use http::Request;
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::super::Doors;
use super::{ACTOR, answer, read};
use crate::service::Error;
use crate::service::grants::CreateGrant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    label: String,
    agents: Vec<AgentName>,
    verbs: Vec<Verb>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: String,
    label: String,
    agents: Vec<AgentName>,
    verbs: Vec<Verb>,
    state: &'static str,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    /// The first characters of its tokens.
    hints: Vec<String>,
    /// Only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Shown {
    fn of(grant: &Arc<Grant>, token: Option<String>) -> Self {
        let (state, revoked_at) = match grant.state {
            GrantState::Active => ("active", None),
            GrantState::Revoked { at } => ("revoked", Some(at)),
        };
        Self {
            id: grant.id.to_string(),
            label: grant.label.clone(),
            agents: grant.agents.clone(),
            verbs: grant.verbs.clone(),
            state,
            created_at: grant.created_at,
            revoked_at,
            hints: grant.hints.clone(),
            token,
        }
    }
}

#[derive(Serialize)]
struct Grants {
    grants: Vec<Shown>,
}

pub async fn list(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    let listed = async {
        doors.gate.operator(&request)?;
        let grants = doors.service.store.list_grants().await?;
        Ok(Grants { grants: grants.iter().map(|grant| Shown::of(grant, None)).collect() })
    };
    answer(listed.await, None)
}

pub async fn create(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let created = async {
        let (parts, body) = request.into_parts();
        doors.gate.operator(&parts)?;
        let Wanted { label, agents, verbs } = read(&doors, &parts.headers, body).await?;
        let (grant, token) = doors.service.create_grant(CreateGrant { label, agents, verbs }, ACTOR).await?;
        Ok(Shown::of(&grant, Some(token.reveal().to_owned())))
    };
    answer(created.await, None)
}

pub async fn revoke(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let revoked = async {
        doors.gate.operator(&request)?;
        match doors.service.revoke_grant(&id, ACTOR).await {
            Err(Error::TaskNotFound) => Err(Error::invalid("id", "there is no grant of this id")),
            other => other.map(|grant| Shown::of(&grant, None)),
        }
    };
    answer(revoked.await, None)
}
