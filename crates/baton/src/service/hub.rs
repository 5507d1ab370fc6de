//! Who is told of a commit. The log is the truth: what is kept here is only what was committed last, for those who
//! watch; whoever is behind reads the store.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::ident::{AgentName, TaskId};
use baton_core::task::{Event, Nudge};
use baton_store::{Committed, Known, Observer};
use tokio::sync::{Notify, watch};

use super::pace::Pace;

/// Events of a watched task that stay in memory; a reader that is further behind goes to the store.
const TAIL: usize = 256;

/// Bytes of content in those events, about: a file that streams past is not kept for those who have seen it.
const TAIL_BYTES: usize = 4 * 1024 * 1024;

/// The meeting place of commits and those who wait for them.
#[derive(Debug, Default)]
pub struct Hub {
    watched: Mutex<HashMap<TaskId, Watched>>,
    ready: Mutex<HashMap<AgentName, Arc<Notify>>>,
    owed: Arc<Notify>,
    /// How many groups were committed, for whoever looks at everything.
    commits: watch::Sender<u64>,
    /// How many tasks of each agent ended lately.
    pub pace: Pace,
}

/// A channel and how many watch it.
#[derive(Debug, Default)]
struct Watched {
    channel: Arc<Channel>,
    watchers: usize,
}

#[derive(Debug, Default)]
struct Channel {
    seen: Mutex<Seen>,
    /// Commits that were seen; counted once they are.
    commits: AtomicU64,
    changed: Notify,
}

/// What was committed since a task's channel was opened.
#[derive(Debug, Default)]
struct Seen {
    newest: Option<Known>,
    tail: VecDeque<Arc<Event>>,
    /// Of the tail.
    bytes: usize,
}

/// What there is after some event.
#[derive(Debug)]
pub enum After {
    /// All of it.
    Fresh(Vec<Arc<Event>>),
    /// More than is in memory: the store has it.
    Stored,
    Nothing,
}

/// One who watches a task. The last to go takes the task's channel along.
#[derive(Debug)]
pub struct Watch {
    hub: Arc<Hub>,
    id: TaskId,
    channel: Arc<Channel>,
    /// Commits that this one was told of.
    told: u64,
}

impl Hub {
    /// Watches a task from now on. Watch first, then read: what is committed in between is seen by both.
    pub fn watch(self: &Arc<Self>, id: TaskId) -> Watch {
        let mut watched = self.watched();
        let entry = watched.entry(id).or_default();
        entry.watchers += 1;
        let channel = Arc::clone(&entry.channel);
        drop(watched);
        let told = channel.commits.load(Ordering::Acquire);
        Watch { hub: Arc::clone(self), id, channel, told }
    }

    /// Woken when an agent has something to be claimed.
    pub fn ready(&self, agent: &AgentName) -> Arc<Notify> {
        Arc::clone(lock(&self.ready).entry(agent.clone()).or_default())
    }

    /// Woken when a webhook may be owed something.
    pub fn owed(&self) -> Arc<Notify> {
        Arc::clone(&self.owed)
    }

    /// How many groups were committed so far: for whoever looks at everything, and for nobody who needs each.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// Tasks that somebody watches.
    pub fn len(&self) -> usize {
        self.watched().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<TaskId, Watched>> {
        lock(&self.watched)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Hub {
    fn committed(&self, commits: &[Committed]) {
        let watched = self.watched();
        for commit in commits {
            if let Some(watched) = watched.get(&commit.known.task().id) {
                watched.channel.take(commit);
            }
        }
        drop(watched);
        if commits.iter().any(|commit| commit.owed) {
            self.owed.notify_one();
        }
        self.pace.count(commits);
        self.commits.send_modify(|count| *count += 1);
        let ready = lock(&self.ready);
        for nudge in commits.iter().flat_map(|commit| &commit.nudges) {
            let Nudge::Ready(agent) = nudge;
            if let Some(notify) = ready.get(agent) {
                notify.notify_one();
            }
        }
    }
}

impl Channel {
    fn take(&self, commit: &Committed) {
        let mut seen = lock(&self.seen);
        seen.newest = Some(commit.known.clone());
        for event in &commit.events {
            seen.bytes += event.body.weight();
            seen.tail.push_back(Arc::clone(event));
        }
        // The newest stays, however large: whoever waits for it is woken now.
        while seen.tail.len() > TAIL || (seen.bytes > TAIL_BYTES && seen.tail.len() > 1) {
            let oldest = seen.tail.pop_front();
            seen.bytes -= oldest.map_or(0, |event| event.body.weight());
        }
        drop(seen);
        self.commits.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }
}

impl Watch {
    /// Waits for the next commit of the task; at once where one was missed since the last call. Safe to drop before it is
    /// ready.
    pub async fn changed(&mut self) {
        loop {
            let next = self.channel.changed.notified();
            let commits = self.channel.commits.load(Ordering::Acquire);
            if commits != self.told {
                self.told = commits;
                return;
            }
            next.await;
        }
    }

    /// The task as the newest commit since this channel was opened left it.
    pub fn newest(&self) -> Option<Known> {
        lock(&self.channel.seen).newest.clone()
    }

    /// What was committed after the event `seq`; the store is known to have the events up to `known`.
    pub fn after(&self, seq: u64, known: u64) -> After {
        let seen = lock(&self.channel.seen);
        // Numbers are dense, and so is the tail.
        let at = seen.tail.front().and_then(|first| (seq + 1).checked_sub(first.seq));
        if let Some(at) = at.and_then(|at| usize::try_from(at).ok()) {
            let fresh: Vec<_> = seen.tail.iter().skip(at).cloned().collect();
            return if fresh.is_empty() { After::Nothing } else { After::Fresh(fresh) };
        }
        let newest = seen.newest.as_ref().map_or(0, |known| known.task().seq).max(known);
        if newest > seq { After::Stored } else { After::Nothing }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.hub.watched();
        // Counted under the lock: two that go at the same time must not both take the other for one that stays.
        if let Some(entry) = watched.get_mut(&self.id) {
            entry.watchers -= 1;
            if entry.watchers == 0 {
                watched.remove(&self.id);
            }
        }
    }
}
