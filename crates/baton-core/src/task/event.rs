//! One committed change of a task. Everything that anybody is told about a task is one of these.

use std::sync::Arc;

use super::input::Chunk;
use super::state::{Attempt, Interruption, Outcome, Reason};
use crate::json::Object;
use crate::model::{Message, TaskState};
use crate::time::Timestamp;

/// The `seq`-th change, committed at `at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// From 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub body: Body,
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Submitted {
        message: Arc<Message>,
    },
    Claimed {
        attempt: Attempt,
    },
    /// WORKING, with what the holder says; without, a holder that goes on after its question.
    Progressed {
        message: Option<Arc<Message>>,
    },
    Wrote {
        chunk: Arc<Chunk>,
    },
    Used {
        usage: Object,
    },
    Interrupted {
        kind: Interruption,
        message: Option<Arc<Message>>,
        until: Timestamp,
    },
    /// A follow-up that changes no state.
    Messaged {
        message: Arc<Message>,
    },
    /// The answer to a question: the holder goes on, or where it is gone the task is ready again.
    Resumed {
        message: Arc<Message>,
    },
    /// The one who asked is gone; the question stays.
    HolderGone,
    /// The attempt is over without an end; the task is ready again.
    Requeued {
        outcome: Outcome,
        not_before: Option<Timestamp>,
        counted: bool,
        /// What the holder said of it, or what is known: for whoever claims the task next.
        summary: Option<Arc<str>>,
    },
    CancelRequested,
    Completed {
        message: Option<Arc<Message>>,
    },
    Failed {
        reason: Reason,
        message: Option<Arc<Message>>,
        dead_letter: bool,
    },
    Canceled {
        message: Option<Arc<Message>>,
    },
    Rejected {
        message: Option<Arc<Message>>,
    },
    Answered {
        message: Arc<Message>,
    },
}

impl Body {
    /// The one name of this kind, as stored.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Submitted { .. } => "submitted",
            Self::Claimed { .. } => "claimed",
            Self::Progressed { .. } => "progressed",
            Self::Wrote { .. } => "wrote",
            Self::Used { .. } => "used",
            Self::Interrupted { .. } => "interrupted",
            Self::Messaged { .. } => "messaged",
            Self::Resumed { .. } => "resumed",
            Self::HolderGone => "holder_gone",
            Self::Requeued { .. } => "requeued",
            Self::CancelRequested => "cancel_requested",
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Canceled { .. } => "canceled",
            Self::Rejected { .. } => "rejected",
            Self::Answered { .. } => "answered",
        }
    }

    /// The state that clients see from this event on, where the event is a change of status.
    pub const fn status(&self) -> Option<TaskState> {
        match self {
            Self::Submitted { .. } => Some(TaskState::Submitted),
            // A later claim changes nothing that a client was shown.
            Self::Claimed { attempt } if attempt.number > 1 => None,
            Self::Claimed { .. } | Self::Progressed { .. } | Self::Resumed { .. } => Some(TaskState::Working),
            Self::Interrupted { kind: Interruption::Input, .. } => Some(TaskState::InputRequired),
            Self::Interrupted { kind: Interruption::Auth, .. } => Some(TaskState::AuthRequired),
            Self::Completed { .. } => Some(TaskState::Completed),
            Self::Failed { .. } => Some(TaskState::Failed),
            Self::Canceled { .. } => Some(TaskState::Canceled),
            Self::Rejected { .. } => Some(TaskState::Rejected),
            Self::Wrote { .. }
            | Self::Used { .. }
            | Self::Messaged { .. }
            | Self::HolderGone
            | Self::Requeued { .. }
            | Self::CancelRequested
            | Self::Answered { .. } => None,
        }
    }

    /// What the agent says with this event's status.
    pub const fn status_message(&self) -> Option<&Arc<Message>> {
        match self {
            Self::Progressed { message }
            | Self::Interrupted { message, .. }
            | Self::Completed { message }
            | Self::Failed { message, .. }
            | Self::Canceled { message }
            | Self::Rejected { message } => message.as_ref(),
            Self::Submitted { .. }
            | Self::Claimed { .. }
            | Self::Wrote { .. }
            | Self::Used { .. }
            | Self::Messaged { .. }
            | Self::Resumed { .. }
            | Self::HolderGone
            | Self::Requeued { .. }
            | Self::CancelRequested
            | Self::Answered { .. } => None,
        }
    }

    /// The message that this event stores, of either side.
    pub const fn message(&self) -> Option<&Arc<Message>> {
        match self {
            Self::Submitted { message }
            | Self::Messaged { message }
            | Self::Resumed { message }
            | Self::Answered { message } => Some(message),
            Self::Claimed { .. }
            | Self::Progressed { .. }
            | Self::Wrote { .. }
            | Self::Used { .. }
            | Self::Interrupted { .. }
            | Self::HolderGone
            | Self::Requeued { .. }
            | Self::CancelRequested
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Canceled { .. }
            | Self::Rejected { .. } => self.status_message(),
        }
    }

    /// About how many bytes of content this event carries.
    pub fn weight(&self) -> usize {
        if let Self::Wrote { chunk } = self {
            return chunk.artifact.weight();
        }
        self.message().map_or(0, |message| message.weight())
    }

    /// Nothing comes after this event.
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Completed { .. }
                | Self::Failed { .. }
                | Self::Canceled { .. }
                | Self::Rejected { .. }
                | Self::Answered { .. }
        )
    }

    /// Whether a stream carries this event. A later claim changes nothing that a client was shown.
    pub const fn is_visible(&self) -> bool {
        match self {
            Self::Claimed { attempt } => attempt.number == 1,
            Self::Submitted { .. }
            | Self::Progressed { .. }
            | Self::Wrote { .. }
            | Self::Interrupted { .. }
            | Self::Resumed { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Canceled { .. }
            | Self::Rejected { .. }
            | Self::Answered { .. } => true,
            Self::Used { .. }
            | Self::Messaged { .. }
            | Self::HolderGone
            | Self::Requeued { .. }
            | Self::CancelRequested => false,
        }
    }
}
