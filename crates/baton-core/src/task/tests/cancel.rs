//! The end that somebody asked for, in every phase.

use super::fixture::*;
use crate::task::{Body, Input, LeaseLoss, New, Policy, Refusal, State};

#[test]
fn a_task_that_nobody_holds_is_canceled_at_once() {
    for life in
        [Life::after([]), Life::after([node(), failed(1, true)]), Life::after([node(), asked(1), gone(1)])]
    {
        assert_eq!(life.then([Input::CancelRequested]).state(), &State::Canceled);
    }
}

#[test]
fn a_worker_is_fenced_at_once() {
    for inputs in [vec![worker(HOUR)], vec![worker(HOUR), asked(1)]] {
        let mut life = Life::after(inputs);
        assert_eq!(life.does(&Input::CancelRequested), ["canceled"]);
        assert!(matches!(life.refusal(&wrote(1, "a", "late", false)), Refusal::Terminal(_)));
        assert!(matches!(life.refusal(&completed(1)), Refusal::Terminal(_)));
    }
}

#[test]
fn a_node_is_told_and_waited_for() {
    for inputs in [vec![node()], vec![node(), asked(1)]] {
        let mut life = Life::after(inputs);
        let before = life.state().clone();
        assert_eq!(life.does(&Input::CancelRequested), ["cancel_requested"]);
        assert_eq!(life.state(), &before);
        assert_eq!(life.does(&Input::CancelRequested), [""; 0], "asked for already");
        assert_eq!(life.does(&Input::CancelConfirmed { attempt: 1 }), ["canceled"]);
    }
}

#[test]
fn after_the_request_nothing_more_is_said() {
    let life = Life::after([node(), wrote(1, "a", "x", false), Input::CancelRequested]);
    for input in [progressed(1, "half"), wrote(1, "a", "y", true), asked(1), answer()] {
        assert_eq!(life.refusal(&input), Refusal::CancelRequested, "{input:?}");
    }
}

#[test]
fn after_the_request_a_cost_and_a_reply_are_still_heard() {
    let life = Life::after([node(), Input::CancelRequested]).then([used(1), replied(1)]);
    assert_eq!(life.state(), &State::Completed, "who asked for the end was shown a task");
}

#[test]
fn after_the_request_every_failure_is_a_cancellation() {
    for asking in [false, true] {
        for end in [failed(1, true), failed(1, false), released(1), lapsed(1, LeaseLoss::NodeDied), gone(1)] {
            let life = if asking { Life::after([node(), asked(1)]) } else { Life::after([node()]) };
            let life = life.then([Input::CancelRequested, end.clone()]);
            assert_eq!(life.state(), &State::Canceled, "{end:?}");
        }
    }
}

#[test]
fn a_deadline_does_not_overtake_the_end_of_the_child() {
    let life = Life::of(&New { deadline: Some(at(HOUR)), ..new() });
    let life = life.then([node(), Input::CancelRequested]);
    let over = HOUR + 30 * SECOND;
    assert_eq!(life.clone().at(over - 1).refusal(&Input::DeadlinePassed), Refusal::NotYet);
    let life = life.at(over).then([Input::DeadlinePassed]);
    assert_eq!(life.state(), &State::Canceled, "a node that never says so");
}

#[test]
fn a_completion_that_was_faster_counts() {
    let life = Life::after([node(), Input::CancelRequested, completed(1)]);
    assert_eq!(life.state(), &State::Completed);
    assert!(matches!(life.refusal(&Input::CancelRequested), Refusal::Terminal(_)));
}

#[test]
fn a_revoked_grant_cancels_and_says_why() {
    let text = Some("The grant that this task came in by was revoked.".to_owned());
    for life in [Life::after([]), Life::after([worker(HOUR)]), Life::after([node(), asked(1), gone(1)])] {
        let life = life.then([Input::GrantRevoked]);
        assert_eq!((life.state(), life.status_text()), (&State::Canceled, text.clone()));
    }
    let mut life = Life::after([node()]);
    assert_eq!(life.does(&Input::GrantRevoked), ["cancel_requested"]);
}

#[test]
fn a_revoked_grant_leaves_what_is_over_alone() {
    let replies = Policy { replies: true, ..Policy::default() };
    for mut life in [Life::after([node(), completed(1)]), Life::with(replies, [node(), replied(1)])] {
        assert_eq!(life.does(&Input::GrantRevoked), [""; 0]);
    }
}

#[test]
fn the_nodes_own_words_have_an_id_of_their_own() {
    let life = Life::after([Input::GrantRevoked]);
    let Body::Canceled { message: Some(message) } = life.last() else { panic!("{:?}", life.last()) };
    assert_eq!(message.message_id, format!("{}-2", life.task().id));
    assert_eq!(message.task_id, Some(life.task().id.to_string()));
    assert_eq!(message.check(), Ok(()));
}
