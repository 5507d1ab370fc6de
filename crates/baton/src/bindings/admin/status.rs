//! What runs here.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;

use super::super::media::Media;
use super::super::{Doors, a2a, fault};
use super::answer;
use super::control::Controls;
use crate::service::Error;
use crate::service::agents::Entry;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    version: &'static str,
    boot: String,
    draining: bool,
    /// Attempts under way.
    running: usize,
    /// Tasks that somebody watches.
    watched: usize,
    store: Store,
    control: Controls,
}

#[derive(Serialize)]
struct Store {
    /// Transactions that wrote, since the start.
    commits: u64,
    /// Operations in them.
    operations: u64,
    /// Tasks by A2A state; direct messages are `TASK_STATE_UNSPECIFIED`.
    tasks: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Agents {
    agents: Vec<Agent>,
}

#[derive(Serialize)]
struct Agent {
    name: String,
    title: String,
    description: String,
    runner: &'static str,
    publish: bool,
    url: String,
    default: bool,
}

pub async fn show(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    answer(status(&doors, &request).await, None)
}

async fn status(doors: &Doors, request: &Parts) -> Result<Status, Error> {
    doors.gate.operator(request)?;
    let service = &doors.service;
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
            tasks: store.tasks.into_iter().map(|(state, n)| (state.as_str(), n)).collect(),
        },
    })
}

pub async fn agents(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    let agents = doors.gate.operator(&request).map(|_| list(&doors));
    answer(agents, None)
}

fn list(doors: &Doors) -> Agents {
    let default = doors.service.agents.find_default().map(|agent| agent.name().clone());
    let agents = doors.service.agents.list();
    let agents = agents.iter().map(|entry| {
        let agent = &entry.settings;
        Agent {
            name: agent.name.to_string(),
            title: agent.title.clone(),
            description: agent.description.clone(),
            runner: agent.runner.kind(),
            publish: agent.publish,
            url: doors.service.site.url(&agent.name),
            default: default.as_ref() == Some(&agent.name),
        }
    });
    Agents { agents: agents.collect() }
}

/// The manifest of one agent.
pub async fn agent(State(doors): State<Arc<Doors>>, Path(name): Path<String>, request: Parts) -> Response {
    let shown = find(&doors, &name, &request).map(|agent| doors.service.manifest(&agent.settings));
    answer(shown, None)
}

/// The public card of one agent, published or not, as it is sent.
pub async fn card(State(doors): State<Arc<Doors>>, Path(name): Path<String>, request: Parts) -> Response {
    match find(&doors, &name, &request) {
        Ok(agent) => {
            let mut response = Response::new(Body::from(a2a::public_card(&doors.service, &agent.settings)));
            response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
            response
        }
        Err(why) => fault::rest(&fault::of(why, None), Media::Json),
    }
}

fn find(doors: &Doors, name: &str, request: &Parts) -> Result<Arc<Entry>, Error> {
    doors.gate.operator(request)?;
    let name = AgentName::parse(name).map_err(|_| Error::AgentNotFound)?;
    doors.service.agents.find(&name).ok_or(Error::AgentNotFound)
}
