//! What needs a person, for the operator: one list of everything that waits for somebody.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::limits::PAGE_SIZE_MAX;
use baton_core::time::Timestamp;
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Doors;
use super::{answer, deliveries, friends, tasks};
use crate::service::friends::ListFriends;
use crate::service::{Error, Service};

/// Items of each kind in one answer.
const ITEMS: usize = 50;

#[derive(Serialize, ToSchema)]
pub struct Needs {
    /// The longest waiting first.
    pub items: Vec<Item>,
    /// How many there are of each kind, shown or not.
    pub counts: Counts,
}

/// Counted up to a thousand.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = NeedCounts)]
pub struct Counts {
    pub questions: usize,
    pub failures: usize,
    pub webhooks: usize,
    pub friends: usize,
}

impl Counts {
    pub const fn total(self) -> usize {
        self.questions + self.failures + self.webhooks + self.friends
    }
}

/// Something that waits for somebody, and since when.
#[derive(Serialize, ToSchema)]
#[schema(as = NeedItem)]
pub struct Item {
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    #[serde(flatten)]
    pub need: Need,
}

#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Need {
    /// An agent waits for the answer to its question.
    Question { task: Box<tasks::Shown> },
    /// An agent waits to be allowed something.
    Permission { task: Box<tasks::Shown> },
    /// A task failed, and nobody has attended to it.
    Failure { task: Box<tasks::Shown> },
    /// A stranger asks for a grant.
    FriendRequest { request: Box<friends::Shown> },
    /// A webhook does not take what it is owed.
    Webhook { detail: Box<deliveries::Detail> },
}

/// Everything that waits for somebody.
pub async fn load(service: &Service) -> Result<Needs, Error> {
    let needs = service.store.needs(ITEMS).await?;
    let counts = counts(service, needs.counts).await?;
    let mut items = Vec::new();
    for snapshot in &needs.waiting {
        let task = Box::new(tasks::Shown::of(snapshot, Some(1), false));
        let need = match snapshot.task.state.shown() {
            baton_core::model::TaskState::AuthRequired => Need::Permission { task },
            _ => Need::Question { task },
        };
        items.push(Item { since: snapshot.task.status.at, need });
    }
    for snapshot in &needs.failed {
        let task = Box::new(tasks::Shown::of(snapshot, Some(1), false));
        items.push(Item { since: snapshot.task.status.at, need: Need::Failure { task } });
    }
    for config in &needs.webhooks {
        let task = config.task.to_string();
        // It may be gone by now.
        let Ok(detail) = deliveries::load(service, (&task, &config.id), (Some(1), None)).await else {
            continue;
        };
        let since = detail.attempts.first().map_or(config.created_at, |attempt| attempt.at);
        items.push(Item { since, need: Need::Webhook { detail: Box::new(detail) } });
    }
    for request in friends::page(service, pending(ITEMS)).await?.requests {
        items.push(Item {
            since: request.created_at,
            need: Need::FriendRequest { request: Box::new(request) },
        });
    }
    items.sort_by_key(|item| item.since);
    Ok(Needs { items, counts })
}

/// How much there is, without what it is.
pub async fn count(service: &Service) -> Result<Counts, Error> {
    counts(service, service.store.needs(0).await?.counts).await
}

fn pending(most: usize) -> ListFriends {
    ListFriends { state: Some("pending".to_owned()), size: Some(most), page_token: None }
}

async fn counts(service: &Service, counts: baton_store::NeedsCounts) -> Result<Counts, Error> {
    // As many may wait as two pages hold.
    let (first, more) = service.list_friends(pending(PAGE_SIZE_MAX)).await?;
    let next = ListFriends { page_token: Some(more.clone()), ..pending(PAGE_SIZE_MAX) };
    let rest = if more.is_empty() { Vec::new() } else { service.list_friends(next).await?.0 };
    Ok(Counts {
        questions: counts.waiting,
        failures: counts.failed,
        webhooks: counts.webhooks,
        friends: first.len() + rest.len(),
    })
}

/// Everything that waits for somebody.
#[utoipa::path(
    get,
    path = "/api/v1/needs",
    responses((status = 200, description = "The longest waiting first", body = Needs))
)]
pub async fn show(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    let shown = async {
        doors.gate.operator(&request)?;
        load(&doors.service).await
    };
    answer(shown.await, None)
}

/// Takes a failed task off the list.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/attend",
    params(("id" = String, Path, description = "Of the task")),
    responses((status = 200, description = "The task", body = super::tasks::Shown))
)]
pub async fn attend(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let attended = async {
        let by = doors.gate.operator(&request)?;
        doors.service.attend(&id, &by).await?;
        tasks::load(&doors.service, &id).await
    };
    answer(attended.await, Some(&id))
}
