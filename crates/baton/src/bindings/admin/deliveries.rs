//! Push notifications and what became of them, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::delivery::State as DeliveryState;
use baton_core::time::Timestamp;
use baton_store::{DeliveryAttempt, PushConfig};
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::super::Doors;
use super::{Asked, answer, query};
use crate::service::deliveries::ListDeliveries;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filter {
    state: Option<String>,
    task: Option<String>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Before {
    page_size: Option<usize>,
    before: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    task_id: String,
    id: String,
    url: String,
    /// What its receiver reads: `1.0` or `0.3`.
    version: &'static str,
    state: &'static str,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Tries at what is next that were in vain.
    failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<Timestamp>,
    /// Sequence number of the event up to which nothing is owed.
    settled: u64,
    tries: u64,
    created_at: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    deliveries: Vec<Shown>,
    next_page_token: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    number: u64,
    /// Of the event that was told.
    sequence: u64,
    at: Timestamp,
    took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Detail {
    delivery: Shown,
    /// The newest first.
    attempts: Vec<Attempt>,
}

impl Shown {
    fn of(config: &PushConfig) -> Self {
        let (state, reason, failures, due_at) = match config.state {
            DeliveryState::Active { failures, due_at } => ("active", None, failures, due_at),
            DeliveryState::Suspended => ("suspended", None, 0, None),
            DeliveryState::Ended(end) => ("ended", Some(end.as_str()), 0, None),
        };
        Self {
            task_id: config.task.to_string(),
            id: config.id.clone(),
            url: config.url.clone(),
            version: config.edition.as_str(),
            state,
            reason,
            failures,
            due_at,
            settled: config.cursor,
            tries: config.tries,
            created_at: config.created_at,
        }
    }
}

impl From<DeliveryAttempt> for Attempt {
    fn from(attempt: DeliveryAttempt) -> Self {
        Self {
            number: attempt.number,
            sequence: attempt.seq,
            at: attempt.at,
            took_ms: u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            status: attempt.status,
            error: attempt.error,
        }
    }
}

pub async fn list(State(doors): State<Arc<Doors>>, filter: Asked<Filter>, request: Parts) -> Response {
    let listed = async {
        doors.gate.operator(&request)?;
        let filter = query(filter)?;
        let Filter { state, task, page_size: size, page_token } = filter;
        let list = ListDeliveries { state, task, size, page_token };
        let (found, next_page_token) = doors.service.list_deliveries(list).await?;
        Ok(Page { deliveries: found.iter().map(Shown::of).collect(), next_page_token })
    };
    answer(listed.await, None)
}

pub async fn show(
    State(doors): State<Arc<Doors>>,
    Path((task, id)): Path<(String, String)>,
    before: Asked<Before>,
    request: Parts,
) -> Response {
    let shown = async {
        doors.gate.operator(&request)?;
        let before = query(before)?;
        let page = (before.page_size, before.before);
        let (config, attempts) = doors.service.load_delivery(&task, &id, page).await?;
        Ok(Detail {
            delivery: Shown::of(&config),
            attempts: attempts.into_iter().map(Attempt::from).collect(),
        })
    };
    answer(shown.await, Some(&task))
}

pub async fn replay(
    State(doors): State<Arc<Doors>>,
    Path((task, id)): Path<(String, String)>,
    request: Parts,
) -> Response {
    let replayed = async {
        let by = doors.gate.operator(&request)?;
        Ok(Shown::of(&doors.service.replay_delivery(&task, &id, &by).await?))
    };
    answer(replayed.await, Some(&task))
}
