//! Why a child is being ended, and what is said of its task when it is gone. Performs nothing.

use baton_core::ident::AgentName;
use baton_core::model::{Message, Role};
use baton_core::task::Reason;

use super::child::SpawnError;
use super::exit::How;
use crate::runner::Fact;

/// `EX_TEMPFAIL` of sysexits(3): try again later.
const TEMPFAIL: i32 = 75;

/// Why the node ends a child that has a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The owner wants it.
    Cancel,
    /// The node stops.
    Stop,
    /// The attempt holds the task no more.
    Lost,
    /// It waits for an answer, and the child is needed elsewhere or the node stops.
    Evict,
    /// It did something that cannot be let pass, in words for the owner.
    Fault { reason: Reason, words: String },
}

impl Ending {
    pub fn fault(reason: Reason, words: impl Into<String>) -> Self {
        Self::Fault { reason, words: words.into() }
    }

    /// What the cancel line gives as its reason.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cancel => "canceled",
            Self::Stop | Self::Lost | Self::Evict => "shutdown",
            Self::Fault { reason, .. } => reason.as_str(),
        }
    }

    /// What is said once the child is gone. `tail` is the end of its standard error.
    pub fn fact(&self, tail: &str) -> Option<Fact> {
        match self {
            Self::Cancel => Some(Fact::Canceled),
            Self::Stop => Some(Fact::Released),
            Self::Lost => None,
            Self::Evict => Some(Fact::HolderGone(None)),
            Self::Fault { reason, words } => Some(failed(*reason, words, tail, false)),
        }
    }

    /// Whether there is nothing to hope for from words: the ladder begins with SIGTERM.
    pub fn is_urgent(&self) -> bool {
        match self {
            Self::Cancel | Self::Stop => false,
            Self::Lost | Self::Evict => true,
            Self::Fault { reason, .. } => !matches!(reason, Reason::Deadline | Reason::Stalled),
        }
    }

    /// What is said when the child, told to end, ends the task with `fact`.
    pub fn answered(&self, fact: Fact) -> Option<Fact> {
        match (self, fact) {
            (Self::Cancel, Fact::Fail { .. } | Fact::Reply(_)) => Some(Fact::Canceled),
            (Self::Stop, Fact::Fail { .. }) => Some(Fact::Released),
            (Self::Cancel | Self::Stop, fact) => Some(fact),
            (Self::Lost | Self::Evict | Self::Fault { .. }, _) => self.fact(""),
        }
    }

    /// A later cause yields to an earlier one, but the loss of the task and the owner's wish outrank a fault: a task
    /// that was cancelled is not FAILED because its child also missed a deadline.
    pub fn merge(current: Option<Self>, new: Self) -> Self {
        match (current, new) {
            (None, new) => new,
            (Some(_), Self::Lost) | (Some(Self::Lost), _) => Self::Lost,
            (Some(Self::Fault { .. } | Self::Stop | Self::Evict), Self::Cancel) => Self::Cancel,
            (Some(Self::Evict), Self::Stop) => Self::Stop,
            (Some(current), _) => current,
        }
    }
}

/// What is said of a task whose child ended by itself, without ending the task.
pub fn unasked(how: &How, tail: &str) -> Fact {
    let words = format!("The agent ended without a result: {how}.");
    match how {
        How::Code(TEMPFAIL) => failed(Reason::Transient, &words, tail, true),
        How::Code(0) => failed(Reason::Crashed, &words, tail, false),
        How::NotStarted(why) => {
            failed(Reason::Crashed, &format!("The agent could not be started: {why}."), tail, false)
        }
        How::Code(_) => failed(Reason::Failed, &words, tail, false),
        How::Signal(_) | How::WardenDied => failed(Reason::Crashed, &words, tail, true),
    }
}

/// What is said when the node has no process to spare. That is not the agent's fault, and another try may find one.
pub fn no_child(agent: &AgentName, error: &SpawnError) -> Fact {
    tracing::error!(agent = %agent, error = %error, "cannot start an agent");
    failed(Reason::Crashed, "The node could not start the agent.", "", true)
}

/// What is said when the files of a message cannot be laid out for the child: another try may find room.
pub fn no_files(agent: &AgentName, error: &std::io::Error) -> Fact {
    tracing::error!(agent = %agent, error = %error, "cannot write files for an agent");
    failed(Reason::Crashed, "The node could not hand the files to the agent.", "", true)
}

fn failed(reason: Reason, words: &str, tail: &str, retryable: bool) -> Fact {
    let text = if tail.is_empty() { words.to_owned() } else { format!("{words}\n{tail}") };
    Fact::Fail { reason, message: Some(Message::text(Role::Agent, "", text)), retryable }
}

#[cfg(test)]
mod tests;
