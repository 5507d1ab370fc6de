//! The life of what is owed to one webhook: its notifications go out one after the other, each until it is taken or given
//! up. Pure, as everything here: the store runs [`step`] in a transaction, the sender only reports what it saw.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::limits::{WEBHOOK_ATTEMPTS, WEBHOOK_BACKOFF, WEBHOOK_RETRY_AFTER};
use crate::task::{Body, Event};
use crate::time::Timestamp;

/// Where a push configuration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Looked after: at `due_at` there may be something to be sent. None: nothing is owed.
    Active { failures: u32, due_at: Option<Timestamp> },
    /// The receiver did not take a notification for too long. What is owed stays owed, until an operator replays it.
    Suspended,
    /// Nothing is sent any more.
    Ended(End),
}

/// Why nothing is sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The receiver said 410.
    Gone,
    /// The grant is revoked that the task came in by.
    Revoked,
}

impl End {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Revoked => "revoked",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Gone, Self::Revoked].into_iter().find(|end| end.as_str() == text)
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The task has a new event.
    Owed,
    /// The receiver took a notification, or there was none to be sent; `more` events came meanwhile.
    Taken {
        more: bool,
    },
    /// It did not; `chance` is a random number that spreads the tries of many.
    Failed {
        retry_after: Option<Duration>,
        chance: u16,
    },
    /// It wants no more.
    Gone,
    /// The operator wants what is owed to be tried again.
    Replayed,
    Revoked,
}

/// What `input` makes of `state` at `now`.
pub fn step(state: State, input: Input, now: Timestamp) -> State {
    match (state, input) {
        (State::Ended(End::Revoked), _) | (_, Input::Revoked) => State::Ended(End::Revoked),
        (_, Input::Replayed) => State::Active { failures: 0, due_at: Some(now) },
        (State::Active { due_at: Some(due), failures }, Input::Owed) => {
            State::Active { failures, due_at: Some(due) }
        }
        (State::Active { due_at: None, failures }, Input::Owed) => {
            State::Active { failures, due_at: Some(now) }
        }
        (State::Active { .. }, Input::Taken { more }) => {
            State::Active { failures: 0, due_at: more.then_some(now) }
        }
        (State::Active { failures, .. }, Input::Failed { retry_after, chance }) => {
            let failures = failures + 1;
            if failures >= WEBHOOK_ATTEMPTS {
                return State::Suspended;
            }
            State::Active { failures, due_at: Some(now.after(wait(failures, retry_after, chance))) }
        }
        (State::Active { .. }, Input::Gone) => State::Ended(End::Gone),
        (
            kept @ (State::Suspended | State::Ended(End::Gone)),
            Input::Owed | Input::Taken { .. } | Input::Failed { .. } | Input::Gone,
        ) => kept,
    }
}

/// How long to wait after so many failures: exponential, a fifth more or less by chance, and not before the receiver said.
pub fn wait(failures: u32, retry_after: Option<Duration>, chance: u16) -> Duration {
    let doublings = failures.saturating_sub(1).min(WEBHOOK_ATTEMPTS);
    let plain = (0..doublings).fold(WEBHOOK_BACKOFF, |wait, _| wait * 5 / 2);
    // 0.8 to 1.2 of it.
    let spread = plain * (8_000 + u32::from(chance) * 4_000 / u32::from(u16::MAX)) / 10_000;
    spread.max(retry_after.unwrap_or_default().min(WEBHOOK_RETRY_AFTER))
}

/// Whether an event is told to webhooks: every change of status after the submission, which its sender knows of, and
/// everything written. What is written goes out when its artifact is finished.
pub fn is_told(event: &Event) -> bool {
    match &event.body {
        Body::Submitted { .. } => false,
        Body::Wrote { .. } => true,
        Body::Claimed { .. }
        | Body::Progressed { .. }
        | Body::Used { .. }
        | Body::Interrupted { .. }
        | Body::Messaged { .. }
        | Body::Resumed { .. }
        | Body::HolderGone
        | Body::Requeued { .. }
        | Body::CancelRequested
        | Body::Completed { .. }
        | Body::Failed { .. }
        | Body::Canceled { .. }
        | Body::Rejected { .. }
        | Body::Answered { .. } => event.body.is_visible() && event.body.status().is_some(),
    }
}
