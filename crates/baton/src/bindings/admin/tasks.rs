//! Every owner's tasks, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::ident::Owner;
use baton_core::model::{Message, TaskObject, TaskState};
use baton_core::task::{Snapshot, State as TaskLife};
use baton_core::time::Timestamp;
use baton_store::By;
use baton_wire::sse::Wrap;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::media::Media;
use super::super::{Doors, fault, sse};
use super::{Asked, Operator, Sent, answer, query};
use crate::service::list::ListAll;
use crate::service::{Error, Service};

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    #[param(value_type = Option<String>)]
    agent: Option<AgentName>,
    #[param(value_type = Option<String>)]
    state: Option<TaskState>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = TaskMessage)]
pub struct Said {
    #[schema(value_type = Object)]
    message: Message,
}

/// A task as the operator sees it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Task)]
pub struct Shown {
    #[schema(value_type = String)]
    pub agent: AgentName,
    #[schema(value_type = Object)]
    pub owner: Owner,
    /// The first line of what it was handed in with, cut short; empty where that is no text.
    pub title: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Option<Timestamp>,
    /// Until when a question waits for its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub answer_until: Option<Timestamp>,
    /// Somebody asked for its end, which has not come yet.
    pub cancel_requested: bool,
    /// It failed after as many attempts as it may have.
    pub dead_letter: bool,
    /// Of the newest attempt; zero before the first.
    pub attempt: u32,
    #[schema(value_type = Object)]
    pub task: TaskObject,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaskPage)]
pub struct Page {
    pub tasks: Vec<Shown>,
    pub next_page_token: String,
    pub total_size: u64,
}

impl Shown {
    pub fn of(snapshot: &Snapshot, history: Option<usize>, artifacts: bool) -> Self {
        let task = &snapshot.task;
        let (answer_until, dead_letter) = match task.state {
            TaskLife::Interrupted { until, .. } => (Some(until), false),
            TaskLife::Failed { dead_letter, .. } => (None, dead_letter),
            TaskLife::Ready { .. }
            | TaskLife::Running { .. }
            | TaskLife::Completed
            | TaskLife::Canceled
            | TaskLife::Rejected
            | TaskLife::Answered => (None, false),
        };
        Self {
            title: title(snapshot),
            created_at: task.created_at,
            deadline: task.deadline,
            answer_until,
            cancel_requested: task.cancel_requested && !task.state.is_terminal(),
            dead_letter,
            agent: task.agent.clone(),
            owner: task.owner.clone(),
            attempt: task.attempt,
            task: snapshot.object(history, artifacts),
        }
    }
}

/// Characters of a title.
const TITLE: usize = 120;

fn title(snapshot: &Snapshot) -> String {
    let Some((_, first)) = snapshot.messages.first() else { return String::new() };
    let text = first.joined_text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// A page of everybody's, newest created first.
pub async fn page(service: &Service, list: ListAll) -> Result<Page, Error> {
    let page = service.list_all(list).await?;
    Ok(Page {
        tasks: page.tasks.iter().map(|task| Shown::of(task, Some(1), false)).collect(),
        next_page_token: page.next_page_token,
        total_size: page.total,
    })
}

/// One with all of its content.
pub async fn load(service: &Service, id: &str) -> Result<Shown, Error> {
    Ok(Shown::of(&*service.load_by(&By::Node, id).await?, None, true))
}

/// A page of everybody's tasks, newest created first.
#[utoipa::path(
    get,
    path = "/api/v1/tasks",
    params(Filter),
    responses((status = 200, description = "A page", body = Page))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator, filter: Asked<Filter>) -> Response {
    let listed = async {
        let filter = query(filter)?;
        let wanted = ListAll {
            agent: filter.agent,
            state: filter.state,
            size: filter.page_size,
            page_token: filter.page_token,
        };
        page(&doors.service, wanted).await
    };
    answer(listed.await, None)
}

/// A task with all of its content.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{id}",
    params(("id" = String, Path, description = "Of the task")),
    responses((status = 200, description = "The task", body = Shown))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator, Path(id): Path<String>) -> Response {
    answer(load(&doors.service, &id).await, Some(&id))
}

/// Cancels a task, and waits up to ten seconds for its end.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/cancel",
    params(("id" = String, Path, description = "Of the task")),
    responses((status = 200, description = "The task as it stands then", body = Shown))
)]
pub async fn cancel(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    whole(doors.service.cancel_as_operator(&by, &id).await, &id)
}

/// The operator's answer to a task's question, as its owner would give it.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/messages",
    params(("id" = String, Path, description = "Of the task")),
    request_body = Said,
    responses((status = 200, description = "The task as it stands then", body = Shown))
)]
pub async fn message(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
    Sent(Said { message }): Sent<Said>,
) -> Response {
    whole(doors.service.say(&id, message, &by).await, &id)
}

/// A new task with the same message, where the old one is over.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/retry",
    params(("id" = String, Path, description = "Of the task")),
    responses((status = 200, description = "The new task", body = Shown))
)]
pub async fn retry(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    whole(doors.service.retry(&id, &by).await, &id)
}

/// A task with all of its content, or why the one of this id was not acted on.
fn whole(task: Result<Arc<Snapshot>, Error>, id: &str) -> Response {
    answer(task.map(|task| Shown::of(&task, None, true)), Some(id))
}

/// Follows a task: server-sent events, each a StreamResponse of A2A 1.0.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{id}/events",
    params(("id" = String, Path, description = "Of the task"), ("last-event-id" = Option<u64>, Header, description = "The number of the event that was seen last")),
    responses((status = 200, description = "The events", body = String, content_type = "text/event-stream"))
)]
pub async fn events(
    State(doors): State<Arc<Doors>>,
    _: Operator,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let follow = async {
        let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
        let last = last.map(|last| last.parse().map_err(|_| Error::invalid("Last-Event-ID", "is a number")));
        doors.service.subscribe_by(By::Node, &id, last.transpose()?).await
    };
    match follow.await {
        Ok(follow) => sse::respond(&doors.service, follow, Wrap::Bare, None),
        Err(why) => fault::rest(&fault::of(why, Some(&id)), Media::Json),
    }
}
