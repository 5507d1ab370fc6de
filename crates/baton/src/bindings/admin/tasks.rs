//! Every owner's tasks, for the operator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::ident::Owner;
use baton_core::model::{Message, TaskObject, TaskState};
use baton_core::task::Snapshot;
use baton_store::By;
use baton_wire::sse::Wrap;
use http::Request;
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::super::media::Media;
use super::super::{Doors, fault, sse};
use super::{Asked, answer, query, read};
use crate::service::Error;
use crate::service::list::ListAll;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filter {
    agent: Option<AgentName>,
    state: Option<TaskState>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    message: Message,
}

/// A task as the operator sees it.
#[derive(Serialize)]
pub struct Shown {
    agent: AgentName,
    owner: Owner,
    /// Of the newest attempt; zero before the first.
    attempt: u32,
    task: TaskObject,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tasks: Vec<Shown>,
    next_page_token: String,
    total_size: u64,
}

impl Shown {
    pub fn of(snapshot: &Snapshot, history: Option<usize>, artifacts: bool) -> Self {
        let task = &snapshot.task;
        Self {
            agent: task.agent.clone(),
            owner: task.owner.clone(),
            attempt: task.attempt,
            task: snapshot.object(history, artifacts),
        }
    }
}

pub async fn list(State(doors): State<Arc<Doors>>, filter: Asked<Filter>, request: Parts) -> Response {
    let listed = async {
        doors.gate.operator(&request)?;
        let filter = query(filter)?;
        let wanted = ListAll {
            agent: filter.agent,
            state: filter.state,
            size: filter.page_size,
            page_token: filter.page_token,
        };
        let page = doors.service.list_all(wanted).await?;
        Ok(Page {
            tasks: page.tasks.iter().map(|task| Shown::of(task, Some(1), false)).collect(),
            next_page_token: page.next_page_token,
            total_size: page.total,
        })
    };
    answer(listed.await, None)
}

pub async fn show(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let shown = async {
        doors.gate.operator(&request)?;
        Ok(Shown::of(&*doors.service.load_by(&By::Node, &id).await?, None, true))
    };
    answer(shown.await, Some(&id))
}

pub async fn cancel(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let cancelled = async {
        let by = doors.gate.operator(&request)?;
        Ok(Shown::of(&*doors.service.cancel_as_operator(&by, &id).await?, None, true))
    };
    answer(cancelled.await, Some(&id))
}

/// The operator's answer to a task's question, as its owner would give it.
pub async fn message(
    State(doors): State<Arc<Doors>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let said = async {
        let (parts, body) = request.into_parts();
        let by = doors.gate.operator(&parts)?;
        let Said { message } = read(&doors, &parts.headers, body).await?;
        let task = doors.service.message_by(&By::Node, &id, message).await?;
        doors.service.tell_audit(&by, ("task.message", &id)).await;
        Ok(Shown::of(&task, None, true))
    };
    answer(said.await, Some(&id))
}

pub async fn events(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let follow = async {
        doors.gate.operator(&request)?;
        let last = request.headers.get("last-event-id").and_then(|last| last.to_str().ok());
        let last = last.map(|last| last.parse().map_err(|_| Error::invalid("Last-Event-ID", "is a number")));
        doors.service.subscribe_by(By::Node, &id, last.transpose()?).await
    };
    match follow.await {
        Ok(follow) => sse::respond(&doors.service, follow, Wrap::Bare, None),
        Err(why) => fault::rest(&fault::of(why, Some(&id)), Media::Json),
    }
}
