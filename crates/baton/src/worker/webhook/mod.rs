//! Sends what is owed to webhooks. What is owed stands in the store; this finds it there, and writes there what became of
//! each try.
//!
//! One configuration is served by one turn at a time, so that its notifications stay in order. Turns are bounded in all and
//! per target, and a target that does not answer is left alone for a while: it delays nobody else.

mod notice;
mod request;
mod targets;
mod turn;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::time::Timestamp;
use baton_store::Owed;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::service::Service;
use targets::{Room, Targets};

/// Targets that are looked at together.
const BATCH: usize = 1_024;

/// The longest sleep while something is owed: a clock that was set on is noticed by then.
const SLEEP: Duration = Duration::from_secs(5);

/// KiB of artifacts that wait in memory for their receivers, of all turns together.
const BODIES: usize = 128 * 1024;

/// A task and one of its configurations.
type Key = (TaskId, String);

/// The sender of one node.
pub struct Sender {
    service: Service,
    nudged: Arc<Notify>,
    stop: CancellationToken,
    turns: TaskTracker,
    bodies: Semaphore,
    busy: Mutex<Busy>,
}

/// What is under way.
#[derive(Default)]
struct Busy {
    targets: Targets,
    served: HashSet<Key>,
    /// Turns that ended while a sweep was reading: what it read of them is old.
    ended: HashSet<Key>,
    /// The target with which the next sweep begins, where the last one had to end early.
    begin: String,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("turns", &self.turns.len()).finish_non_exhaustive()
    }
}

impl Sender {
    pub fn new(service: Service, stop: CancellationToken) -> Arc<Self> {
        let nudged = service.hub.owed();
        Arc::new(Self {
            service,
            nudged,
            stop,
            turns: TaskTracker::new(),
            bodies: Semaphore::new(BODIES),
            busy: Mutex::default(),
        })
    }

    /// Until it is stopped; what is under way then is sent again by the next run.
    pub async fn run(self: Arc<Self>) {
        loop {
            let begun = Instant::now();
            let next = self.sweep().await.unwrap_or_else(|why| {
                warn!(error = %why, "could not look for what is owed to webhooks");
                Some(self.service.now())
            });
            // Where so much is owed that a look takes long, looking must not be all that is done.
            let pause = begun.elapsed().min(SLEEP);
            let wait = async {
                tokio::time::sleep(pause).await;
                let until = async {
                    match next {
                        Some(at) => tokio::time::sleep(at.since(self.service.now()).clamp(TICK, SLEEP)).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = self.nudged.notified() => {}
                    () = until => {}
                }
            };
            tokio::select! {
                () = wait => {}
                () = self.stop.cancelled() => break,
            }
        }
        self.turns.close();
        self.turns.wait().await;
    }

    /// Begins every turn that can begin now. Answers when to look again, unless something happens before: none where
    /// nothing is owed to anybody.
    pub async fn sweep(self: &Arc<Self>) -> Result<Option<Timestamp>, baton_store::Error> {
        // Every target once: from where the last sweep ended early to the end of the list, then from its start.
        let begin = std::mem::take(&mut self.busy().begin);
        let later = self.sweep_between(&begin, None).await?;
        let earlier = if begin.is_empty() { None } else { self.sweep_between("", Some(&begin)).await? };
        Ok([later, earlier].into_iter().flatten().min())
    }

    /// The targets after `after`, up to `last`.
    async fn sweep_between(
        self: &Arc<Self>,
        after: &str,
        last: Option<&str>,
    ) -> Result<Option<Timestamp>, baton_store::Error> {
        let (mut after, mut next) = (after.to_owned(), None::<Timestamp>);
        loop {
            let mut due = self.service.store.due_targets(&after, BATCH).await?;
            let whole = due.len() == BATCH;
            due.retain(|due| last.is_none_or(|last| *due.target <= *last));
            let on = whole && due.len() == BATCH;
            for due in due {
                let at = self.serve(&due.target, due.first, &after).await?;
                next = [next, at].into_iter().flatten().min();
                after = due.target;
            }
            if !on {
                return Ok(next);
            }
        }
    }

    /// Begins turns for one target. Answers when more can be done for it, where only time brings that.
    async fn serve(
        self: &Arc<Self>,
        target: &str,
        first: Timestamp,
        previous: &str,
    ) -> Result<Option<Timestamp>, baton_store::Error> {
        let now = self.service.now();
        if first > now {
            return Ok(Some(first));
        }
        let most = {
            let mut busy = self.busy();
            match busy.targets.room(target, now) {
                Room::Free { free, running } => {
                    busy.ended.clear();
                    running + free
                }
                Room::Closed { until } => return Ok(Some(until)),
                Room::Full => {
                    busy.targets.set_waiting(target, true);
                    return Ok(None);
                }
                Room::NodeFull => {
                    if busy.begin.is_empty() {
                        previous.clone_into(&mut busy.begin);
                    }
                    return Ok(None);
                }
            }
        };
        let owed = self.service.store.owed(target, now, most).await?;
        let more = owed.len() == most;
        let begun: Vec<Owed> = {
            let mut busy = self.busy();
            let begun = owed.into_iter().filter(|owed| busy.begin(target, owed, now)).collect();
            busy.targets.set_waiting(target, more);
            begun
        };
        for owed in begun {
            self.turns.spawn(turn::run(Arc::clone(self), owed));
        }
        Ok(None)
    }

    fn busy(&self) -> MutexGuard<'_, Busy> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Busy {
    /// Takes a place for a turn, unless the configuration has one or there is no room.
    fn begin(&mut self, target: &str, owed: &Owed, now: Timestamp) -> bool {
        let key = (owed.config.task, owed.config.id.clone());
        let free = !self.served.contains(&key) && !self.ended.contains(&key);
        let begun = free && self.targets.begin(target, now);
        if begun {
            self.served.insert(key);
        }
        begun
    }

    /// Gives it back. Answers whether somebody waits for one.
    fn end(&mut self, target: &str, key: Key) -> bool {
        self.served.remove(&key);
        self.ended.insert(key);
        self.targets.end(target)
    }
}

/// The shortest sleep, so that a store that fails is not asked without end.
const TICK: Duration = Duration::from_millis(50);
