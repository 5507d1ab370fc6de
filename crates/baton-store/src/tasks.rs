//! The verbs that concern tasks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{
    Event, Holder, HolderKind, Input, New, Nudge, Outcome, Refusal, Snapshot, State, Task,
};
use baton_core::time::Timestamp;
use uuid::Uuid;

use crate::{Error, NewPush};

/// One change of one task: what happened to it, in order, as one commit.
#[derive(Clone, Debug)]
pub struct Op {
    /// Makes a repeat safe: where the outcome of a commit is not known, the same operation is sent again.
    pub id: Uuid,
    pub task: TaskId,
    pub by: By,
    /// Present where the task is to be created first.
    pub create: Option<Create>,
    pub inputs: Vec<Input>,
    /// Where what comes of the inputs is to be pushed, stored in the same commit.
    pub push: Option<NewPush>,
    pub now: Timestamp,
    /// The same operation was sent before and its outcome is not known.
    pub repeat: bool,
}

/// On whose behalf an operation is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A caller: sees the tasks of this agent and owner only, and only while its grant is active.
    Owner(AgentName, Owner),
    /// A worker: reports what becomes of an agent's task, and only of one that it holds itself; only while its grant, that of
    /// this owner, is active.
    Worker(AgentName, Owner),
    /// The node itself, or its operator.
    Node,
}

impl By {
    /// Whether this one may know of `task`. A direct message is no task to its owner.
    pub fn sees(&self, task: &Task) -> bool {
        match self {
            Self::Owner(agent, owner) => {
                task.agent == *agent && task.owner == *owner && task.state != State::Answered
            }
            Self::Worker(agent, _) => task.agent == *agent && task.state != State::Answered,
            Self::Node => true,
        }
    }

    /// Refuses a worker that reports on a task which another one holds, whatever number it names.
    pub fn holds(&self, task: &Task) -> Result<(), Refusal> {
        match (self, task.state.open_attempt()) {
            (Self::Worker(_, owner), Some(open)) if open.holder != worker(owner) => {
                Err(Refusal::StaleAttempt)
            }
            (Self::Worker(..) | Self::Owner(..) | Self::Node, _) => Ok(()),
        }
    }

    /// The caller, where its grant has to be active.
    pub const fn caller(&self) -> Option<&Owner> {
        match self {
            Self::Owner(_, owner) | Self::Worker(_, owner) => Some(owner),
            Self::Node => None,
        }
    }
}

/// The holder that a worker with this grant and subject is.
pub fn worker(owner: &Owner) -> Holder {
    let name = match &*owner.subject {
        "" => Arc::clone(&owner.grant),
        subject => format!("{} {subject}", owner.grant).into(),
    };
    Holder { kind: HolderKind::Worker, name }
}

/// A task to be created.
#[derive(Clone, Debug)]
pub struct Create {
    pub new: New,
    pub idempotency: Option<Idempotency>,
}

/// A key that stands for one message of one owner to one agent for 24 hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    /// SHA-256 of the parsed message.
    pub digest: [u8; 32],
}

/// A task as a commit left it; with its content where that is at hand, else the content is to be loaded.
#[derive(Clone, Debug)]
pub enum Known {
    Whole(Arc<Snapshot>),
    Head(Arc<Task>),
}

impl Known {
    pub fn task(&self) -> &Task {
        match self {
            Self::Whole(snapshot) => &snapshot.task,
            Self::Head(task) => task,
        }
    }

    pub const fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        match self {
            Self::Whole(snapshot) => Some(snapshot),
            Self::Head(_) => None,
        }
    }
}

/// What an operation did, after its commit.
#[derive(Clone, Debug)]
pub struct Applied {
    pub known: Known,
    /// In order; empty for a repeat.
    pub events: Vec<Arc<Event>>,
    /// The operation had been done before, or its idempotency key had been used for the same message.
    pub repeated: bool,
}

/// What a commit changed, told to the observer in commit order.
#[derive(Clone, Debug)]
pub struct Committed {
    pub known: Known,
    pub events: Vec<Arc<Event>>,
    pub nudges: Vec<Nudge>,
    /// Somebody is to be pushed some of it.
    pub owed: bool,
}

