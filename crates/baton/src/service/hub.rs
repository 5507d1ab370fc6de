//! Who is told of a commit. The log is the truth: what is kept here is only what was committed last, for those who
//! watch; whoever is behind reads the store. What other nodes committed is known by its number only, and is read there too.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::ident::{AgentName, TaskId};
use baton_core::task::{Event, Nudge};
use baton_store::{Committed, Elsewhere, Known, Observer};
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
    /// How often something came to be claimed, anywhere.
    arrivals: watch::Sender<u64>,
    /// How often other nodes changed what this one keeps in memory: grants, and what an operator holds back.
    abroad: watch::Sender<u64>,
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
    /// The newest event that another node is known to have committed.
    elsewhere: u64,
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

/// What a watch knows of its task as it stands.
#[derive(Debug)]
pub enum Newest {
    Known(Known),
    /// Another node committed up to this event.
    Stored {
        seq: u64,
    },
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
        let mut watched = self.channels();
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

    /// Changes whenever something has come to be claimed.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    /// Changes whenever another node changed grants or what an operator holds back.
    pub fn abroad(&self) -> watch::Receiver<u64> {
        self.abroad.subscribe()
    }

    /// Tasks that somebody watches.
    pub fn len(&self) -> usize {
        self.channels().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<TaskId, Watched>> {
        lock(&self.watched)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Hub {
    fn committed(&self, commits: &[Committed]) {
        let watched = self.channels();
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
        if commits.iter().any(|commit| !commit.nudges.is_empty()) {
            self.arrivals.send_modify(|count| *count += 1);
        }
        let ready = lock(&self.ready);
        for nudge in commits.iter().flat_map(|commit| &commit.nudges) {
            let Nudge::Ready(agent) = nudge;
            if let Some(notify) = ready.get(agent) {
                notify.notify_one();
            }
        }
    }

    fn elsewhere(&self, changed: &[Elsewhere]) {
        for change in changed {
            self.hear(change);
        }
        self.commits.send_modify(|count| *count += 1);
    }

    fn watched(&self) -> Vec<TaskId> {
        self.channels().keys().copied().collect()
    }
}

impl Hub {
    /// One task, or its agent, or what all of the node has to do with.
    fn hear(&self, changed: &Elsewhere) {
        match changed {
            Elsewhere::Task { id, seq } => {
                if let Some(watched) = self.channels().get(id) {
                    watched.channel.hear(*seq);
                }
            }
            Elsewhere::Ready(agent) => {
                self.arrivals.send_modify(|count| *count += 1);
                if let Some(notify) = lock(&self.ready).get(agent) {
                    notify.notify_one();
                }
            }
            Elsewhere::Owed => self.owed.notify_one(),
            Elsewhere::Grants | Elsewhere::Holds => self.abroad.send_modify(|count| *count += 1),
            Elsewhere::Anything => {
                self.arrivals.send_modify(|count| *count += 1);
                lock(&self.ready).values().for_each(|notify| notify.notify_one());
                self.owed.notify_one();
                self.abroad.send_modify(|count| *count += 1);
            }
        }
    }
}

impl Channel {
    /// Another node committed events up to this one.
    fn hear(&self, seq: u64) {
        let mut seen = lock(&self.seen);
        let known = seen.newest.as_ref().map_or(0, |known| known.task().seq);
        if seq <= known.max(seen.elsewhere) {
            return;
        }
        seen.elsewhere = seq;
        drop(seen);
        self.commits.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn take(&self, commit: &Committed) {
        let mut seen = lock(&self.seen);
        seen.newest = Some(commit.known.clone());
        for event in &commit.events {
            // What another node committed in between is in the store only.
            if seen.tail.back().is_some_and(|last| last.seq + 1 != event.seq) {
                seen.tail.clear();
                seen.bytes = 0;
            }
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

    /// The task as the newest commit since this channel was opened left it. Where that was another node's, the store has it.
    pub fn newest(&self) -> Newest {
        let seen = lock(&self.channel.seen);
        match &seen.newest {
            Some(known) if known.task().seq >= seen.elsewhere => Newest::Known(known.clone()),
            None if seen.elsewhere == 0 => Newest::Nothing,
            Some(_) | None => Newest::Stored { seq: seen.elsewhere },
        }
    }

    /// What was committed after the event `seq`; the store is known to have the events up to `known`.
    pub fn after(&self, seq: u64, known: u64) -> After {
        let seen = lock(&self.channel.seen);
        // Numbers are dense, and so is the tail.
        let at = seen.tail.front().and_then(|first| (seq + 1).checked_sub(first.seq));
        if let Some(at) = at.and_then(|at| usize::try_from(at).ok()) {
            let fresh: Vec<_> = seen.tail.iter().skip(at).cloned().collect();
            if !fresh.is_empty() {
                return After::Fresh(fresh);
            }
        }
        let newest = seen.newest.as_ref().map_or(0, |known| known.task().seq).max(known).max(seen.elsewhere);
        if newest > seq { After::Stored } else { After::Nothing }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.hub.channels();
        // Counted under the lock: two that go at the same time must not both take the other for one that stays.
        if let Some(entry) = watched.get_mut(&self.id) {
            entry.watchers -= 1;
            if entry.watchers == 0 {
                watched.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_core::ident::{AgentName, ContextId, Owner};
    use baton_core::model::{Message, Role};
    use baton_core::task::{Input, New, Policy, Request, Task, create, step};
    use baton_core::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn new_task() -> (Task, Vec<Arc<Event>>) {
        let new = New {
            id: TaskId::new(Uuid::from_u128(7)),
            agent: AgentName::parse("a").unwrap(),
            owner: Owner::new("local", ""),
            context_id: ContextId::parse("talk").unwrap(),
            policy: Policy { takes_messages: true, ..Policy::default() },
            request: Request::default(),
            message: Arc::new(Message::text(Role::User, "m", "x")),
            deadline: None,
            not_before: None,
            priority: 0,
            shown: true,
        };
        let first = create(&new, Timestamp::from_millis(1));
        (first.task, first.events.into_iter().map(Arc::new).collect())
    }

    fn said(task: &Task) -> (Task, Vec<Arc<Event>>) {
        let message = Arc::new(Message::text(Role::User, "m", "more"));
        let next = step(task, &Input::Messaged { message }, Timestamp::from_millis(2)).unwrap();
        (next.task, next.events.into_iter().map(Arc::new).collect())
    }

    fn tell(hub: &Hub, (task, events): &(Task, Vec<Arc<Event>>)) {
        let known = Known::Head(Arc::new(task.clone()));
        hub.committed(&[Committed { known, events: events.clone(), nudges: Vec::new(), owed: false }]);
    }

    fn numbers(after: &After) -> Vec<u64> {
        match after {
            After::Fresh(events) => events.iter().map(|event| event.seq).collect(),
            After::Stored => vec![0],
            After::Nothing => Vec::new(),
        }
    }

    /// What other nodes committed in between is read in the store, never passed over.
    #[tokio::test]
    async fn events_of_other_nodes_lie_in_the_store() {
        let hub = Arc::new(Hub::default());
        let one = new_task();
        let id = one.0.id;
        let mut watch = hub.watch(id);
        tell(&hub, &one);
        watch.changed().await;
        assert_eq!(numbers(&watch.after(0, 0)), [1]);
        // Another node commits 2 and 3.
        hub.elsewhere(&[Elsewhere::Task { id, seq: 3 }]);
        watch.changed().await;
        assert!(matches!(watch.newest(), Newest::Stored { seq: 3 }));
        assert_eq!(numbers(&watch.after(1, 1)), [0]);
        assert_eq!(numbers(&watch.after(3, 1)), [] as [u64; 0]);
        // This one commits 4 after them.
        let two = said(&one.0);
        let three = said(&two.0);
        let four = said(&three.0);
        tell(&hub, &four);
        watch.changed().await;
        assert_eq!(numbers(&watch.after(1, 1)), [0], "2 and 3 are not in memory");
        assert_eq!(numbers(&watch.after(3, 1)), [4]);
        assert!(matches!(watch.newest(), Newest::Known(known) if known.task().seq == 4));
        // What is told late tells nothing.
        hub.elsewhere(&[Elsewhere::Task { id, seq: 3 }]);
        assert!(matches!(watch.newest(), Newest::Known(_)));
        assert_eq!(numbers(&watch.after(4, 1)), [] as [u64; 0]);
        assert_eq!(Observer::watched(&*hub), [id]);
    }

    #[tokio::test]
    async fn other_nodes_wake_who_waits() {
        let hub = Arc::new(Hub::default());
        let agent = AgentName::parse("a").unwrap();
        let (ready, mut abroad) = (hub.ready(&agent), hub.abroad());
        hub.elsewhere(&[Elsewhere::Ready(AgentName::parse("b").unwrap()), Elsewhere::Ready(agent)]);
        ready.notified().await;
        assert!(!abroad.has_changed().unwrap());
        hub.elsewhere(&[Elsewhere::Holds]);
        abroad.changed().await.unwrap();
        hub.elsewhere(&[Elsewhere::Anything]);
        ready.notified().await;
        hub.owed().notified().await;
        assert!(abroad.has_changed().unwrap());
    }
}
