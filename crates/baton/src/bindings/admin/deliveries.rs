//! Push notifications and what became of them, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::delivery::State as DeliveryState;
use baton_core::time::Timestamp;
use baton_store::{DeliveryAttempt, PushConfig};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::Doors;
use super::{Asked, Operator, answer, query};
use crate::service::deliveries::ListDeliveries;
use crate::service::{Error, Service};

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    state: Option<String>,
    task: Option<String>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Before {
    page_size: Option<usize>,
    before: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Delivery)]
pub struct Shown {
    pub task_id: String,
    pub id: String,
    pub url: String,
    /// What its receiver reads: `1.0` or `0.3`.
    pub version: &'static str,
    pub state: &'static str,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Tries at what is next that were in vain.
    pub failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due_at: Option<Timestamp>,
    /// Sequence number of the event up to which nothing is owed.
    pub settled: u64,
    pub tries: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DeliveryPage)]
pub struct Page {
    pub deliveries: Vec<Shown>,
    pub next_page_token: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    pub number: u64,
    /// Of the event that was told.
    pub sequence: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryDetail)]
pub struct Detail {
    pub delivery: Shown,
    /// The newest first.
    pub attempts: Vec<Attempt>,
}

impl Shown {
    pub fn of(config: &PushConfig) -> Self {
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

/// A page of everybody's, those of the newest tasks first.
pub async fn page(service: &Service, list: ListDeliveries) -> Result<Page, Error> {
    let (found, next_page_token) = service.list_deliveries(list).await?;
    Ok(Page { deliveries: found.iter().map(Shown::of).collect(), next_page_token })
}

/// One of a task, and its tries: how many, and before which number.
pub async fn load(
    service: &Service,
    (task, id): (&str, &str),
    page: (Option<usize>, Option<u64>),
) -> Result<Detail, Error> {
    let (config, attempts) = service.load_delivery(task, id, page).await?;
    let attempts = attempts.into_iter().map(Attempt::from).collect();
    Ok(Detail { delivery: Shown::of(&config), attempts })
}

/// A page of the push configurations, those of the newest tasks first.
#[utoipa::path(
    get,
    path = "/api/v1/deliveries",
    params(Filter),
    responses((status = 200, description = "A page", body = Page))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator, filter: Asked<Filter>) -> Response {
    let listed = async {
        let filter = query(filter)?;
        let Filter { state, task, page_size: size, page_token } = filter;
        page(&doors.service, ListDeliveries { state, task, size, page_token }).await
    };
    answer(listed.await, None)
}

/// A push configuration and the tries at it.
#[utoipa::path(
    get,
    path = "/api/v1/deliveries/{task}/{id}",
    params(("task" = String, Path, description = "Of the task"), ("id" = String, Path, description = "Of the push configuration"), Before),
    responses((status = 200, description = "The newest try first", body = Detail))
)]
pub async fn show(
    State(doors): State<Arc<Doors>>,
    _: Operator,
    Path((task, id)): Path<(String, String)>,
    before: Asked<Before>,
) -> Response {
    let shown = async {
        let before = query(before)?;
        load(&doors.service, (&task, &id), (before.page_size, before.before)).await
    };
    answer(shown.await, Some(&task))
}

/// Begins again with what is owed to a suspended configuration.
#[utoipa::path(
    post,
    path = "/api/v1/deliveries/{task}/{id}/replay",
    params(("task" = String, Path, description = "Of the task"), ("id" = String, Path, description = "Of the push configuration")),
    responses((status = 200, description = "The configuration", body = Shown))
)]
pub async fn replay(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path((task, id)): Path<(String, String)>,
) -> Response {
    let replayed = doors.service.replay_delivery(&task, &id, &by).await;
    answer(replayed.map(|config| Shown::of(&config)), Some(&task))
}
