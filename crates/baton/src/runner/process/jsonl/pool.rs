//! The children that rest between tasks: found again by the same owner and context, ended when they rest too long.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use baton_core::ident::{ContextId, Owner};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::resident::{Heard, Resident};
use crate::runner::process::ladder::Ladder;

/// Whom a child may work for again. What it remembers must not reach anybody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub owner: Owner,
    pub context_id: ContextId,
}

/// The resting children of one agent.
#[derive(Debug)]
pub struct Pool {
    idle: Duration,
    /// How many may rest.
    places: usize,
    resting: Mutex<VecDeque<Resting>>,
    rests: TaskTracker,
    closing: CancellationToken,
}

/// One of them; dropping this ends it.
#[derive(Debug)]
struct Resting {
    key: Key,
    wake: oneshot::Sender<oneshot::Sender<Resident>>,
}

impl Pool {
    pub fn new(idle: Duration, places: usize) -> Self {
        Self {
            idle,
            places,
            resting: Mutex::default(),
            rests: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    /// The child that rested last for `key`, if one is still alive.
    pub async fn take(&self, key: &Key) -> Option<Resident> {
        loop {
            let resting = self.pop(key)?;
            let (reply, resident) = oneshot::channel();
            if resting.wake.send(reply).is_ok()
                && let Ok(resident) = resident.await
            {
                return Some(resident);
            }
        }
    }

    fn pop(&self, key: &Key) -> Option<Resting> {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let at = resting.iter().rposition(|resting| resting.key == *key)?;
        resting.remove(at)
    }

    /// Lets a child rest; the one that has rested longest makes room.
    pub fn put(&self, key: Key, resident: Resident) {
        let (wake, woken) = oneshot::channel();
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|resting| !resting.wake.is_closed());
        resting.push_back(Resting { key, wake });
        while resting.len() > self.places {
            resting.pop_front();
        }
        self.rests.spawn(rest(resident, woken, self.closing.clone(), Instant::now() + self.idle));
    }

    /// Ends all that rest, and returns when they are gone.
    pub async fn close(&self) {
        self.closing.cancel();
        self.rests.close();
        self.rests.wait().await;
    }
}

/// One child's rest.
async fn rest(
    mut resident: Resident,
    mut woken: oneshot::Receiver<oneshot::Sender<Resident>>,
    closing: CancellationToken,
    until: Instant,
) {
    let ladder = loop {
        tokio::select! {
            wake = &mut woken => match wake {
                Ok(reply) => match reply.send(resident) {
                    Ok(()) => return,
                    Err(back) => resident = back,
                },
                Err(_) => break Ladder::start(Instant::now()),
            },
            () = closing.cancelled() => break Ladder::start_at_terminate(Instant::now()),
            () = sleep_until(until) => break Ladder::start(Instant::now()),
            heard = resident.hear() => match heard {
                // Late words about a task that is over.
                Heard::Line(_) => {}
                Heard::Gone => return,
                Heard::Closed | Heard::Unreadable(_) => break Ladder::start_at_terminate(Instant::now()),
            },
        }
    };
    resident.end(ladder).await;
}
