//! The times of one attempt: its deadline, its child's silence, and the ladder once it must end. Performs nothing.

use std::time::Duration;

use baton_core::task::Reason;
use tokio::time::{Instant, sleep_until};

use super::ending::Ending;
use super::ladder::{Ladder, Rung};
use super::outbox::refused_words;
use crate::runner::Refused;

/// How long the streams of a child that is gone are read on. Nothing of its tree is left to hold them open; only a
/// process that was handed a descriptor from inside can, and nobody waits for that one.
const STREAMS_AFTER_EXIT: Duration = Duration::from_secs(1);

/// Bytes that a pipe holds at most. Each read takes one at least, so that after so many everything was read that the
/// child had written.
const PIPE_BYTES: u32 = 1 << 20;

#[derive(Debug)]
pub struct Watchdog {
    deadline: Option<Instant>,
    stall: Option<Duration>,
    /// When the child was last heard of.
    heard: Instant,
    /// Silence is no fault while the owner is asked.
    listening: bool,
    ending: Option<Ending>,
    ladder: Option<Ladder>,
    /// When the streams of a child that is gone are given up, unless there is something to read.
    streams_until: Option<Instant>,
    /// There was nothing to read by then.
    silent: bool,
    /// Reads since the child is gone.
    reads: u32,
}

impl Watchdog {
    /// `time_left` until the deadline, if there is one.
    pub fn new(time_left: Option<Duration>, stall: Option<Duration>, now: Instant) -> Self {
        let deadline = time_left.map(|left| now + left);
        Self {
            deadline,
            stall,
            heard: now,
            listening: true,
            ending: None,
            ladder: None,
            streams_until: None,
            silent: false,
            reads: 0,
        }
    }

    /// The child gave a sign of life.
    pub fn life(&mut self, now: Instant) {
        self.heard = now;
    }

    pub fn heard(&self) -> Instant {
        self.heard
    }

    /// Whether the child's silence counts.
    pub fn listen(&mut self, listening: bool, now: Instant) {
        self.listening = listening;
        self.heard = now;
    }

    pub fn child_gone(&mut self, now: Instant) {
        self.streams_until = Some(now + STREAMS_AFTER_EXIT);
    }

    /// Something came from a stream.
    pub fn has_read(&mut self) {
        if self.streams_until.is_some() {
            self.reads = self.reads.saturating_add(1);
        }
    }

    /// A wait ended and nothing could be read. That the time is over says nothing by itself: a commit may have taken it.
    pub fn heard_nothing(&mut self, now: Instant) {
        self.silent |= self.streams_until.is_some_and(|until| until <= now);
    }

    pub fn gave_up_streams(&self) -> bool {
        self.silent || self.reads > PIPE_BYTES
    }

    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    pub fn is_lost(&self) -> bool {
        self.ending == Some(Ending::Lost)
    }

    /// The child must end, for this reason or a weightier one.
    pub fn end(&mut self, ending: Ending, now: Instant) {
        let was_urgent = self.ending.as_ref().is_some_and(Ending::is_urgent);
        let ending = Ending::merge(self.ending.take(), ending);
        if ending.is_urgent() && !was_urgent {
            self.ladder = Some(Ladder::start_at_terminate(now));
        } else if self.ladder.is_none() {
            self.ladder = Some(Ladder::start(now));
        }
        self.ending = Some(ending);
    }

    /// The next rung that is due, of a ladder that a missed deadline or a long silence may just have begun.
    pub fn due(&mut self, now: Instant) -> Option<Rung> {
        if self.streams_until.is_some() {
            return None;
        }
        if self.ending.is_none() {
            if self.deadline.is_some_and(|at| at <= now) {
                let words = "The task was not done by its deadline.";
                self.end(Ending::fault(Reason::Deadline, words), now);
            } else if let Some(stall) = self.stall.filter(|_| self.stall_at().is_some_and(|at| at <= now)) {
                let words = format!("The agent was not heard of for {} s.", stall.as_secs_f32());
                self.end(Ending::fault(Reason::Stalled, words), now);
            }
        }
        self.ladder.as_mut()?.due(now)
    }

    /// When to look again.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.streams_until.is_some() {
            return self.streams_until;
        }
        match &self.ladder {
            Some(ladder) => ladder.wake_at(),
            None => [self.deadline, self.stall_at()].into_iter().flatten().min(),
        }
    }

    fn stall_at(&self) -> Option<Instant> {
        self.stall.filter(|_| self.listening).map(|stall| self.heard + stall)
    }
}

/// What a report's result means for its attempt.
pub fn ending_of(result: Result<(), Refused>) -> Option<Ending> {
    match result {
        // Of a cancellation the signal tells, and whatever else was said does not matter then.
        Ok(()) | Err(Refused::Canceling) => None,
        Err(Refused::Lost) => Some(Ending::Lost),
        Err(Refused::Invalid(why)) => Some(Ending::fault(Reason::InvalidAgentResponse, refused_words(&why))),
        Err(Refused::Unavailable) => {
            tracing::error!("the store takes no reports, giving the attempt up");
            Some(Ending::Lost)
        }
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    ByEvent,
    ByTime,
}

/// Waits until `at`; for ever without a time.
pub async fn later(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
