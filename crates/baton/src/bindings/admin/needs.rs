//! What needs a person, for the operator: one list of everything that waits for somebody.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::limits::WEBHOOK_ATTEMPTS;
use baton_core::time::Timestamp;
use baton_store::PushConfig;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, answer, deliveries, friends, tasks};
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
        items.push(webhook(service, config).await?);
    }
    let pending = ListFriends { state: Some("pending".to_owned()), size: Some(ITEMS), page_token: None };
    for request in friends::page(service, pending).await?.requests {
        items.push(Item {
            since: request.created_at,
            need: Need::FriendRequest { request: Box::new(request) },
        });
    }
    items.sort_by_key(|item| item.since);
    Ok(Needs { items, counts })
}

/// A webhook, its newest try, and since when none was taken, as far as tries are looked at.
async fn webhook(service: &Service, config: &PushConfig) -> Result<Item, Error> {
    // After so many in vain nothing more is tried.
    let most = WEBHOOK_ATTEMPTS as usize;
    let tries = service.store.delivery_attempts(config.task, &config.id, None, most).await?;
    let first = tries.iter().take_while(|attempt| attempt.error.is_some()).last();
    let since = first.map_or(config.created_at, |attempt| attempt.at);
    let attempts = tries.into_iter().take(1).map(deliveries::Attempt::from).collect();
    let detail = deliveries::Detail { delivery: deliveries::Shown::of(config), attempts };
    Ok(Item { since, need: Need::Webhook { detail: Box::new(detail) } })
}

/// How much there is, without what it is.
pub async fn count(service: &Service) -> Result<Counts, Error> {
    counts(service, service.store.needs(0).await?.counts).await
}

async fn counts(service: &Service, counts: baton_store::NeedsCounts) -> Result<Counts, Error> {
    Ok(Counts {
        questions: counts.waiting,
        failures: counts.failed,
        webhooks: counts.webhooks,
        friends: service.store.count_pending(service.now()).await?,
    })
}

/// Everything that waits for somebody.
#[utoipa::path(
    get,
    path = "/api/v1/needs",
    responses((status = 200, description = "The longest waiting first", body = Needs))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(load(&doors.service).await, None)
}

/// Takes a failed task off the list.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/attend",
    params(("id" = String, Path, description = "Of the task")),
    responses((status = 200, description = "The task", body = super::tasks::Shown))
)]
pub async fn attend(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let attended = async {
        doors.service.attend(&id, &by).await?;
        tasks::load(&doors.service, &id).await
    };
    answer(attended.await, Some(&id))
}
