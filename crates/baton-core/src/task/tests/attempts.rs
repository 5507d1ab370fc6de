//! Claims, leases, retries and the wait between two attempts.

use std::time::Duration;

use uuid::Uuid;

use super::fixture::*;
use crate::ident::TaskId;
use crate::model::TaskState;
use crate::task::{Body, Input, LeaseLoss, New, Nudge, Outcome, Policy, Reason, Refusal, State};

/// Milliseconds until the task is due.
fn wait(life: &Life) -> i64 {
    match life.state() {
        State::Ready { not_before: Some(due), .. } => due.as_millis() - at(life.now).as_millis(),
        other => panic!("{other:?}"),
    }
}

/// The waits of a task that dies `losses` times.
fn waits(id: u128, policy: Policy, losses: u32, lose: impl Fn(u32) -> Input) -> Vec<i64> {
    let id = TaskId::new(Uuid::from_u128(id));
    let mut life = Life::of(&New { id, policy, ..new() });
    (1..=losses)
        .map(|attempt| {
            life.does(&node());
            life.does(&lose(attempt));
            let waited = wait(&life);
            life.now += waited;
            waited
        })
        .collect()
}

fn many(max_attempts: u32) -> Policy {
    Policy { max_attempts, ..Policy::default() }
}

#[test]
fn the_wait_doubles_to_fifteen_minutes_and_is_spread_by_a_quarter() {
    let seconds = [30, 60, 120, 240, 480, 900, 900];
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for id in (1..400_u128).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)) {
        for (waited, full) in waits(id, many(20), 7, |n| failed(n, true)).into_iter().zip(seconds) {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let share = waited as f64 / (full * SECOND) as f64;
            least = least.min(share);
            most = most.max(share);
        }
    }
    assert!((0.75..0.76).contains(&least), "{least}");
    assert!((1.24..=1.25).contains(&most), "{most}");
}

#[test]
fn the_same_task_waits_the_same() {
    let once = waits(7, many(9), 6, |n| failed(n, true));
    assert_eq!(once, waits(7, many(9), 6, |n| failed(n, true)));
    assert_ne!(once, waits(8, many(9), 6, |n| failed(n, true)));
}

#[test]
fn after_the_nodes_death_the_series_starts_at_a_second() {
    let died = |attempt| lapsed(attempt, LeaseLoss::NodeDied);
    for (waited, full) in waits(7, many(9), 4, died).into_iter().zip([1, 2, 4, 8]) {
        assert!((full * 750..=full * 1_250).contains(&waited), "{waited} of {full} s");
    }
    let quick = Policy { backoff_ms: 100, ..many(9) };
    assert!(waits(7, quick, 1, died)[0] <= 125, "never longer than the agent's own first wait");
}

#[test]
fn extreme_policies_do_not_overflow() {
    let waited = waits(7, Policy { backoff_ms: u64::MAX, ..many(u32::MAX) }, 40, |n| failed(n, true));
    assert!(waited.iter().all(|wait| (675..=1_125).contains(&(wait / SECOND))));
}

#[test]
fn a_retry_is_owed_and_shown_as_work_going_on() {
    let mut life = Life::after([node(), progressed(1, "half")]).at(5 * SECOND);
    assert_eq!(life.does(&failed(1, true)), ["requeued"]);
    assert_eq!(life.state().shown(), TaskState::Working);
    assert_eq!(life.status_text().as_deref(), Some("half"));
    let due = wait(&life);
    life.now += due - 1;
    assert_eq!(life.refusal(&node()), Refusal::NotYet);
    life.now += 1;
    assert_eq!(life.does(&node()), ["claimed"]);
    assert!(!life.last().is_visible(), "a client saw the first claim");
    assert_eq!((life.task().attempt, life.task().counted), (2, 2));
}

#[test]
fn the_last_attempt_that_could_be_retried_is_a_dead_letter() {
    let life = Life::with(many(1), [node(), failed(1, true)]);
    assert_eq!(life.state(), &State::Failed { reason: Reason::Failed, dead_letter: true });
    assert_eq!(life.status_text().as_deref(), Some("It failed"));
    let life = Life::with(many(1), [node(), lapsed(1, LeaseLoss::NodeDied)]);
    assert_eq!(life.state(), &State::Failed { reason: Reason::NodeDied, dead_letter: true });
    assert_eq!(life.status_text().as_deref(), Some("The node stopped while the agent was at work."));
}

#[test]
fn the_default_is_five_attempts() {
    let mut life = Life::after([]);
    for attempt in 1..=5 {
        life.now += HOUR;
        life.does(&node());
        life.does(&failed(attempt, true));
    }
    assert_eq!(life.state(), &State::Failed { reason: Reason::Failed, dead_letter: true });
}

#[test]
fn an_agent_that_is_never_retried_fails_at_once() {
    let never = || Policy { retry: false, ..Policy::default() };
    for (input, reason) in [
        (failed(1, true), Reason::Failed),
        (lapsed(1, LeaseLoss::NodeDied), Reason::NodeDied),
        (gone(1), Reason::Crashed),
    ] {
        let life = Life::with(never(), [node(), input]);
        assert_eq!(life.state(), &State::Failed { reason, dead_letter: false });
        assert!(life.status_text().is_some(), "the reason is told");
    }
}

