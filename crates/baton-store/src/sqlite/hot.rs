//! The tasks that were committed or read last, in memory.

use std::sync::{Arc, Mutex, MutexGuard};

use baton_core::ident::TaskId;
use baton_core::task::{Snapshot, Task};
use hashlink::LruCache;

use crate::Known;

/// Tasks kept. Enough for every task that is being worked on and for a client that reads what it just sent.
const TASKS: usize = 2_048;

/// Bytes of content kept in all, about.
const BYTES: usize = 6 * 1024 * 1024;

/// A task with more content than this is kept without it.
const WHOLE: usize = 256 * 1024;

/// A task with the number of its row.
#[derive(Clone, Debug)]
pub struct Kept {
    pub key: i64,
    pub known: Known,
}

/// A map whose least recently used entries go where there are too many.
#[derive(Debug)]
pub struct Hot {
    cache: Mutex<Cache>,
}

#[derive(Debug)]
struct Cache {
    tasks: LruCache<TaskId, (Kept, usize)>,
    bytes: usize,
}

impl Default for Hot {
    fn default() -> Self {
        Self { cache: Mutex::new(Cache { tasks: LruCache::new_unbounded(), bytes: 0 }) }
    }
}

impl Hot {
    pub fn find(&self, id: TaskId) -> Option<Kept> {
        self.cache().tasks.get(&id).map(|(kept, _)| kept.clone())
    }

    /// Keeps what was committed, and answers what had to go for it: to free that takes time, which the writer has not.
    pub fn put(&self, changed: impl IntoIterator<Item = Kept>) -> Vec<Kept> {
        let mut gone = Vec::new();
        let mut cache = self.cache();
        for kept in changed {
            cache.put(kept, &mut gone);
        }
        gone
    }

    /// Keeps what was read, where it is over: only the writer may keep what can still change, since what is here is
    /// what the next step starts from. What the writer put here meanwhile stays: a task that is over can still be shown.
    pub fn put_read(&self, key: i64, snapshot: &Arc<Snapshot>) {
        if !snapshot.task.state.is_terminal() || snapshot.weight() > WHOLE {
            return;
        }
        let mut cache = self.cache();
        let newest =
            cache.tasks.peek(&snapshot.task.id).is_none_or(|(kept, _)| *kept.known.task() == snapshot.task);
        if newest {
            let mut gone = Vec::new();
            cache.put(Kept { key, known: Known::Whole(Arc::clone(snapshot)) }, &mut gone);
            drop(cache);
        }
    }

    /// Forgets a task that was deleted.
    pub fn remove(&self, id: TaskId) -> Option<Kept> {
        let mut cache = self.cache();
        let (kept, weight) = cache.tasks.remove(&id)?;
        cache.bytes -= weight;
        Some(kept)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().expect("nothing panics while it holds this lock")
    }
}

impl Cache {
    fn put(&mut self, kept: Kept, gone: &mut Vec<Kept>) {
        let weight = kept.known.snapshot().map_or(1024, |snapshot| snapshot.weight());
        self.bytes += weight;
        let id = kept.known.task().id;
        if let Some((old, weight)) = self.tasks.insert(id, (kept, weight)) {
            self.bytes -= weight;
            gone.push(old);
        }
        while self.tasks.len() > TASKS || self.bytes > BYTES {
            let Some((_, (oldest, weight))) = self.tasks.remove_lru() else { return };
            self.bytes -= weight;
            gone.push(oldest);
        }
    }
}

/// The task with its content, unless that is too much to be kept.
pub fn whole_or_head(known: Known) -> Known {
    match known {
        Known::Whole(snapshot) if snapshot.weight() > WHOLE => {
            Known::Head(Arc::new(Task::clone(&snapshot.task)))
        }
        kept @ (Known::Whole(_) | Known::Head(_)) => kept,
    }
}
