//! The verbs that concern push notifications: where they go, what is owed there, and what became of each try.
//!
//! The truth is one durable cursor per configuration: everything of its task up to there is delivered or was never owed.
//! What is owed is the task's own log after it, so that nothing is written twice. Rows exist for tries only.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::delivery::{Input, State};
use baton_core::ident::TaskId;
use baton_core::task::{Event, Task};
use baton_core::time::Timestamp;

use crate::{Actor, By, Error};

/// Which A2A version a receiver reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    #[default]
    V1,
    V03,
}

impl Edition {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::V1, Self::V03].into_iter().find(|edition| edition.as_str() == text)
    }
}

/// A push configuration to be stored; one of the same id is replaced and keeps its cursor, so that what is owed goes to
/// the new place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPush {
    pub id: String,
    pub url: String,
    /// Scheme, host and port of the URL: configurations of one target share what it can bear.
    pub target: String,
    /// The HTTP authentication scheme, which may be shown.
    pub scheme: Option<String>,
    /// What may not be shown, sealed.
    pub secret: Option<Vec<u8>>,
    pub edition: Edition,
}

/// A push configuration as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConfig {
    pub task: TaskId,
    pub id: String,
    pub url: String,
    pub target: String,
    pub scheme: Option<String>,
    pub edition: Edition,
    pub created_at: Timestamp,
    pub state: State,
    /// Everything up to this sequence number is settled.
    pub cursor: u64,
    /// Tries so far, of all notifications.
    pub tries: u64,
    /// Changes when the configuration is replaced or ended: a try at the earlier one settles nothing.
    pub revision: u64,
}

/// What a sender needs to go on with one configuration.
#[derive(Clone, Debug)]
pub struct Owed {
    pub config: PushConfig,
    pub secret: Option<Vec<u8>>,
    pub task: Arc<Task>,
    /// The first of the task's events after the cursor.
    pub events: Vec<Arc<Event>>,
}

/// A target to which something is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub target: String,
    /// When the first of it is to be sent; in the past where that is now.
    pub first: Timestamp,
}

/// What became of one try, or of a look that found nothing to send.
#[derive(Clone, Debug)]
pub struct Settle {
    pub task: TaskId,
    pub id: String,
    pub revision: u64,
    /// The cursor from now on.
    pub cursor: u64,
    pub input: Input,
    /// None where nothing was sent.
    pub attempt: Option<DeliveryAttempt>,
    pub now: Timestamp,
}

/// One try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// From 1, per configuration; given by the store.
    pub number: u64,
    /// Sequence number of the event that was told.
    pub seq: u64,
    pub at: Timestamp,
    pub took: Duration,
    /// The HTTP status of the answer, where there was one.
    pub status: Option<u16>,
    /// Why it was no success, in our own words.
    pub error: Option<String>,
}

/// Part of all configurations, for the operator; the newest tasks first.
#[derive(Clone, Debug)]
pub struct DeliveriesQuery {
    /// Only those that are in this state: `active`, `suspended` or `ended`.
    pub state: Option<&'static str>,
    pub task: Option<TaskId>,
    /// Those after this one in the order of the list.
    pub after: Option<(TaskId, String)>,
    pub size: usize,
}

/// Push configurations, what is owed to them, and the log of tries.
#[async_trait]
pub trait Delivery: Send + Sync + 'static {
    /// Stores a configuration of a task that `by` sees. What happens to the task from now on is owed to it.
    async fn put_push_config(
        &self,
        by: &By,
        task: TaskId,
        new: NewPush,
        now: Timestamp,
    ) -> Result<PushConfig, Error>;

    async fn find_push_config(&self, task: TaskId, id: &str) -> Result<Option<PushConfig>, Error>;

    /// Up to `most` configurations of a task after the id `after`, in the order of their ids.
    async fn list_push_configs(
        &self,
        task: TaskId,
        after: &str,
        most: usize,
    ) -> Result<Vec<PushConfig>, Error>;

    /// Removes a configuration, its log too. Answers whether it was there.
    async fn delete_push_config(&self, by: (&By, Timestamp), task: TaskId, id: &str) -> Result<bool, Error>;

    /// Up to `most` targets to which something is owed, each once, after `after` in their order.
    async fn due_targets(&self, after: &str, most: usize) -> Result<Vec<Due>, Error>;

    /// Up to `most` configurations of one target to which something may be owed by now, the longest waiting first.
    async fn owed(&self, target: &str, now: Timestamp, most: usize) -> Result<Vec<Owed>, Error>;

    /// Stores what became of a try. Answers the configuration's state then, with the events that came meanwhile; none
    /// where the configuration is gone, replaced or ended.
    async fn settle(&self, settle: Settle) -> Result<Option<State>, Error>;

    /// Has what is owed tried again, whatever was given up. `by`: who says so, for the audit, and when.
    async fn replay(&self, task: TaskId, id: &str, by: (&Actor, Timestamp)) -> Result<PushConfig, Error>;

    /// Everybody's configurations.
    async fn list_deliveries(&self, query: DeliveriesQuery) -> Result<Vec<PushConfig>, Error>;

    /// Up to `most` tries of one configuration, the newest first, before number `before`.
    async fn delivery_attempts(
        &self,
        task: TaskId,
        id: &str,
        before: Option<u64>,
        most: usize,
    ) -> Result<Vec<DeliveryAttempt>, Error>;
}