/// Hears of every commit, after it and before the operation is answered. Must not block.
pub trait Observer: Send + Sync + 'static {
    fn committed(&self, commits: &[Committed]);

    /// Something was committed by another node on the same store. It may be told late, more than once, or not at all.
    fn elsewhere(&self, _changed: &[Elsewhere]) {}

    /// Tasks of which every change is to be told within a second, whatever is lost.
    fn watched(&self) -> Vec<TaskId> {
        Vec::new()
    }
}

/// What another node changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// A task has events up to this sequence number, or a later one.
    Task { id: TaskId, seq: u64 },
    /// An agent has something to be claimed.
    Ready(AgentName),
    /// Something is owed to a webhook.
    Owed,
    /// Grants, or their credentials.
    Grants,
    /// What an operator holds back.
    Holds,
    /// Any of it: nothing was heard for a while.
    Anything,
}

/// Which tasks to claim.
#[derive(Clone, Debug)]
pub struct Claim {
    pub agent: AgentName,
    pub holder: Holder,
    /// Whose grant has to be active; none where the node claims for a runner of its own.
    pub by: Option<Owner>,
    /// Without one, a task is held for as long as its holder's node lives.
    pub lease: Option<Duration>,
    /// This one, and no other.
    pub task: Option<TaskId>,
    pub most: usize,
    /// Tasks of the agent that may be worked on at a time, by all holders together.
    pub concurrency: Option<u32>,
    pub budget: Option<Budget>,
    pub now: Timestamp,
}

/// How many tasks of an agent may be claimed in a while. Windows begin at multiples of their length since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub claims: u32,
    /// Whole milliseconds, one at least.
    pub per: Duration,
}

impl Budget {
    /// When the window began that `now` lies in.
    pub fn window(&self, now: Timestamp) -> Timestamp {
        let per = i64::try_from(self.per.as_millis()).unwrap_or(i64::MAX).max(1);
        Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(per))
    }
}

/// What a claim came to.
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// In the order in which they are to be worked on.
    pub tasks: Vec<Arc<Snapshot>>,
    /// Why there are not more, where there may be.
    pub held_back: Option<HeldBack>,
}

/// What keeps ready tasks from being claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBack {
    /// As many are worked on as may be.
    Concurrency,
    /// The budget is used up until then.
    Budget { until: Timestamp },
}

/// Tasks of one agent that are over and need not be kept.
#[derive(Clone, Debug)]
pub struct Retire {
    pub agent: AgentName,
    /// Those whose status changed before.
    pub before: Option<Timestamp>,
    /// Those beyond so many, the oldest first.
    pub beyond: Option<u64>,
    /// Of one transaction.
    pub most: usize,
}

/// A page of an owner's tasks with one agent.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub agent: AgentName,
    pub owner: Owner,
    pub context: Option<ContextId>,
    pub state: Option<TaskState>,
    /// Status changed at or after.
    pub since: Option<Timestamp>,
    /// Tasks after this one in the order of the list.
    pub after: Option<Position>,
    /// 1..=100.
    pub size: usize,
    pub content: Content,
}

/// How much of its tasks' content a page carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Newest messages of each task; the status' own message comes beside them.
    pub messages: usize,
    pub artifacts: bool,
}

/// A page of everybody's tasks.
#[derive(Clone, Debug)]
pub struct ListAllQuery {
    pub agent: Option<AgentName>,
    pub state: Option<TaskState>,
    pub after: Option<Position>,
    /// 1..=100.
    pub size: usize,
    pub content: Content,
}

/// A place in a list: newest status first, larger id first where the times are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub at: Timestamp,
    pub id: TaskId,
}

/// Part of a list.
#[derive(Default, Clone, Debug)]
pub struct Page {
    pub tasks: Vec<Arc<Snapshot>>,
    /// Where the next page begins; none where this is the last.
    pub next: Option<Position>,
    /// All tasks that match, on every page.
    pub total: u64,
}

