//! What runs here.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde::Serialize;

use super::super::Doors;
use super::answer;
use crate::config::settings::Runner;
use crate::service::Error;

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

pub async fn show(State(doors): State<Doors>, request: Parts) -> Response {
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
        store: Store {
            commits: store.commits,
            operations: store.operations,
            tasks: store.tasks.into_iter().map(|(state, n)| (state.as_str(), n)).collect(),
        },
    })
}

pub async fn agents(State(doors): State<Doors>, request: Parts) -> Response {
    let agents = doors.gate.operator(&request).map(|()| list(&doors));
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
            runner: match agent.runner {
                Runner::Echo => "echo",
                Runner::Process(_) => "process",
            },
            publish: agent.publish,
            url: doors.cards.url(&agent.name),
            default: default.as_ref() == Some(&agent.name),
        }
    });
    Agents { agents: agents.collect() }
}
