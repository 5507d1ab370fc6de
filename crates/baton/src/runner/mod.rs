//! How an agent's work is done. A runner gets a [`Job`] (one attempt at one task), hears what happens to the task
//! through [`Signals`], and says what it did through its [`Reporter`]. It knows no store, no wire and no other attempt.

pub mod echo;
pub mod process;

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::json::Object;
use baton_core::model::Message;
use baton_core::task::{Chunk, Interruption, Reason, Request};
use baton_core::time::Timestamp;
use tokio::sync::mpsc;

/// A way to do an agent's work.
#[async_trait]
pub trait Runner: Send + Sync + 'static {
    /// Works on one attempt until it is over and whatever worked on it is gone or idle. Every path ends with a terminal
    /// fact, [`Fact::Released`] or [`Fact::HolderGone`], or after [`Signal::Lost`] with none; a runner that returns
    /// without one is taken for crashed.
    async fn run(&self, job: Job);

    /// Ends what is kept warm between attempts. No attempt is started any more; what comes to rest later ends at once.
    async fn close(&self);
}

/// One attempt at one task.
#[derive(Debug)]
pub struct Job {
    pub task_id: TaskId,
    pub agent: AgentName,
    pub owner: Owner,
    pub context_id: ContextId,
    /// The attempt's number, from 1: the fencing token.
    pub attempt: u32,
    /// All messages of the task so far, both sides, oldest first. The newest of the user is what is to be done.
    pub history: Vec<Arc<Message>>,
    pub request: Request,
    /// When the attempt must be over; the runner sees to it.
    pub deadline: Option<Timestamp>,
    pub reporter: Reporter,
    pub signals: Signals,
}

/// What happens to a task while it is worked on.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// The owner's follow-up: an answer where the agent asked, else a message to somebody at work.
    Message(Arc<Message>),
    /// The end is wanted: walk the kill ladder, then say [`Fact::Canceled`] (or what came first).
    Cancel,
    /// The attempt holds the task no more: end whatever works on it and say nothing.
    Lost,
    /// Too many wait for answers: end what waits and say [`Fact::HolderGone`]. Comes only after [`Fact::Ask`].
    Evict,
    /// The node stops: finish soon; at [`Signal::Stop`] it is over.
    Drain,
    /// The node stops now: walk the kill ladder, then say [`Fact::Released`].
    Stop,
}

/// What a runner says of its attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    Progress(Message),
    Artifact(Chunk),
    Usage(Object),
    Ask {
        kind: Interruption,
        message: Option<Message>,
    },
    Reply(Message),
    Complete(Option<Message>),
    Reject(Option<Message>),
    Fail {
        reason: Reason,
        message: Option<Message>,
        retryable: bool,
    },
    /// Whatever worked on it has stopped, as was asked.
    Canceled,
    /// Given back unharmed: not counted as an attempt.
    Released,
    /// Whatever held the task is gone; a question that waits stays open.
    HolderGone(Option<Message>),
}

/// Why a report was not taken. The task is as it was before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The attempt holds the task no more; nothing it says is heard.
    #[error("the attempt holds the task no more")]
    Lost,
    /// The end was asked for: only the end can be reported.
    #[error("the task is being cancelled")]
    Canceling,
    /// The agent's own fault, in words for the agent.
    #[error("{0}")]
    Invalid(String),
    /// The store could not commit; the same report may be tried again.
    #[error("the store did not commit")]
    Unavailable,
}

/// Takes facts of one attempt to the log. All facts of one call are one commit.
#[async_trait]
pub trait Report: Send + Sync {
    async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused>;
}

/// A job's way to say what it did.
#[derive(Clone)]
pub struct Reporter(Arc<dyn Report>);

impl Reporter {
    pub fn new(report: Arc<dyn Report>) -> Self {
        Self(report)
    }

    /// Commits `facts` together, in order, or none of them. When this returns `Ok`, they are on disk.
    pub async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        self.0.report(facts).await
    }
}

impl std::fmt::Debug for Reporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reporter")
    }
}

/// Signals that may wait for a busy runner; a task can hardly have more follow-ups under way.
pub const SIGNALS: usize = 64;

/// A job's way to hear what happens to its task. The sender going away means [`Signal::Lost`].
#[derive(Debug)]
pub struct Signals(mpsc::Receiver<Signal>);

impl Signals {
    pub fn channel() -> (mpsc::Sender<Signal>, Self) {
        let (sender, receiver) = mpsc::channel(SIGNALS);
        (sender, Self(receiver))
    }

    /// The next signal. Safe to drop before it is ready.
    pub async fn next(&mut self) -> Signal {
        self.0.recv().await.unwrap_or(Signal::Lost)
    }
}
