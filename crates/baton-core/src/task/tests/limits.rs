//! The end of the log, and clocks that are set back.

use super::fixture::*;
use crate::limits::{RESERVED_EVENTS, TASK_EVENTS};
use crate::task::{Input, Policy, Reason, Refusal, State};

/// A held task with `room` events before the reserve.
fn nearly_full(room: u64, policy: Policy) -> Life {
    let mut life = Life::with(policy, [node()]);
    life.snapshot.task.seq = TASK_EVENTS - RESERVED_EVENTS - room;
    life
}

#[test]
fn writes_stop_before_the_reserve() {
    let life = nearly_full(1, Policy::default());
    assert!(life.try_step(&progressed(1, "x")).is_ok());
    let takes = Policy { takes_messages: true, ..Policy::default() };
    let life = nearly_full(0, takes);
    for input in [progressed(1, "x"), wrote(1, "a", "x", false), asked(1), used(1), answer()] {
        assert_eq!(life.refusal(&input), Refusal::TooManyEvents, "{input:?}");
    }
    for input in [completed(1), failed(1, false), Input::Rejected { attempt: 1, message: None }] {
        assert!(life.try_step(&input).is_ok(), "{input:?}");
    }
}

#[test]
fn no_retry_begins_in_the_reserve() {
    for (end, reason) in [(failed(1, true), Reason::Failed), (released(1), Reason::LoopDetected)] {
        let life = nearly_full(0, Policy::default()).then([end]);
        assert_eq!(life.state(), &State::Failed { reason, dead_letter: true });
    }
}

#[test]
fn a_task_taken_and_given_back_without_end_ends() {
    let mut life = Life::after([]);
    while !life.state().is_terminal() {
        life.does(&node());
        let attempt = life.task().attempt;
        life.does(&released(attempt));
    }
    assert_eq!(life.state(), &State::Failed { reason: Reason::LoopDetected, dead_letter: true });
    assert!(life.task().seq < TASK_EVENTS);
    assert_eq!(life.status_text().as_deref(), Some("The task was taken and given back too often."));
}

#[test]
fn the_last_number_is_the_limit() {
    let mut life = Life::after([node()]);
    life.snapshot.task.seq = TASK_EVENTS - 1;
    assert_eq!(life.try_step(&completed(1)).unwrap().task.seq, TASK_EVENTS);
    life.snapshot.task.seq = TASK_EVENTS;
    assert_eq!(life.refusal(&completed(1)), Refusal::TooManyEvents);
}

#[test]
fn a_clock_that_is_set_back_puts_nothing_out_of_order() {
    let mut life = Life::after([]).at(HOUR).then([node(), progressed(1, "half")]);
    life.now = 0;
    life.does(&completed(1));
    assert_eq!(life.task().status.at, at(HOUR));
    assert_eq!(life.events.last().unwrap().at, at(HOUR));
}
