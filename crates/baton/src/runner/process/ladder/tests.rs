//! The rungs on virtual time.

use std::time::Duration;

use tokio::time::Instant;

use super::{GRACE, KILL_AFTER, Ladder, Rung, TERMINATE_AFTER};

#[test]
fn rungs_come_in_order_and_on_time() {
    let start = Instant::now();
    let mut ladder = Ladder::start(start);
    assert_eq!(ladder.wake_at(), Some(start));
    assert_eq!(ladder.due(start), Some(Rung::Cancel));
    assert_eq!(ladder.due(start), None);
    assert_eq!(ladder.wake_at(), Some(start + TERMINATE_AFTER));
    assert_eq!(ladder.due(start + TERMINATE_AFTER - Duration::from_nanos(1)), None);
    assert_eq!(ladder.due(start + TERMINATE_AFTER), Some(Rung::Terminate));
    assert_eq!(ladder.wake_at(), Some(start + KILL_AFTER));
    assert_eq!(ladder.due(start + KILL_AFTER), Some(Rung::Kill));
    assert_eq!(ladder.wake_at(), None);
    assert_eq!(ladder.due(start + KILL_AFTER * 2), None);
}

#[test]
fn a_late_walker_takes_every_rung() {
    let start = Instant::now();
    let mut ladder = Ladder::start(start);
    let late = start + KILL_AFTER;
    let taken: Vec<_> = std::iter::from_fn(|| ladder.due(late)).collect();
    assert_eq!(taken, [Rung::Cancel, Rung::Terminate, Rung::Kill]);
}

#[test]
fn a_short_ladder_keeps_the_grace_of_sigterm() {
    let start = Instant::now() + TERMINATE_AFTER;
    let mut ladder = Ladder::start_at_terminate(start);
    assert_eq!(ladder.due(start), Some(Rung::Terminate));
    assert_eq!(ladder.wake_at(), Some(start + GRACE));
}
