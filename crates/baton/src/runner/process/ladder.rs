//! The kill ladder as a small pure state machine: which rung is due when.
//!
//! It performs nothing and reads no clock. DESIGN §7: cancel message → SIGTERM → SIGKILL → reaped.

use std::time::Duration;

use tokio::time::Instant;

/// From the cancel message to SIGTERM: time for an agent to end its task in good order.
pub const TERMINATE_AFTER: Duration = Duration::from_secs(5);

/// From SIGTERM to SIGKILL: time for a signal handler. In sum below the 10 s that CancelTask waits.
pub const GRACE: Duration = Duration::from_secs(2);

/// From the cancel message to SIGKILL.
pub const KILL_AFTER: Duration = Duration::from_secs(TERMINATE_AFTER.as_secs() + GRACE.as_secs());

/// What is done to a child that must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Tell it, where its protocol has words for it.
    Cancel,
    /// SIGTERM to its process group.
    Terminate,
    /// SIGKILL to its whole tree.
    Kill,
}

/// One walk down the ladder.
#[derive(Clone, Debug)]
pub struct Ladder {
    started: Instant,
    next: Option<Rung>,
}

impl Ladder {
    /// A ladder whose first rung, the cancel message, is due at `started`.
    pub fn start(started: Instant) -> Self {
        Self { started, next: Some(Rung::Cancel) }
    }

    /// A ladder for a child that nobody waits for: SIGTERM at `started`, SIGKILL as long after it as on any ladder.
    pub fn start_at_terminate(started: Instant) -> Self {
        // An `Instant` cannot lie before the start of its clock; then the rungs come later, never earlier.
        let started = started.checked_sub(TERMINATE_AFTER).unwrap_or(started);
        Self { started, next: Some(Rung::Terminate) }
    }

    /// Takes the rung that is due, if one is; ask again until there is none.
    pub fn due(&mut self, now: Instant) -> Option<Rung> {
        let rung = self.next.filter(|rung| self.time_of(*rung) <= now)?;
        self.next = match rung {
            Rung::Cancel => Some(Rung::Terminate),
            Rung::Terminate => Some(Rung::Kill),
            Rung::Kill => None,
        };
        Some(rung)
    }

    /// When to ask next; `None` once the last rung has been taken and only reaping is left.
    pub fn wake_at(&self) -> Option<Instant> {
        self.next.map(|rung| self.time_of(rung))
    }

    fn time_of(&self, rung: Rung) -> Instant {
        match rung {
            Rung::Cancel => self.started,
            Rung::Terminate => self.started + TERMINATE_AFTER,
            Rung::Kill => self.started + KILL_AFTER,
        }
    }
}

#[cfg(test)]
mod tests;
