//! Who was refused, counted until it is told to the audit log.
//!
//! A refusal costs its cause nothing, so it may not cost the node a row: the same from the same place is one row with a
//! number, there are so many rows in a minute and no more, and what is beyond them is one row for all.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use baton_core::time::Timestamp;
use baton_store::{Actor, NewAudit};
use serde_json::json;

/// Kinds of refusals that are told apart until they are told.
const KINDS: usize = 256;

/// Rows of one telling: fifteen thousand in a day at the worst.
const ROWS: usize = 10;

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
    const fn add(&mut self, now: Timestamp) {
        self.times += 1;
        self.last = now;
    }
}

/// Refusals since they were told last.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    kinds: HashMap<Refusal, Count>,
    /// Those past [`KINDS`].
    others: Option<Count>,
}

impl Refusals {
    pub fn note(&self, refusal: Refusal, now: Timestamp) {
        let once = Count { times: 1, first: now, last: now };
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = pending.kinds.get_mut(&refusal) {
            count.add(now);
        } else if pending.kinds.len() < KINDS {
            pending.kinds.insert(refusal, once);
        } else {
            pending.others.get_or_insert(Count { times: 0, ..once }).add(now);
        }
    }

    /// What is to be told, and forgotten here: the most frequent by themselves, the rest together.
    pub fn take(&self) -> Vec<NewAudit> {
        let Pending { kinds, others } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| (std::cmp::Reverse(count.times), count.first));
        let rest = kinds.split_off(kinds.len().min(ROWS));
        let rest = rest.into_iter().map(|(_, count)| count).chain(others);
        let rest = rest.reduce(|a, b| Count {
            times: a.times + b.times,
            first: a.first.min(b.first),
            last: a.last.max(b.last),
        });
        let mut rows: Vec<_> = kinds.into_iter().map(|(refusal, count)| row(refusal, count)).collect();
        rows.extend(rest.map(|count| {
            let many = "many".to_owned();
            let (action, reason) = ("access.others", "more than are told by themselves");
            row(Refusal { who: many.clone(), origin: many, action, target: String::new(), reason }, count)
        }));
        rows.sort_by_key(|row| row.at);
        rows
    }
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
            who: "anonymous".into(),
            origin: origin.into(),
            action: "access.authenticate",
            target: String::new(),
            reason: "no valid credentials",
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_same_is_one_row_with_a_number() {
        let refusals = Refusals::default();
        for n in 0..1_000 {
            refusals.note(refusal("192.0.2.1"), at(n));
        }
        refusals.note(refusal("192.0.2.2"), at(500));
        let rows = refusals.take();
        let short: Vec<_> = rows.iter().map(|row| (&*row.by.origin, row.at.as_millis())).collect();
        assert_eq!(short, [("192.0.2.2", 500), ("192.0.2.1", 999)]);
        assert!(rows[1].detail.contains("\"times\":1000"), "{}", rows[1].detail);
        assert!(rows.iter().all(|row| !row.allowed));
        assert!(refusals.take().is_empty());
    }

    #[test]
    fn however_many_come_the_rows_are_few_and_nothing_is_lost() {
        let refusals = Refusals::default();
        for n in 0..100_000 {
            refusals.note(refusal(&format!("192.0.2.{}", n % 5_000)), at(n));
        }
        assert_eq!(refusals.0.lock().unwrap().kinds.len(), KINDS);
        let rows = refusals.take();
        assert_eq!(rows.len(), ROWS + 1);
        let times = rows.iter().map(|row| {
            let detail: serde_json::Value = serde_json::from_str(&row.detail).unwrap();
            detail["times"].as_u64().unwrap()
        });
        assert_eq!(times.sum::<u64>(), 100_000);
    }
}
