//! What is kept of a task. Fields stand only where they are true.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ident::{AgentName, ContextId, Owner, TaskId};
use crate::json::Object;
use crate::limits;
use crate::model::{Message, TaskState};
use crate::time::Timestamp;

/// The durable unit of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub id: TaskId,
    pub agent: AgentName,
    pub owner: Owner,
    pub context_id: ContextId,
    pub policy: Policy,
    pub request: Request,
    pub created_at: Timestamp,
    /// When the whole task must be over; the reaper sees to it.
    pub deadline: Option<Timestamp>,
    /// Which of an agent's tasks are claimed first: the higher ones.
    pub priority: i16,
    pub state: State,
    pub status: Status,
    /// Sequence number of the newest event, from 1.
    pub seq: u64,
    /// Number of the newest attempt: the fencing token. Zero before the first claim.
    pub attempt: u32,
    /// Attempts that count against [`Policy::max_attempts`].
    pub counted: u32,
    /// Somebody asked for the end; the holder has not confirmed it yet.
    pub cancel_requested: bool,
    /// A client has been shown this task, so that it can no longer become a direct Message.
    pub shown: bool,
    /// In the order in which they appeared.
    pub artifacts: Vec<ArtifactHead>,
    /// What the agent says it used (tokens, cost); shown in the task's metadata.
    pub usage: Option<Object>,
}

/// What a task is made of when it is handed in.
#[derive(Clone, Debug, PartialEq)]
pub struct New {
    pub id: TaskId,
    pub agent: AgentName,
    pub owner: Owner,
    pub context_id: ContextId,
    pub policy: Policy,
    pub request: Request,
    pub message: Arc<Message>,
    pub deadline: Option<Timestamp>,
    /// Nobody may claim it earlier.
    pub not_before: Option<Timestamp>,
    /// Within [`limits::PRIORITIES`]; the higher are claimed first.
    pub priority: i16,
    /// The client gets the Task object before the agent has said anything.
    pub shown: bool,
}

/// How an agent wants its tasks treated; fixed when the task is created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Whether an attempt that could not finish is followed by another.
    pub retry: bool,
    pub max_attempts: u32,
    /// Milliseconds before the second attempt.
    pub backoff_ms: u64,
    /// Milliseconds that a worker has to go on after an answer, where its lease is not longer.
    pub lease_ms: u64,
    /// Milliseconds a question waits for its answer.
    pub answer_within_ms: u64,
    /// A first reply makes the task a direct Message.
    pub replies: bool,
    /// The runner can take a message while it works.
    pub takes_messages: bool,
}

impl Default for Policy {
    fn default() -> Self {
        let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        Self {
            retry: true,
            max_attempts: limits::ATTEMPTS,
            backoff_ms: millis(limits::BACKOFF),
            lease_ms: millis(limits::LEASE),
            answer_within_ms: millis(limits::ANSWER_WITHIN),
            replies: false,
            takes_messages: false,
        }
    }
}

/// What the caller said beside the message; handed to the runner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// URIs of the extensions that were activated and concern the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

/// Where a task stands (DESIGN §3).
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// To be worked on, at once or from a time on. `begun`: an attempt has been shown, so clients see WORKING.
    Ready {
        not_before: Option<Timestamp>,
        begun: bool,
    },
    /// Somebody works on it.
    Running {
        attempt: Attempt,
    },
    /// The agent asked its owner; `attempt` is there while the one who asked lives.
    Interrupted {
        kind: Interruption,
        attempt: Option<Attempt>,
        until: Timestamp,
    },
    Completed,
    Failed {
        reason: Reason,
        dead_letter: bool,
    },
    Canceled,
    Rejected,
    /// A direct Message, kept for audit; no Task to any client.
    Answered,
}

impl State {
    /// As A2A shows it; an [`State::Answered`] record is shown to nobody.
    pub const fn shown(&self) -> TaskState {
        match self {
            Self::Ready { begun: false, .. } => TaskState::Submitted,
            Self::Ready { begun: true, .. } | Self::Running { .. } => TaskState::Working,
            Self::Interrupted { kind: Interruption::Input, .. } => TaskState::InputRequired,
            Self::Interrupted { kind: Interruption::Auth, .. } => TaskState::AuthRequired,
            Self::Completed => TaskState::Completed,
            Self::Failed { .. } => TaskState::Failed,
            Self::Canceled => TaskState::Canceled,
            Self::Rejected => TaskState::Rejected,
            Self::Answered => TaskState::Unspecified,
        }
    }

