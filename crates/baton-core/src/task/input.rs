//! What can happen to a task. Past-tense facts; whoever reports one knows nothing of the others.

use std::sync::Arc;
use std::time::Duration;

use super::state::{Holder, Interruption, Reason};
use crate::json::Object;
use crate::model::{Artifact, Message};

/// One fact. `attempt` is the fencing token of the holder that reports it.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A runner or worker took the task; without a lease, for as long as its node lives.
    Claimed { holder: Holder, lease: Option<Duration> },
    /// The holder is alive; its lease begins anew.
    Renewed { attempt: u32, lease: Option<Duration> },
    /// The holder says how it goes.
    Progressed { attempt: u32, message: Arc<Message> },
    /// The holder wrote an artifact, or a piece of one.
    Wrote { attempt: u32, chunk: Arc<Chunk> },
    /// The holder says what it used.
    Used { attempt: u32, usage: Object },
    /// The holder answers with a direct Message.
    Replied { attempt: u32, message: Arc<Message> },
    /// The holder needs something of the owner.
    Asked { attempt: u32, kind: Interruption, message: Option<Arc<Message>> },
    /// The owner sent a follow-up: the answer to a question, or a message to somebody at work.
    Messaged { message: Arc<Message> },
    /// The holder is done.
    Completed { attempt: u32, message: Option<Arc<Message>> },
    /// The holder could not do it.
    Failed { attempt: u32, reason: Reason, message: Option<Arc<Message>>, retryable: bool },
    /// The holder gives the task back unharmed, and may say why.
    Released { attempt: u32, message: Option<Arc<Message>> },
    /// The holder will not do it.
    Rejected { attempt: u32, message: Option<Arc<Message>> },
    /// The owner or the operator wants it to end.
    CancelRequested,
    /// The holder has stopped.
    CancelConfirmed { attempt: u32 },
    /// The holder was not heard of in time, or its node died.
    LeaseLapsed { attempt: u32, loss: LeaseLoss },
    /// The holder is known to be gone.
    HolderGone { attempt: u32, message: Option<Arc<Message>> },
    /// A time limit of the task, or of its question, is over.
    DeadlinePassed,
    /// The grant that the task came in by is revoked or expired.
    GrantRevoked,
    /// A client is about to be shown the task.
    Shown,
}

/// How a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseLoss {
    /// It ran out.
    Expired,
    /// It was held by a node that is no more.
    NodeDied,
}

/// A new artifact, or a piece to append to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    pub artifact: Arc<Artifact>,
    pub append: bool,
    pub last_chunk: bool,
}
