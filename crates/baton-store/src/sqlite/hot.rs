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

/// A bounded map, least recently used first out.
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
        Self { cache: Mutex::new(Cache { tasks: LruCache::new(TASKS), bytes: 0 }) }
    }
}

impl Hot {
    pub fn find(&self, id: TaskId) -> Option<Kept> {
        self.cache().tasks.get(&id).map(|(kept, _)| kept.clone())
    }

    /// Keeps what was committed.
    pub fn put(&self, changed: impl IntoIterator<Item = Kept>) {
        let mut cache = self.cache();
        for kept in changed {
            cache.put(kept);
        }
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
            cache.put(Kept { key, known: Known::Whole(Arc::clone(snapshot)) });
        }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().expect("nothing panics while it holds this lock")
    }
}

impl Cache {
    fn put(&mut self, kept: Kept) {
        let weight = kept.known.snapshot().map_or(1024, |snapshot| snapshot.weight());
        self.bytes += weight;
        let id = kept.known.task().id;
        if self.tasks.len() == TASKS && !self.tasks.contains_key(&id) {
            self.drop_oldest();
        }
        if let Some((_, old)) = self.tasks.insert(id, (kept, weight)) {
            self.bytes -= old;
        }
        while self.bytes > BYTES {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, (_, weight))) = self.tasks.remove_lru() {
            self.bytes -= weight;
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
