//! Questions, answers and messages to somebody at work.

use super::fixture::*;
use crate::model::TaskState;
use crate::task::{Input, Interruption, LeaseLoss, New, Policy, Reason, Refusal, State};

fn lease(life: &Life) -> Option<i64> {
    let until = life.state().open_attempt()?.lease_until?;
    Some(until.as_millis() - at(0).as_millis())
}

#[test]
fn a_question_shows_what_is_needed_and_waits_a_day() {
    let auth = Input::Asked { attempt: 1, kind: Interruption::Auth, message: Some(agent_says("Log in")) };
    for (question, shown) in [(asked(1), TaskState::InputRequired), (auth, TaskState::AuthRequired)] {
        let life = Life::after([node(), question]);
        assert_eq!(life.state().shown(), shown);
        assert!(life.state().is_settled() && !life.state().is_terminal());
        let State::Interrupted { until, .. } = life.state() else { panic!("{:?}", life.state()) };
        assert_eq!(*until, at(DAY));
    }
}

#[test]
fn an_answer_resumes_the_holder_that_lives() {
    let mut life = Life::after([node(), asked(1)]);
    assert_eq!(life.does(&answer()), ["resumed"]);
    assert!(matches!(life.state(), State::Running { attempt } if attempt.number == 1));
    assert_eq!(life.status_text(), None, "the question is answered");
    assert_eq!((life.task().attempt, life.task().counted), (1, 1));
    life.does(&completed(1));
}

#[test]
fn an_answer_brings_a_fresh_lease() {
    let mut life = Life::after([worker(300 * SECOND), asked(1)]).at(299 * SECOND);
    life.does(&answer());
    assert_eq!(lease(&life), Some(599 * SECOND));
    let mut life = Life::after([worker(DAY), asked(1)]);
    life.does(&answer());
    assert_eq!(lease(&life), Some(DAY), "a longer one stays");
    let life = Life::after([node(), asked(1), answer()]);
    assert_eq!(lease(&life), None);
    // A sign of life is one, whatever it is.
    for said in [progressed(1, "half"), wrote(1, "a", "x", false), asked(1)] {
        let life = Life::after([worker(300 * SECOND)]).at(200 * SECOND).then([said]);
        assert_eq!(lease(&life), Some(500 * SECOND));
    }
    // As long as the agent's own.
    let policy = Policy { lease_ms: 3_600_000, ..Policy::default() };
    let life = Life::of(&New { policy, ..new() }).then([worker(60 * SECOND), asked(1), answer()]);
    assert_eq!(lease(&life), Some(HOUR));
}

#[test]
fn a_question_outlives_the_one_who_asked() {
    for loss in [gone(1), lapsed(1, LeaseLoss::NodeDied), released(1)] {
        let mut life = Life::after([node(), asked(1)]);
        assert_eq!(life.does(&loss), ["holder_gone"]);
        assert_eq!(life.state().shown(), TaskState::InputRequired);
        assert_eq!(life.status_text().as_deref(), Some("Which branch?"));
        assert_eq!(life.refusal(&node()), Refusal::Waiting);
        assert_eq!(life.refusal(&completed(1)), Refusal::StaleAttempt);
        assert_eq!(life.does(&answer()), ["resumed"]);
        assert_eq!(life.state(), &State::Ready { not_before: None, begun: true });
        assert_eq!(life.state().shown(), TaskState::Working);
        life.does(&node());
        assert_eq!((life.task().attempt, life.task().counted), (2, 1), "not counted");
    }
}

#[test]
fn losing_the_asker_every_time_never_makes_a_dead_letter() {
    let mut life = Life::with(Policy { max_attempts: 1, ..Policy::default() }, []);
    for attempt in 1..=9 {
        life = life.then([node(), asked(attempt), gone(attempt), answer()]);
    }
    assert_eq!(life.task().counted, 0);
}

#[test]
fn a_question_that_nobody_answers_fails_the_task() {
    for life in [Life::after([node(), asked(1)]), Life::after([node(), asked(1), gone(1)])] {
        assert_eq!(life.clone().at(DAY - 1).refusal(&Input::DeadlinePassed), Refusal::NotYet);
        let life = life.at(DAY).then([Input::DeadlinePassed]);
        assert_eq!(life.state(), &State::Failed { reason: Reason::Unanswered, dead_letter: false });
        assert_eq!(life.status_text().as_deref(), Some("Nobody answered the agent's question in time."));
    }
}

#[test]
fn a_second_question_replaces_the_first() {
    let life = Life::after([node(), asked(1)]).at(HOUR);
    let question = Input::Asked { attempt: 1, kind: Interruption::Auth, message: None };
    let life = life.then([question]);
    let State::Interrupted { kind, until, .. } = life.state() else { panic!("{:?}", life.state()) };
    assert_eq!((*kind, *until), (Interruption::Auth, at(HOUR + DAY)));
}

#[test]
fn a_holder_that_goes_on_withdraws_its_question() {
    for (input, events) in [
        (progressed(1, "never mind"), &["progressed"][..]),
        (wrote(1, "a", "x", false), &["progressed", "wrote"]),
        (failed(1, true), &["progressed", "requeued"]),
        (failed(1, false), &["failed"]),
        (completed(1), &["completed"]),
    ] {
        let mut life = Life::after([node(), asked(1)]);
        assert_eq!(life.does(&input), events, "{input:?}");
        assert_ne!(life.status_text().as_deref(), Some("Which branch?"));
    }
}

#[test]
fn a_follow_up_before_the_claim_is_kept_for_it() {
    let mut life = Life::after([]);
    assert_eq!(life.does(&answer()), ["messaged"]);
    assert_eq!(life.state().shown(), TaskState::Submitted);
    assert_eq!(life.snapshot.messages.len(), 2);
}

#[test]
fn a_follow_up_at_work_needs_a_runner_that_takes_it() {
    let life = Life::after([node()]);
    assert_eq!(life.refusal(&answer()), Refusal::NotWhileWorking);
    let takes = Policy { takes_messages: true, ..Policy::default() };
    let mut life = Life::with(takes, [node(), progressed(1, "half")]);
    assert_eq!(life.does(&answer()), ["messaged"]);
    assert_eq!(life.status_text().as_deref(), Some("half"), "the status is the agent's");
}

#[test]
fn a_terminal_task_takes_no_message() {
    for (end, shown) in [
        (completed(1), TaskState::Completed),
        (failed(1, false), TaskState::Failed),
        (Input::CancelConfirmed { attempt: 1 }, TaskState::Canceled),
        (Input::Rejected { attempt: 1, message: None }, TaskState::Rejected),
    ] {
        assert_eq!(Life::after([node(), end]).refusal(&answer()), Refusal::Terminal(shown));
    }
}