#[test]
fn what_cannot_be_retried_fails_at_once() {
    let life = Life::after([node(), failed(1, false)]);
    assert_eq!(life.state(), &State::Failed { reason: Reason::Failed, dead_letter: false });
}

#[test]
fn a_release_is_due_at_once_and_not_counted() {
    let life = Life::after([node(), released(1)]);
    assert_eq!(life.state(), &State::Ready { not_before: None, begun: true });
    assert_eq!((life.task().attempt, life.task().counted), (1, 0));
    let Body::Requeued { outcome, counted, .. } = life.last() else { panic!("{:?}", life.last()) };
    assert_eq!((*outcome, *counted), (Outcome::Released, false));
}

#[test]
fn a_lease_lapses_when_it_is_over_and_not_before() {
    let mut life = Life::after([worker(300 * SECOND)]).at(300 * SECOND - 1);
    let expired = lapsed(1, LeaseLoss::Expired);
    assert_eq!(life.refusal(&expired), Refusal::NotYet);
    life.does(&Input::Renewed { attempt: 1, lease: Some(Duration::from_millis(300 * 1_000 + 1)) });
    life.now = 300 * SECOND;
    assert_eq!(life.refusal(&expired), Refusal::NotYet);
    life.now = 600 * SECOND;
    assert_eq!(life.does(&expired), ["requeued"]);
    let Body::Requeued { outcome, .. } = life.last() else { panic!("{:?}", life.last()) };
    assert_eq!(*outcome, Outcome::Failed(Reason::LeaseLapsed));
    assert_eq!(life.refusal(&completed(1)), Refusal::StaleAttempt, "a late write");
}

#[test]
fn a_nodes_attempt_has_no_lease_to_lapse() {
    let life = Life::after([node()]).at(99 * DAY);
    assert_eq!(life.refusal(&lapsed(1, LeaseLoss::Expired)), Refusal::NotYet);
}

#[test]
fn what_is_put_off_waits_for_its_time() {
    let life = Life::of(&New { not_before: Some(at(HOUR)), priority: 7, ..new() });
    assert_eq!(life.state().shown(), TaskState::Submitted);
    assert_eq!(life.clone().at(HOUR - 1).refusal(&node()), Refusal::NotYet);
    let life = life.at(HOUR).then([node(), released(1)]);
    assert_eq!((life.state(), life.task().priority), (&State::Ready { not_before: None, begun: true }, 7));
}

#[test]
fn the_next_holder_is_told_what_became_of_the_last() {
    let told = |end: Input| match Life::after([node(), end]).last() {
        Body::Requeued { summary, .. } => summary.as_deref().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(failed(1, true)).as_deref(), Some("It failed"));
    assert_eq!(told(released(1)), None);
    let said = |text: &str| Input::Released { attempt: 1, message: Some(agent_says(text)) };
    assert_eq!(told(said(" not mine\n")).as_deref(), Some("not mine"));
    assert_eq!(told(said(" \n")), None);
    // Cut between two characters of three bytes each.
    assert_eq!(told(said(&"\u{20ac}".repeat(1_000))), Some("\u{20ac}".repeat(682)));
    let lost = told(lapsed(1, LeaseLoss::NodeDied));
    assert_eq!(lost.as_deref(), Some("The node stopped while the agent was at work."));
}

#[test]
fn only_one_holds_a_task() {
    let life = Life::after([node()]);
    assert_eq!(life.refusal(&node()), Refusal::AlreadyClaimed);
    assert_eq!(life.then([asked(1)]).refusal(&node()), Refusal::Waiting);
}

#[test]
fn nobody_begins_after_the_deadline() {
    let life = Life::of(&New { deadline: Some(at(HOUR)), ..new() });
    assert_eq!(life.clone().at(HOUR).refusal(&node()), Refusal::NotYet);
    assert!(life.at(HOUR - 1).try_step(&node()).is_ok());
}

#[test]
fn a_deadline_ends_what_waits_and_what_runs() {
    let deadline = || Life::of(&New { deadline: Some(at(HOUR)), ..new() });
    for life in [deadline(), deadline().then([node()]), deadline().then([node(), asked(1)])] {
        assert_eq!(life.clone().at(HOUR - 1).refusal(&Input::DeadlinePassed), Refusal::NotYet);
        let life = life.at(HOUR).then([Input::DeadlinePassed]);
        assert_eq!(life.state(), &State::Failed { reason: Reason::Deadline, dead_letter: false });
        assert_eq!(life.status_text().as_deref(), Some("The task was not done by its deadline."));
    }
}

#[test]
fn runners_are_nudged_by_work() {
    let agent = new().agent;
    let life = Life::after([]);
    let claimed = life.try_step(&node()).unwrap();
    assert_eq!(claimed.nudges, []);
    let life = life.then([node()]);
    assert_eq!(life.try_step(&failed(1, true)).unwrap().nudges, [Nudge::Ready(agent)]);
    assert_eq!(life.try_step(&Input::Shown).unwrap().nudges, []);
}

#[test]
fn a_reason_has_one_spelling() {
    for reason in Reason::ALL {
        assert_eq!(Reason::parse(reason.as_str()), Some(reason));
        let stored = serde_json::to_string(&reason).unwrap();
        assert_eq!(stored, format!("{:?}", reason.as_str()));
    }
    assert_eq!(Reason::parse("Failed"), None);
}
