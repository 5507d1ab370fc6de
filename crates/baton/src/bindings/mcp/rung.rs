//! For which tasks of a queue it was rung, and when it is to be rung again. It knows tasks by their ids, and no listener.

use std::collections::BTreeMap;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::time::Timestamp;

/// When it is rung again for a task that nobody claims, since the first time.
const AGAIN: [Duration; 4] =
    [Duration::from_mins(5), Duration::from_mins(20), Duration::from_hours(1), Duration::from_hours(6)];

/// Waiting tasks of one queue that are looked at: more say nothing more.
pub const SEEN: usize = 100;

/// Tasks that are remembered; of more, the oldest are forgotten.
const KEPT: usize = 10_000;

/// A task that can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready {
    pub id: TaskId,
    /// Attempts at it before: what a worker gave back waits anew.
    pub attempt: u32,
}

/// The tasks of one queue that it was rung for.
#[derive(Debug, Default)]
pub struct Rung(BTreeMap<TaskId, Times>);

#[derive(Clone, Copy, Debug)]
struct Times {
    attempt: u32,
    first: Timestamp,
    count: usize,
}

impl Times {
    /// When it is to be rung for again, if ever.
    fn next(self) -> Option<Timestamp> {
        AGAIN.get(self.count - 1).map(|after| self.first.after(*after))
    }
}

impl Rung {
    /// How many bells to ring now for the tasks that wait, and when to ring the next for one of them.
    pub fn due(&mut self, ready: Vec<Ready>, now: Timestamp) -> (usize, Option<Timestamp>) {
        // Where there may be more, one that is out of sight now may come back.
        if ready.len() < SEEN {
            let waiting: std::collections::BTreeSet<_> = ready.iter().map(|ready| ready.id).collect();
            self.0.retain(|id, _| waiting.contains(id));
        }
        let (mut bells, mut again) = (0, None);
        for Ready { id, attempt } in ready {
            let known = self.0.get(&id).copied().filter(|times| times.attempt == attempt);
            let next = match known {
                Some(times) if times.next().is_none_or(|at| at > now) => times.next(),
                known => {
                    let new = Times { attempt, first: now, count: 0 };
                    let times = known.unwrap_or(new);
                    let times = Times { count: times.count + 1, ..times };
                    self.0.insert(id, times);
                    bells += 1;
                    times.next()
                }
            };
            again = [again, next].into_iter().flatten().min();
        }
        while self.0.len() > KEPT {
            self.0.pop_first();
        }
        (bells, again)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn ready(number: u128, attempt: u32) -> Ready {
        Ready { id: TaskId::new(Uuid::from_u128(number)), attempt }
    }

    const MINUTES: u64 = 60 * 1000;

    #[test]
    fn it_is_rung_five_times_and_no_more() {
        let (mut rung, task) = (Rung::default(), [ready(1, 0)]);
        let begun = Timestamp::from_millis(1_000);
        let mut rung_at = Vec::new();
        for minute in 0..24 * 60 {
            let now = begun.after(Duration::from_millis(minute * MINUTES));
            let (bells, next) = rung.due(task.to_vec(), now);
            assert!(next.is_none_or(|next| next > now));
            rung_at.extend((bells > 0).then_some(minute));
            assert!(bells <= 1);
        }
        assert_eq!(rung_at, [0, 5, 20, 60, 360]);
    }

    #[test]
    fn what_is_claimed_is_forgotten_and_what_is_given_back_is_new() {
        let (mut rung, now) = (Rung::default(), Timestamp::from_millis(1_000));
        assert_eq!(rung.due(vec![ready(1, 0), ready(2, 0)], now).0, 2);
        assert_eq!(rung.due(vec![ready(1, 0), ready(2, 0), ready(3, 0)], now).0, 1);
        // Nobody looked while it was claimed.
        assert_eq!(rung.due(vec![ready(1, 1), ready(2, 0), ready(3, 0)], now).0, 1);
        assert_eq!(rung.due(vec![ready(3, 0)], now), (0, Some(now.after(Duration::from_mins(5)))));
        assert_eq!(rung.due(vec![ready(2, 0)], now).0, 1);
        assert_eq!(rung.due(vec![], now), (0, None));
        assert_eq!(rung.0.len(), 0);
    }

    #[test]
    fn what_comes_back_into_sight_was_rung_for() {
        let (mut rung, now) = (Rung::default(), Timestamp::from_millis(1_000));
        let all: Vec<_> = (0..300).map(|number| ready(number, 0)).collect();
        for end in SEEN..=all.len() {
            rung.due(all[end - SEEN..end].to_vec(), now);
        }
        assert_eq!(rung.due(all[..SEEN].to_vec(), now).0, 0);
        // However many there are, so many are remembered.
        for number in 0..200 {
            let some = (0..SEEN as u128).map(|at| ready(1_000 + number * 100 + at, 0));
            rung.due(some.collect(), now);
        }
        assert_eq!(rung.0.len(), KEPT);
    }
}