    /// Nothing happens any more.
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed { .. } | Self::Canceled | Self::Rejected | Self::Answered => true,
            Self::Ready { .. } | Self::Running { .. } | Self::Interrupted { .. } => false,
        }
    }

    /// A blocking send returns here: terminal, or waiting for the owner.
    pub const fn is_settled(&self) -> bool {
        self.is_terminal() || matches!(self, Self::Interrupted { .. })
    }

    /// The attempt that is open, if one is.
    pub const fn open_attempt(&self) -> Option<&Attempt> {
        match self {
            Self::Running { attempt } => Some(attempt),
            Self::Interrupted { attempt, .. } => attempt.as_ref(),
            Self::Ready { .. }
            | Self::Completed
            | Self::Failed { .. }
            | Self::Canceled
            | Self::Rejected
            | Self::Answered => None,
        }
    }
}

/// What the owner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    Input,
    Auth,
}

/// One try at a task, while it is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1; the fencing token.
    pub number: u32,
    pub holder: Holder,
    pub started_at: Timestamp,
    /// `None`: as long as the holder's node lives.
    pub lease_until: Option<Timestamp>,
}

/// Who works on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub kind: HolderKind,
    /// A node's boot id, or a worker's name.
    pub name: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// A node, for a runner of its own; it confirms a cancellation when its child is gone.
    Node,
    /// A pull worker; it is fenced, not waited for.
    Worker,
}

/// What was last said of the state, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub message: Option<Arc<Message>>,
    /// Sequence number of the event that brought the message; zero without one.
    pub message_seq: u64,
    pub at: Timestamp,
}

/// What is kept of an artifact beside its chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactHead {
    pub id: Arc<str>,
    /// The attempt that wrote it.
    pub attempt: u32,
    /// Bytes of its chunks as JSON, about.
    pub bytes: u64,
}

/// Why a task failed. Spelled in `metadata["baton/reason"]`; the first row of seed `000`'s TerminalStatus is here too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The agent said so.
    Failed,
    /// The agent's process ended without an answer, or by a signal.
    Crashed,
    /// The agent asked for another try (EX_TEMPFAIL).
    Transient,
    Deadline,
    Stalled,
    ExhaustedSteps,
    ExhaustedTokens,
    LoopDetected,
    /// The agent broke its protocol.
    InvalidAgentResponse,
    /// Nobody answered the agent's question in time.
    Unanswered,
    LeaseLapsed,
    NodeDied,
    /// The agent is not configured any more.
    AgentGone,
}

impl Reason {
    pub const ALL: [Self; 13] = [
        Self::Failed,
        Self::Crashed,
        Self::Transient,
        Self::Deadline,
        Self::Stalled,
        Self::ExhaustedSteps,
        Self::ExhaustedTokens,
        Self::LoopDetected,
        Self::InvalidAgentResponse,
        Self::Unanswered,
        Self::LeaseLapsed,
        Self::NodeDied,
        Self::AgentGone,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::Transient => "transient",
            Self::Deadline => "deadline",
            Self::Stalled => "stalled",
            Self::ExhaustedSteps => "exhausted_steps",
            Self::ExhaustedTokens => "exhausted_tokens",
            Self::LoopDetected => "loop_detected",
            Self::InvalidAgentResponse => "invalid_agent_response",
            Self::Unanswered => "unanswered",
            Self::LeaseLapsed => "lease_lapsed",
            Self::NodeDied => "node_died",
            Self::AgentGone => "agent_gone",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// How an attempt ended; the attempt history's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Replied,
    Rejected,
    Canceled,
    Released,
    Failed(Reason),
    /// The holder was lost while it waited for an answer.
    HolderGone,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Replied => "replied",
            Self::Rejected => "rejected",
            Self::Canceled => "canceled",
            Self::Released => "released",
            Self::Failed(reason) => reason.as_str(),
            Self::HolderGone => "holder_gone",
        }
    }
}
