//! What nodes tell one another: that something changed, never what. It is gathered here, many changes at once, and spelled as
//! notifications. It may be lost: what is watched is asked for as well ([`telephone`](super::telephone)).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use baton_core::ident::{AgentName, TaskId};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::Elsewhere;

/// Bytes of one notification; PostgreSQL takes less than 8,000.
const BYTES: usize = 7_500;

/// Tasks that are named one by one; past that, everything may have changed.
const NAMED: usize = 4_096;

/// Changes that are to be passed on, until somebody takes them.
#[derive(Debug, Default)]
pub struct Gathering {
    gathered: Mutex<Gathered>,
    some: Notify,
}

#[derive(Debug, Default)]
pub struct Gathered {
    tasks: HashMap<TaskId, u64>,
    ready: HashSet<AgentName>,
    owed: bool,
    grants: bool,
    holds: bool,
    anything: bool,
}

impl Gathering {
    pub fn add(&self, changes: impl IntoIterator<Item = Elsewhere>) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        changes.into_iter().for_each(|change| gathered.add(change));
        drop(gathered);
        self.some.notify_one();
    }

    /// Waits until there is something.
    pub async fn some(&self) {
        self.some.notified().await;
    }

    pub fn take(&self) -> Gathered {
        std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Gathered {
    fn add(&mut self, change: Elsewhere) {
        match change {
            Elsewhere::Task { id, seq } if self.tasks.len() < NAMED || self.tasks.contains_key(&id) => {
                let known = self.tasks.entry(id).or_default();
                *known = seq.max(*known);
            }
            Elsewhere::Task { .. } | Elsewhere::Anything => self.anything = true,
            Elsewhere::Ready(agent) => drop(self.ready.insert(agent)),
            Elsewhere::Owed => self.owed = true,
            Elsewhere::Grants => self.grants = true,
            Elsewhere::Holds => self.holds = true,
        }
    }

    /// As many notifications as are needed.
    pub fn spell(self) -> Vec<String> {
        Note::of(self).iter().map(crate::stored::to_json).collect()
    }

    /// One by one.
    pub fn changes(self) -> Vec<Elsewhere> {
        let Self { tasks, ready, owed, grants, holds, anything } = self;
        let mut changes: Vec<_> = tasks.into_iter().map(|(id, seq)| Elsewhere::Task { id, seq }).collect();
        changes.extend(ready.into_iter().map(Elsewhere::Ready));
        let kinds = [
            (owed, Elsewhere::Owed),
            (grants, Elsewhere::Grants),
            (holds, Elsewhere::Holds),
            (anything, Elsewhere::Anything),
        ];
        changes.extend(kinds.into_iter().filter(|(is, _)| *is).map(|(_, change)| change));
        changes
    }
}

/// A notification as it is spelled.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<(String, u64)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ready: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    owed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    grants: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    holds: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    anything: bool,
}

/// Bytes of a task in a note, the most that an agent's name takes, and those of all else.
const TASK_BYTES: usize = 66;
const NAME_BYTES: usize = 68;
const OTHER_BYTES: usize = 100;

impl Note {
    fn of(gathered: Gathered) -> Vec<Self> {
        let Gathered { tasks, ready, owed, grants, holds, anything } = gathered;
        let mut notes = Vec::new();
        let mut note = Self { owed, grants, holds, anything, ..Self::default() };
        let mut is_empty = !(owed || grants || holds || anything);
        let mut bytes = OTHER_BYTES;
        let mut make_room = |note: &mut Self, more: usize| {
            bytes += more;
            if bytes > BYTES {
                notes.push(std::mem::take(note));
                bytes = OTHER_BYTES + more;
            }
        };
        for agent in ready {
            make_room(&mut note, NAME_BYTES);
            note.ready.push(agent.as_str().to_owned());
            is_empty = false;
        }
        for (id, seq) in tasks {
            make_room(&mut note, TASK_BYTES);
            note.tasks.push((id.to_string(), seq));
            is_empty = false;
        }
        if !is_empty {
            notes.push(note);
        }
        notes
    }
}

/// What another node spelled; what is not understood may be anything.
pub fn read(text: &str) -> Vec<Elsewhere> {
    let Ok(note) = serde_json::from_str::<Note>(text) else { return vec![Elsewhere::Anything] };
    let Note { tasks, ready, owed, grants, holds, anything } = note;
    let mut gathered = Gathered { owed, grants, holds, anything, ..Gathered::default() };
    for (id, seq) in tasks {
        gathered.add(TaskId::parse(&id).map_or(Elsewhere::Anything, |id| Elsewhere::Task { id, seq }));
    }
    for agent in ready {
        gathered.add(AgentName::parse(&agent).map_or(Elsewhere::Anything, Elsewhere::Ready));
    }
    gathered.changes()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_spelled_is_read_and_fits() {
        let gathering = Gathering::default();
        let task = |n: u128| TaskId::new(Uuid::from_u128(n));
        let name = |n: usize| AgentName::parse(&format!("{n:x>63}")).unwrap();
        gathering.add((0..1_000).map(|n| Elsewhere::Task { id: task(n), seq: u64::from(u32::MAX) }));
        gathering.add([Elsewhere::Task { id: task(5), seq: 3 }, Elsewhere::Owed, Elsewhere::Grants]);
        gathering.add((0..200).map(|n| Elsewhere::Ready(name(n))));
        let notes = gathering.take().spell();
        assert!(notes.len() > 3 && notes.iter().all(|note| note.len() < 8_000), "{}", notes.len());
        let mut told = Gathered::default();
        notes.iter().flat_map(|note| read(note)).for_each(|change| told.add(change));
        assert_eq!((told.tasks.len(), told.ready.len()), (1_000, 200));
        assert!(told.tasks.values().all(|seq| *seq == u64::from(u32::MAX)));
        assert!(told.owed && told.grants && !told.holds && !told.anything);
        assert!(gathering.take().spell().is_empty());
    }

    #[test]
    fn too_many_are_all() {
        let gathering = Gathering::default();
        let task = |n: u128| TaskId::new(Uuid::from_u128(n));
        gathering.add((0..100_000).map(|n| Elsewhere::Task { id: task(n), seq: 1 }));
        let taken = gathering.take();
        assert!(taken.anything && taken.tasks.len() == NAMED);
    }

    #[test]
    fn what_is_not_understood_may_be_anything() {
        for text in ["", "1", r#"{"tasks":[["no id",1]]}"#, r#"{"ready":["No Name"]}"#] {
            assert_eq!(read(text), [Elsewhere::Anything], "{text}");
        }
        assert_eq!(read(r#"{"news":1}"#), []);
    }
}
