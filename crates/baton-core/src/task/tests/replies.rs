//! A direct Message, or a Task: never both.

use super::fixture::*;
use crate::model::TaskState;
use crate::task::{Input, New, Policy, Refusal, State};

fn replies() -> Policy {
    Policy { replies: true, ..Policy::default() }
}

#[test]
fn a_reply_before_anything_was_shown_is_a_message() {
    let mut life = Life::with(replies(), [node()]);
    assert_eq!(life.does(&replied(1)), ["answered"]);
    assert_eq!(life.state(), &State::Answered);
    assert_eq!(life.state().shown(), TaskState::Unspecified);
    assert!(life.last().is_terminal());
    for input in [answer(), Input::CancelRequested, Input::Shown, node(), completed(1), Input::DeadlinePassed]
    {
        assert_eq!(life.refusal(&input), Refusal::Answered, "{input:?}");
    }
}

#[test]
fn a_reply_after_something_was_shown_completes_the_task() {
    for shown in [Input::Shown, progressed(1, "half"), wrote(1, "a", "x", false), asked(1)] {
        let mut life = Life::with(replies(), [node(), shown]);
        assert_eq!(life.does(&replied(1)), ["completed"]);
        assert_eq!(life.state(), &State::Completed);
        assert_eq!(life.status_text().as_deref(), Some("Hello yourself"));
    }
    let returned_immediately = New { policy: replies(), shown: true, ..new() };
    let life = Life::of(&returned_immediately).then([node(), replied(1)]);
    assert_eq!(life.state(), &State::Completed);
}

#[test]
fn a_reply_of_an_agent_that_does_not_reply_completes_the_task() {
    let life = Life::after([node(), replied(1)]);
    assert_eq!(life.state(), &State::Completed);
    assert_eq!(life.status_text().as_deref(), Some("Hello yourself"));
}

#[test]
fn a_retry_that_nobody_saw_may_still_reply() {
    let life = Life::with(replies(), [node(), used(1), failed(1, true)]).at(HOUR);
    assert_eq!(life.then([node(), replied(2)]).state(), &State::Answered);
}

#[test]
fn what_was_shown_stays_shown() {
    let life = Life::after([Input::Shown, Input::Shown]);
    assert!(life.task().shown);
    assert_eq!(life.events.len(), 1, "being shown is no event");
}
