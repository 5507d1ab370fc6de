//! What happened to a task, event by event, and who worked on it; for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::TaskId;
use baton_core::limits::TASK_EVENTS;
use baton_core::task::{Body, Event, HolderKind};
use baton_core::time::Timestamp;
use baton_store::{AttemptRecord, By};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::Doors;
use super::{Asked, Operator, answer, query};
use crate::service::{Error, Service};

/// Events in one answer.
const EVENTS: usize = 200;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct From {
    /// Only events after this sequence number; the newest where it is not said.
    #[param(maximum = 10000)]
    after: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TaskLog)]
pub struct Log {
    /// In order. A task that ended long ago keeps its content, not its events.
    pub events: Vec<Entry>,
    /// In order.
    pub attempts: Vec<Attempt>,
}

/// One event, without its content.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaskEvent)]
pub struct Entry {
    pub sequence: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub kind: &'static str,
    /// The number of the attempt that begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How the attempt ended that ends with it, or why the task failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// The id of the message that it brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the next attempt may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub not_before: Option<Timestamp>,
    /// The artifact that was written, and how much of it, about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaskAttempt)]
pub struct Attempt {
    pub number: u32,
    /// `node` or `worker`.
    pub by: &'static str,
    /// A node's boot, or a worker's name.
    pub holder: String,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// What was said last of it, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl std::convert::From<&Event> for Entry {
    fn from(event: &Event) -> Self {
        let plain = Self {
            sequence: event.seq,
            at: event.at,
            kind: event.body.kind(),
            attempt: None,
            outcome: None,
            message: event.body.message().map(|message| message.message_id.clone()),
            not_before: None,
            artifact: None,
            bytes: None,
        };
        match &event.body {
            Body::Claimed { attempt } => Self { attempt: Some(attempt.number), ..plain },
            Body::Requeued { outcome, not_before, .. } => {
                Self { outcome: Some(outcome.as_str()), not_before: *not_before, ..plain }
            }
            Body::Failed { reason, .. } => Self { outcome: Some(reason.as_str()), ..plain },
            Body::Wrote { chunk } => {
                let artifact = &chunk.artifact;
                let bytes = artifact.parts.iter().map(baton_core::model::Part::weight).sum();
                let name = artifact.name.clone().unwrap_or_else(|| artifact.artifact_id.clone());
                Self { artifact: Some(name), bytes: Some(bytes), ..plain }
            }
            Body::Submitted { .. }
            | Body::Progressed { .. }
            | Body::Used { .. }
            | Body::Interrupted { .. }
            | Body::Messaged { .. }
            | Body::Resumed { .. }
            | Body::HolderGone
            | Body::CancelRequested
            | Body::Completed { .. }
            | Body::Canceled { .. }
            | Body::Rejected { .. }
            | Body::Answered { .. } => plain,
        }
    }
}

impl std::convert::From<AttemptRecord> for Attempt {
    fn from(record: AttemptRecord) -> Self {
        Self {
            number: record.number,
            by: match record.holder.kind {
                HolderKind::Node => "node",
                HolderKind::Worker => "worker",
            },
            holder: record.holder.name.to_string(),
            started_at: record.started_at,
            ended_at: record.end.map(|end| end.at),
            outcome: record.end.map(|end| end.outcome.as_str()),
            summary: record.summary.map(|text| text.to_string()),
        }
    }
}

/// The events after a sequence number, the newest where none is named, and all attempts.
pub async fn load(service: &Service, id: &str, after: Option<u64>) -> Result<Log, Error> {
    if after.is_some_and(|after| after > TASK_EVENTS) {
        return Err(Error::invalid("after", format!("is at most {TASK_EVENTS}: no task has more events")));
    }
    let task = service.load_head(&By::Node, id).await?;
    let newest = task.seq.saturating_sub(EVENTS as u64);
    let events = events_after(service, task.id, after.unwrap_or(newest)).await?;
    let attempts = service.store.attempts(task.id).await?;
    Ok(Log { events, attempts: attempts.into_iter().map(Attempt::from).collect() })
}

/// As many as an answer holds. The store hands out fewer at a time where they hold much content, which is left out here.
async fn events_after(service: &Service, task: TaskId, mut after: u64) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    while entries.len() < EVENTS {
        let events = service.store.events(task, after, EVENTS - entries.len()).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        entries.extend(events.iter().map(|event| Entry::from(&**event)));
    }
    Ok(entries)
}

/// What happened to a task, and who worked on it.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{id}/log",
    params(("id" = String, Path, description = "Of the task"), From),
    responses((status = 200, description = "The events and attempts", body = Log))
)]
pub async fn show(
    State(doors): State<Arc<Doors>>,
    _: Operator,
    Path(id): Path<String>,
    from: Asked<From>,
) -> Response {
    let shown = async { load(&doors.service, &id, query(from)?.after).await };
    answer(shown.await, Some(&id))
}
