//! What runs here.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::model::TaskState;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::media::Media;
use super::super::{Doors, a2a, fault};
use super::control::Controls;
use super::{Operator, answer};
use crate::service::agents::Entry;
use crate::service::pace::Ended;
use crate::service::{Error, Service};

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeStatus)]
pub struct Status {
    pub version: &'static str,
    pub boot: String,
    pub draining: bool,
    /// Attempts under way.
    pub running: usize,
    /// Tasks that somebody watches.
    pub watched: usize,
    pub store: Store,
    pub control: Controls,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StoreStatus)]
pub struct Store {
    /// Transactions that wrote, since the start.
    pub commits: u64,
    /// Operations in them.
    pub operations: u64,
    /// Tasks by A2A state; direct messages are `TASK_STATE_UNSPECIFIED`.
    pub tasks: BTreeMap<&'static str, u64>,
}

#[derive(Serialize, ToSchema)]
struct Agents {
    agents: Vec<Agent>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub name: String,
    pub title: String,
    pub description: String,
    pub runner: &'static str,
    pub publish: bool,
    pub url: String,
    pub default: bool,
    /// Its tasks by A2A state.
    pub tasks: BTreeMap<&'static str, u64>,
    /// What ended in the last hour, as far as this node has run so long.
    pub last_hour: Ended,
}

/// How the node is.
#[utoipa::path(
    get,
    path = "/api/v1/status",
    responses((status = 200, description = "How it is", body = Status))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(load(&doors.service).await, None)
}

/// How the node is.
pub async fn load(service: &Service) -> Result<Status, Error> {
    let store = service.store.status().await?;
    Ok(Status {
        version: env!("CARGO_PKG_VERSION"),
        boot: service.dispatcher.boot().to_owned(),
        draining: service.draining.is_cancelled(),
        running: service.dispatcher.running(),
        watched: service.hub.len(),
        control: Controls::of(service),
        store: Store {
            commits: store.commits,
            operations: store.operations,
            tasks: by_state(store.tasks.iter().map(|(_, state, n)| (*state, *n))),
        },
    })
}

/// All agents, by name.
#[utoipa::path(
    get,
    path = "/api/v1/agents",
    responses((status = 200, description = "All of them", body = Agents))
)]
pub async fn agents(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(agents_of(&doors.service).await.map(|agents| Agents { agents }), None)
}

/// Every agent, by name.
pub async fn agents_of(service: &Service) -> Result<Vec<Agent>, Error> {
    let counts = service.store.status().await?.tasks;
    let default = service.agents.find_default().map(|agent| agent.name().clone());
    let agents = service.agents.list();
    let agents = agents.iter().map(|entry| {
        let agent = &entry.settings;
        Agent {
            name: agent.name.to_string(),
            title: agent.title.clone(),
            description: agent.description.clone(),
            runner: agent.runner.kind(),
            publish: agent.publish,
            url: service.site.url(&agent.name),
            default: default.as_ref() == Some(&agent.name),
            tasks: by_state(
                counts.iter().filter(|(of, _, _)| *of == agent.name).map(|(_, state, n)| (*state, *n)),
            ),
            last_hour: service.hub.pace.last_hour(&agent.name, service.now()),
        }
    });
    Ok(agents.collect())
}

fn by_state(counts: impl Iterator<Item = (TaskState, u64)>) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for (state, n) in counts {
        *sums.entry(state.as_str()).or_default() += n;
    }
    sums
}

/// The manifest of one agent.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{name}",
    params(("name" = String, Path, description = "Of the agent")),
    responses((status = 200, description = "Its manifest", body = Object))
)]
pub async fn agent(State(doors): State<Arc<Doors>>, _: Operator, Path(name): Path<String>) -> Response {
    let shown = find(&doors, &name).map(|agent| doors.service.manifest(&agent.settings));
    answer(shown, None)
}

/// The public card of one agent, published or not, as it is sent.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{name}/card",
    params(("name" = String, Path, description = "Of the agent")),
    responses((status = 200, description = "The card, with the members of A2A 1.0 and 0.3", body = Object))
)]
pub async fn card(State(doors): State<Arc<Doors>>, _: Operator, Path(name): Path<String>) -> Response {
    match find(&doors, &name) {
        Ok(agent) => {
            let mut response = Response::new(Body::from(a2a::public_card(&doors.service, &agent.settings)));
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response
        }
        Err(why) => fault::rest(&fault::of(why, None), Media::Json),
    }
}

fn find(doors: &Doors, name: &str) -> Result<Arc<Entry>, Error> {
    let name = AgentName::parse(name).map_err(|_| Error::AgentNotFound)?;
    doors.service.agents.find(&name).ok_or(Error::AgentNotFound)
}
