//! The verbs that concern what a person must look at: questions that wait for an answer, tasks that failed and that nobody
//! has looked at, webhooks that do not take what they are owed.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::ident::TaskId;
use baton_core::task::Snapshot;
use baton_core::time::Timestamp;

use crate::{Actor, Error, PushConfig};

/// How far failures are counted: a person reads "more than a thousand" as well as the number.
pub const COUNTED: usize = 1_000;

/// What needs a person, each kind the longest waiting first.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Tasks whose agent asked its owner something; with their first message and the question.
    pub waiting: Vec<Arc<Snapshot>>,
    /// Tasks that failed and that nobody has attended to; with their first message.
    pub failed: Vec<Arc<Snapshot>>,
    /// Push configurations that are suspended, or fail again and again.
    pub webhooks: Vec<PushConfig>,
    pub counts: NeedsCounts,
}

/// How much there is of each kind, counted up to [`COUNTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeedsCounts {
    pub waiting: usize,
    pub failed: usize,
    pub webhooks: usize,
}

/// Which failed tasks somebody has attended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attend {
    One(TaskId),
    /// All of them at once: one row of the audit log, which names those that were on the list.
    These(Vec<TaskId>),
}

/// What a person must look at.
#[async_trait]
pub trait Attention: Send + Sync + 'static {
    /// Up to `most` of each kind, and how many there are.
    async fn needs(&self, most: usize) -> Result<Needs, Error>;

    /// Takes failed tasks off the list; answers how many. What was attended to stays so.
    async fn attend(&self, attend: Attend, by: (&Actor, Timestamp)) -> Result<usize, Error>;
}
