//! What each target can bear: how many turns at the same time, and whether it is left alone for now.

use std::collections::HashMap;
use std::time::Duration;

use baton_core::time::Timestamp;

/// Turns at the same time, of all targets.
const TURNS: usize = 256;

/// Of those, turns at targets that never took anything: however many of them hang, the others go on.
const UNPROVEN: usize = 128;

/// Turns at the same time at one target: at first, and at most.
const WINDOW: usize = 4;
const WINDOW_MOST: usize = 32;

/// Failures one after the other, without any success between, after which a target is left alone.
const FAILURES: u32 = 5;

/// For how long: at first, and at most.
const CLOSED: Duration = Duration::from_secs(30);
const CLOSED_MOST: Duration = Duration::from_mins(5);

/// Targets that are remembered.
const KNOWN: usize = 4_096;

#[derive(Debug, Default)]
pub struct Targets {
    known: HashMap<String, Target>,
    running: usize,
    unproven: usize,
}

#[derive(Debug)]
struct Target {
    running: usize,
    window: usize,
    /// One after the other.
    failures: u32,
    closed_until: Option<Timestamp>,
    proven: bool,
    /// More is due than the window lets through.
    waiting: bool,
}

impl Default for Target {
    fn default() -> Self {
        Self { running: 0, window: WINDOW, failures: 0, closed_until: None, proven: false, waiting: false }
    }
}

/// What may begin at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many more beside those that run.
    Free { free: usize, running: usize },
    /// When one of its turns ends.
    Full,
    /// When any turn ends.
    NodeFull,
    /// It failed too often.
    Closed { until: Timestamp },
}

/// How a turn went, as far as the target is to be judged by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answered; whatever it said, it is there.
    Alive,
    /// Nothing, or that it cannot.
    Troubled,
    /// Nothing was asked.
    Unknown,
}

impl Targets {
    pub fn room(&self, target: &str, now: Timestamp) -> Room {
        let fresh = Target::default();
        let known = self.known.get(target).unwrap_or(&fresh);
        if let Some(until) = known.closed_until.filter(|until| *until > now) {
            return Room::Closed { until };
        }
        let of_node = if known.proven { TURNS - self.running } else { self.unproven_room() };
        match (known.window.saturating_sub(known.running), of_node) {
            (0, _) => Room::Full,
            (_, 0) => Room::NodeFull,
            (of_target, of_node) => Room::Free { free: of_target.min(of_node), running: known.running },
        }
    }

    fn unproven_room(&self) -> usize {
        (UNPROVEN - self.unproven).min(TURNS - self.running)
    }

    /// Takes a place for one turn, if there is one.
    pub fn begin(&mut self, target: &str, now: Timestamp) -> bool {
        let Room::Free { .. } = self.room(target, now) else { return false };
        if self.known.len() >= KNOWN {
            let is_closed = |known: &Target| known.closed_until.is_some_and(|until| until > now);
            self.known.retain(|_, known| known.running > 0 || is_closed(known));
        }
        let known = self.known.entry(target.to_owned()).or_default();
        known.running += 1;
        self.running += 1;
        self.unproven += usize::from(!known.proven);
        true
    }

    /// More is due than could begin.
    pub fn set_waiting(&mut self, target: &str, waiting: bool) {
        if let Some(known) = self.known.get_mut(target) {
            known.waiting = waiting;
        }
    }

    /// A try came back.
    pub fn judge(&mut self, target: &str, verdict: Verdict, now: Timestamp) {
        let Some(known) = self.known.get_mut(target) else { return };
        match verdict {
            Verdict::Alive => {
                if !known.proven {
                    self.unproven -= known.running;
                }
                (known.proven, known.failures, known.closed_until) = (true, 0, None);
                known.window = (known.window + 1).min(WINDOW_MOST);
            }
            Verdict::Troubled => {
                known.failures = known.failures.saturating_add(1);
                known.window = (known.window / 2).max(1);
                if known.failures >= FAILURES {
                    let doublings = (known.failures - FAILURES).min(16);
                    let wait = CLOSED.saturating_mul(1 << doublings).min(CLOSED_MOST);
                    known.closed_until = Some(now.after(wait));
                    if known.proven {
                        known.proven = false;
                        self.unproven += known.running;
                    }
                }
            }
            Verdict::Unknown => {}
        }
    }

    /// Gives a place back. Answers whether somebody waits for one.
    pub fn end(&mut self, target: &str) -> bool {
        let was_full = self.running >= TURNS || self.unproven >= UNPROVEN;
        let Some(known) = self.known.get_mut(target) else { return was_full };
        known.running -= 1;
        self.running -= 1;
        self.unproven -= usize::from(!known.proven);
        was_full || known.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn fill(targets: &mut Targets, target: &str) -> usize {
        (0..1_000).take_while(|_| targets.begin(target, at(0))).count()
    }

    #[test]
    fn a_window_opens_with_success_and_closes_with_failure() {
        let mut targets = Targets::default();
        assert_eq!(fill(&mut targets, "a"), WINDOW);
        assert_eq!(targets.room("a", at(0)), Room::Full);
        for _ in 0..100 {
            targets.judge("a", Verdict::Alive, at(0));
        }
        assert_eq!(WINDOW + fill(&mut targets, "a"), WINDOW_MOST);
        for n in 0..4 {
            targets.judge("a", Verdict::Troubled, at(0));
            assert_eq!(targets.room("a", at(0)), Room::Full, "{n}");
        }
        for _ in 0..WINDOW_MOST {
            targets.end("a");
        }
        assert_eq!(targets.room("a", at(0)), Room::Free { free: 2, running: 0 });
        assert_eq!((targets.running, targets.unproven), (0, 0));
    }

    #[test]
    fn a_dead_target_is_left_alone_longer_each_time_and_tried_by_one() {
        let mut targets = Targets::default();
        targets.begin("a", at(0));
        for _ in 0..FAILURES {
            targets.judge("a", Verdict::Troubled, at(0));
        }
        assert_eq!(targets.room("a", at(29)), Room::Closed { until: at(30) });
        targets.end("a");
        assert_eq!(targets.room("a", at(30)), Room::Free { free: 1, running: 0 });
        for (failed_at, opens) in [(30, 90), (90, 210), (210, 450), (450, 750), (750, 1050)] {
            assert!(targets.begin("a", at(failed_at)));
            targets.judge("a", Verdict::Troubled, at(failed_at));
            targets.end("a");
            assert_eq!(targets.room("a", at(failed_at)), Room::Closed { until: at(opens) });
        }
        assert!(targets.begin("a", at(1050)));
        targets.judge("a", Verdict::Alive, at(1050));
        targets.end("a");
        assert_eq!(targets.room("a", at(1050)), Room::Free { free: 2, running: 0 });
    }

    #[test]
    fn however_many_hang_the_proven_go_on() {
        let mut targets = Targets::default();
        targets.begin("good", at(0));
        targets.judge("good", Verdict::Alive, at(0));
        targets.end("good");
        let mut hanging = 0;
        for n in 0..1_000 {
            hanging += fill(&mut targets, &format!("bad{n}"));
        }
        assert_eq!(hanging, UNPROVEN);
        assert_eq!(targets.room("new", at(0)), Room::NodeFull);
        assert_eq!(fill(&mut targets, "good"), WINDOW + 1);
        assert!(targets.end("bad0"), "whoever waits is told");
    }
}
