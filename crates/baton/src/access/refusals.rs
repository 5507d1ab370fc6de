//! Who was refused, counted until it is told to the audit log.
//!
//! A refusal costs its cause nothing, so it may not cost the node a row: the same from the same place is one row with a
//! number, there are so many rows in a minute and no more, and what is beyond them is one row for all.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_core::time::Timestamp;
use baton_store::{Actor, NewAudit};
use serde_json::json;

/// Kinds of refusals that are told apart until they are told.
const KINDS: usize = 256;

/// Rows of one telling: fifteen thousand in a day at the worst.
const ROWS: usize = 10;

/// Who is nobody yet.
pub const ANONYMOUS: &str = "anonymous";

/// Somebody who was refused something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    pub who: String,
    pub origin: String,
    /// Such as `access.authenticate`.
    pub action: &'static str,
    pub target: String,
    pub reason: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    times: u64,
    first: Timestamp,
    last: Timestamp,
}

impl Count {
    fn with(self, other: Self) -> Self {
        Self {
            times: self.times.saturating_add(other.times),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// Refusals since they were told last.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Refused>);

/// Refusals of some time.
#[derive(Debug, Default)]
pub struct Refused {
    kinds: HashMap<Refusal, Count>,
    /// Those past [`KINDS`], of strangers first.
    others: Option<Count>,
}

impl Refusals {
    pub fn note(&self, refusal: Refusal, now: Timestamp) {
        self.pending().add(refusal, Count { times: 1, first: now, last: now });
    }

    /// What is to be told, and forgotten here.
    pub fn take(&self) -> Refused {
        std::mem::take(&mut *self.pending())
    }

    /// What could not be told, to be told with what comes.
    pub fn put_back(&self, Refused { kinds, others }: Refused) {
        let mut pending = self.pending();
        for (refusal, count) in kinds {
            pending.add(refusal, count);
        }
        pending.others = sum(pending.others.into_iter().chain(others));
    }

    fn pending(&self) -> MutexGuard<'_, Refused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refused {
    fn add(&mut self, refusal: Refusal, count: Count) {
        if let Some(known) = self.kinds.get_mut(&refusal) {
            *known = known.with(count);
            return;
        }
        if self.kinds.len() >= KINDS && refusal.who != ANONYMOUS {
            self.merge_a_stranger();
        }
        if self.kinds.len() < KINDS {
            self.kinds.insert(refusal, count);
        } else {
            self.add_to_others(count);
        }
    }

    /// Makes room for a holder, whom a crowd of strangers may not hide.
    fn merge_a_stranger(&mut self) {
        let stranger = self.kinds.keys().find(|refusal| refusal.who == ANONYMOUS).cloned();
        if let Some(count) = stranger.and_then(|refusal| self.kinds.remove(&refusal)) {
            self.add_to_others(count);
        }
    }

    fn add_to_others(&mut self, count: Count) {
        self.others = sum(self.others.into_iter().chain([count]));
    }

    /// As rows of the audit log: those of a grant first, then the most frequent, each by itself, and the rest together. A
    /// crowd of strangers hides no holder.
    pub fn rows(&self) -> Vec<NewAudit> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(refusal, count)| (refusal.who == ANONYMOUS, Reverse(count.times), count.first));
        let rest = kinds.split_off(kinds.len().min(ROWS));
        let rest = sum(rest.into_iter().map(|(_, count)| *count).chain(self.others));
        let mut rows: Vec<_> =
            kinds.into_iter().map(|(refusal, count)| row(refusal.clone(), *count)).collect();
        rows.extend(rest.map(|count| {
            let many = "many".to_owned();
            let (action, reason) = ("access.others", "more than are told by themselves");
            row(Refusal { who: many.clone(), origin: many, action, target: String::new(), reason }, count)
        }));
        rows.sort_by_key(|row| row.at);
        rows
    }
}

fn sum(counts: impl Iterator<Item = Count>) -> Option<Count> {
    counts.reduce(Count::with)
}

fn row(refusal: Refusal, count: Count) -> NewAudit {
    let Refusal { who, origin, action, target, reason } = refusal;
    let detail = json!({"reason": reason, "times": count.times, "since": count.first});
    NewAudit {
        at: count.last,
        by: Actor::new(who, origin),
        action: action.to_owned(),
        target,
        allowed: false,
        detail: detail.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(origin: &str) -> Refusal {
        Refusal {
            who: ANONYMOUS.into(),
            origin: origin.into(),
            action: "access.authenticate",
            target: String::new(),
            reason: "no valid credentials",
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn times(row: &NewAudit) -> u64 {
        let detail: serde_json::Value = serde_json::from_str(&row.detail).unwrap();
        detail["times"].as_u64().unwrap()
    }

    #[test]
    fn the_same_is_one_row_with_a_number() {
        let refusals = Refusals::default();
        for n in 0..1_000 {
            refusals.note(refusal("192.0.2.1"), at(n));
        }
        refusals.note(refusal("192.0.2.2"), at(500));
        let rows = refusals.take().rows();
        let short: Vec<_> = rows.iter().map(|row| (&*row.by.origin, row.at.as_millis())).collect();
        assert_eq!(short, [("192.0.2.2", 500), ("192.0.2.1", 999)]);
        assert!(rows[1].detail.contains("\"times\":1000"), "{}", rows[1].detail);
        assert!(rows.iter().all(|row| !row.allowed));
        assert_eq!(refusals.take().rows(), []);
    }

    #[test]
    fn however_many_come_the_rows_are_few_and_nothing_is_lost() {
        let refusals = Refusals::default();
        for n in 0..100_000 {
            refusals.note(refusal(&format!("192.0.2.{}", n % 5_000)), at(n));
        }
        assert_eq!(refusals.0.lock().unwrap().kinds.len(), KINDS);
        let rows = refusals.take().rows();
        assert_eq!(rows.len(), ROWS + 1);
        assert_eq!(rows.iter().map(times).sum::<u64>(), 100_000);
    }

    #[test]
    fn a_crowd_of_strangers_hides_no_holder() {
        let refusals = Refusals::default();
        refusals.note(Refusal { who: "g1".into(), ..refusal("192.0.2.200") }, at(0));
        for n in 0..1_000 {
            refusals.note(refusal(&format!("192.0.2.{}", n % 100)), at(n));
        }
        assert!(refusals.take().rows().iter().any(|row| row.by.name == "g1"));

        // Also where it comes when all places are taken.
        for n in 0..1_000 {
            refusals.note(refusal(&format!("198.51.{}.{}", n / 250, n % 250)), at(n));
        }
        refusals.note(Refusal { who: "g2".into(), ..refusal("192.0.2.200") }, at(1_000));
        let refused = refusals.take();
        assert_eq!(refused.kinds.len(), KINDS);
        let rows = refused.rows();
        assert!(rows.iter().any(|row| row.by.name == "g2"));
        assert_eq!(rows.iter().map(times).sum::<u64>(), 1_001, "nothing is lost");
    }

    #[test]
    fn what_could_not_be_told_is_told_with_what_comes() {
        let refusals = Refusals::default();
        refusals.note(refusal("192.0.2.1"), at(1));
        let refused = refusals.take();
        refusals.note(refusal("192.0.2.1"), at(2));
        refusals.put_back(refused);
        let rows = refusals.take().rows();
        assert_eq!(rows.len(), 1);
        assert!(rows[0].detail.contains("\"times\":2"), "{}", rows[0].detail);
        assert_eq!(rows[0].at, at(2));
    }
}
