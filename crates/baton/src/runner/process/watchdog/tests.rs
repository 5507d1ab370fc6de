//! Deadlines, silence and ladders on virtual time.

use std::time::Duration;

use baton_core::task::Reason;
use tokio::time::Instant;

use super::Watchdog;
use crate::runner::process::ending::Ending;
use crate::runner::process::ladder::{GRACE, KILL_AFTER, Rung, TERMINATE_AFTER};

const STALL: Duration = Duration::from_mins(1);

fn reason(dog: &Watchdog) -> Option<Reason> {
    match dog.ending() {
        Some(Ending::Fault { reason, .. }) => Some(*reason),
        _ => None,
    }
}

#[test]
fn silence_is_a_fault_only_while_it_counts() {
    let start = Instant::now();
    let mut dog = Watchdog::new(None, Some(STALL), start);
    assert_eq!(dog.due(start + STALL / 2), None);
    dog.listen(false, start);
    assert_eq!((dog.due(start + STALL * 9), dog.wake_at()), (None, None));
    let answered = start + STALL * 9;
    dog.listen(true, answered);
    assert_eq!(dog.wake_at(), Some(answered + STALL));
    assert_eq!(dog.due(answered + STALL), Some(Rung::Cancel));
    assert_eq!(reason(&dog), Some(Reason::Stalled));
    assert_eq!(dog.wake_at(), Some(answered + STALL + TERMINATE_AFTER));
}

#[test]
fn a_lost_task_shortens_the_ladder() {
    let start = Instant::now() + TERMINATE_AFTER;
    let mut dog = Watchdog::new(None, None, start);
    dog.end(Ending::Cancel, start);
    assert_eq!(dog.due(start), Some(Rung::Cancel));
    dog.end(Ending::Lost, start);
    assert_eq!(dog.due(start), Some(Rung::Terminate));
    assert_eq!(dog.wake_at(), Some(start + GRACE));
    dog.end(Ending::Lost, start + KILL_AFTER);
    assert_eq!(dog.due(start + KILL_AFTER), Some(Rung::Kill), "the ladder is not begun again");
}

#[test]
fn a_child_that_is_gone_has_no_ladder() {
    let start = Instant::now();
    let mut dog = Watchdog::new(None, Some(STALL), start);
    dog.child_gone(start);
    assert_eq!(dog.due(start + STALL * 2), None);
    let late = dog.wake_at().unwrap();
    dog.heard_nothing(start);
    assert!(!dog.gave_up_streams(), "it has a moment to be read");
    dog.heard_nothing(late);
    assert!(dog.gave_up_streams());
}

#[test]
fn what_a_dead_child_wrote_is_read_however_late() {
    let mut dog = Watchdog::new(None, None, Instant::now());
    dog.has_read();
    dog.child_gone(Instant::now() - STALL);
    for _ in 0..1 << 20 {
        dog.has_read();
        assert!(!dog.gave_up_streams());
    }
    dog.has_read();
    assert!(dog.gave_up_streams(), "a stranger writes");
}