/// One try at a task, open or over.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    /// From 1; the fencing token.
    pub number: u32,
    pub holder: Holder,
    pub started_at: Timestamp,
    /// None while it is open.
    pub end: Option<AttemptEnd>,
    /// What was said last of it, in short.
    pub summary: Option<Arc<str>>,
}

/// When an attempt was over, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptEnd {
    pub at: Timestamp,
    pub outcome: Outcome,
}

/// What the store says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Transactions that wrote, since the store was opened.
    pub commits: u64,
    /// Operations in them.
    pub operations: u64,
    /// Tasks of each agent by the state that clients see.
    pub tasks: Vec<(AgentName, TaskState, u64)>,
}

/// Tasks, their events and their content.
#[async_trait]
pub trait Tasks: Send + Sync + 'static {
    /// Runs `step` for each input in one transaction and answers after its commit. Refused as a whole or not at all.
    async fn apply(&self, op: Op) -> Result<Applied, Error>;

    /// Claims ready tasks of an agent that are due: those of the highest priority first, and of them the oldest. Concurrency
    /// and budget are looked at and charged in the same transaction. Where one task is named and cannot be had, that is
    /// refused: `NotFound`, or what the state machine says.
    async fn claim(&self, claim: Claim) -> Result<Claimed, Error>;

    /// A task with its content, where `by` may see it.
    async fn find(&self, by: &By, id: TaskId) -> Result<Option<Arc<Snapshot>>, Error>;

    /// The same without its content, which may be large.
    async fn find_head(&self, by: &By, id: TaskId) -> Result<Option<Arc<Task>>, Error>;

    /// One page, and how many tasks match in all.
    async fn list(&self, query: ListQuery) -> Result<Page, Error>;

    /// One page of every owner's tasks, newest created first, each with its first message too; a position's time is the
    /// task's creation.
    async fn list_all(&self, query: ListAllQuery) -> Result<Page, Error>;

    /// Up to `most` events of a task after sequence number `after`, in order; fewer where they hold much content, and none
    /// only where there are no more.
    async fn events(&self, id: TaskId, after: u64, most: usize) -> Result<Vec<Arc<Event>>, Error>;

    /// The newest attempts at a task, oldest first, up to [`baton_core::limits::ATTEMPTS_KEPT`]; empty where there is no such task.
    async fn attempts(&self, id: TaskId) -> Result<Vec<AttemptRecord>, Error>;

    /// Up to `most` tasks to which the clock has done something, with what it did.
    async fn due(&self, now: Timestamp, most: usize) -> Result<Vec<(TaskId, Input)>, Error>;

    /// Open attempts of nodes other than `boot`, up to `most`, as `(task, attempt number)`.
    async fn orphaned(&self, boot: &str, most: usize) -> Result<Vec<(TaskId, u32)>, Error>;

    /// When the next task of `agent` can be claimed; in the past where one can be now.
    async fn next_ready(&self, agent: &AgentName) -> Result<Option<Timestamp>, Error>;

    /// Up to `most` open tasks of revoked grants whose end nobody has asked for.
    async fn open_of_revoked(&self, most: usize) -> Result<Vec<TaskId>, Error>;

    /// Deletes events of tasks that ended before `before`, up to `most` tasks; answers how many tasks were pruned.
    async fn prune_events(&self, before: Timestamp, most: usize) -> Result<usize, Error>;

    /// Deletes tasks that are over, with all that is kept of them, the oldest first; answers which.
    async fn retire(&self, retire: Retire) -> Result<Vec<TaskId>, Error>;

    async fn status(&self) -> Result<Status, Error>;

    /// Whether other nodes work on the same store. Then every attempt needs a lease: what a node that is gone had in hand
    /// is nobody's to tell but the clock's.
    fn shared(&self) -> bool {
        false
    }

    /// Has the leases of every open attempt that this boot of a node holds end `lease` from now, by the store's clock;
    /// answers how many there are. Where the store is not shared there are none.
    async fn renew(&self, _boot: &str, _lease: Duration) -> Result<usize, Error> {
        Ok(0)
    }

    /// Whether the store answers at all.
    async fn ping(&self) -> Result<(), Error>;
}
