//! What holds for every sequence of inputs: nonsense, stale attempts and clocks that are set back included.

use std::time::Duration;

use proptest::prelude::*;

use super::fixture::*;
use crate::limits::{ARTIFACT_BYTES, TASK_EVENTS};
use crate::model::TaskState;
use crate::task::evolve::blank;
use crate::task::{
    Body, Event, Input, Interruption, LeaseLoss, New, Policy, Reason, Snapshot, State, Task, create, replay,
    step,
};
use crate::time::Timestamp;

/// One input to come: which, from whom (0 is the newest attempt), and how long after the one before.
#[derive(Clone, Copy, Debug)]
struct Op {
    kind: u8,
    stale_by: i32,
    millis: i64,
}

fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    // Claims are drawn more often than the rest, so that most sequences get somewhere.
    let kind = prop_oneof![2 => Just(0_u8), 5 => 0_u8..30];
    let stale_by = prop_oneof![6 => Just(0), 1 => -2_i32..=2];
    let millis = prop_oneof![6 => 0_i64..5_000, 2 => 0_i64..2 * HOUR, 1 => 0..2 * DAY, 1 => -2 * DAY..0];
    let op = (kind, stale_by, millis).prop_map(|(kind, stale_by, millis)| Op { kind, stale_by, millis });
    prop::collection::vec(op, 1..most)
}

fn news() -> impl Strategy<Value = New> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (flags, 1_u32..5, 0_u64..100_000, prop::option::of(0..3 * DAY), prop::option::of(0..DAY)).prop_map(
        |((retry, replies, takes_messages, shown), max_attempts, backoff_ms, deadline, not_before)| {
            let policy =
                Policy { retry, max_attempts, backoff_ms, replies, takes_messages, ..Policy::default() };
            New { policy, deadline: deadline.map(at), not_before: not_before.map(at), shown, ..new() }
        },
    )
}

/// The attempt that an input names, where it names one.
const fn named_attempt(input: &Input) -> Option<u32> {
    match input {
        Input::Renewed { attempt, .. }
        | Input::Progressed { attempt, .. }
        | Input::Wrote { attempt, .. }
        | Input::Used { attempt, .. }
        | Input::Replied { attempt, .. }
        | Input::Asked { attempt, .. }
        | Input::Completed { attempt, .. }
        | Input::Failed { attempt, .. }
        | Input::Released { attempt, .. }
        | Input::Rejected { attempt, .. }
        | Input::CancelConfirmed { attempt }
        | Input::LeaseLapsed { attempt, .. }
        | Input::HolderGone { attempt, .. } => Some(*attempt),
        Input::Claimed { .. }
        | Input::Messaged { .. }
        | Input::CancelRequested
        | Input::DeadlinePassed
        | Input::GrantRevoked
        | Input::Shown => None,
    }
}

fn input(op: Op, task: &Task) -> Input {
    let attempt = task.attempt.saturating_add_signed(op.stale_by);
    let crash = |retryable| Input::Failed { attempt, reason: Reason::Crashed, message: None, retryable };
    let ask = |kind, message| Input::Asked { attempt, kind, message };
    match op.kind {
        0 => node(),
        1 | 2 => worker(60 * SECOND),
        3 => Input::Renewed { attempt, lease: Some(Duration::from_secs(90)) },
        4 | 5 => progressed(attempt, "on it"),
        6 => wrote(attempt, "a", "Hello", false),
        7 => wrote(attempt, "a", " world", true),
        8 => wrote(attempt, "b", "B", op.millis % 2 == 0),
        9 => used(attempt),
        10 => replied(attempt),
        11 | 12 => ask(Interruption::Input, Some(agent_says("Which?"))),
        13 => ask(Interruption::Auth, None),
        14..=16 => answer(),
        17 => completed(attempt),
        18 | 19 => crash(true),
        20 => crash(false),
        21 => Input::Released { attempt, message: None },
        22 => Input::Rejected { attempt, message: None },
        23 => Input::CancelRequested,
        24 => Input::CancelConfirmed { attempt },
        25 => lapsed(attempt, if op.millis % 2 == 0 { LeaseLoss::NodeDied } else { LeaseLoss::Expired }),
        26 => gone(attempt),
        27 => Input::DeadlinePassed,
        28 => Input::GrantRevoked,
        _ => Input::Shown,
    }
}

/// Without what changes by no event.
fn logged(task: &Task) -> Task {
    let mut task = task.clone();
    task.shown = true;
    if let State::Running { attempt } | State::Interrupted { attempt: Some(attempt), .. } = &mut task.state {
        attempt.lease_until = None;
    }
    task
}

/// What must be true of one step, whatever it was.
fn check_step(before: &Task, input: &Input, after: &Task, events: &[Event]) {
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let dense: Vec<u64> = (before.seq + 1..=after.seq).collect();
    assert_eq!(numbers, dense);
    assert!(after.seq <= TASK_EVENTS);
    assert!(after.status.at >= before.status.at);
    assert!(events.iter().all(|event| event.at >= before.status.at));
    assert!(after.counted <= after.policy.max_attempts, "{} tries", after.counted);
    assert!(after.artifacts.iter().map(|head| head.bytes).sum::<u64>() <= ARTIFACT_BYTES);
    if let Some(attempt) = named_attempt(input) {
        assert_eq!(before.state.open_attempt().map(|open| open.number), Some(attempt), "{input:?}");
    }
    if before.state.is_terminal() {
        assert!(events.is_empty(), "{input:?}");
        assert_eq!(logged(before), logged(after));
    }
    if after.cancel_requested {
        let held_by_node = after.state.open_attempt().is_some();
        assert!(held_by_node || after.state.is_terminal(), "a request without anybody to answer it");
    }
}

/// What must be true of a whole log.
fn check_log(new: &New, task: &Task, events: &[Event], incremental: &Snapshot) {
    assert_eq!(logged(&replay(new, events).unwrap()), logged(task));
    let mut whole = Snapshot::new(blank(new, events[0].at));
    for event in events {
        whole.evolve(event);
    }
    assert_eq!(logged(&whole.task), logged(&incremental.task));
    assert_eq!((&whole.messages, &whole.artifacts), (&incremental.messages, &incremental.artifacts));
    let heads: Vec<_> = task.artifacts.iter().map(|head| head.id.to_string()).collect();
    let ids: Vec<_> = whole.artifacts.iter().map(|artifact| artifact.artifact_id.clone()).collect();
    assert_eq!(heads, ids);
    assert!(events.iter().rev().skip(1).all(|event| !event.body.is_terminal()), "something after the end");
    assert_eq!(events.last().unwrap().body.is_terminal(), task.state.is_terminal());
    check_attempts(events);
    check_status(task, events);
}

/// Never two open at a time, and the numbers count up from 1.
fn check_attempts(events: &[Event]) {
    let (mut open, mut number) = (false, 0);
    for event in events {
        match &event.body {
            Body::Claimed { attempt } => {
                assert!(!open, "a second attempt was opened");
                assert_eq!(attempt.number, number + 1);
                (open, number) = (true, attempt.number);
            }
            Body::Requeued { .. } | Body::HolderGone => {
                assert!(open);
                open = false;
            }
            body if body.is_terminal() => open = false,
            _ => {}
        }
    }
}

/// Who knows only the events that streams carry knows the status.
fn check_status(task: &Task, events: &[Event]) {
    if task.state == State::Answered {
        return;
    }
    let (mut state, mut message, mut since) = (TaskState::Unspecified, None, Timestamp::default());
    for event in events {
        assert!(event.body.status().is_none() || event.body.is_visible(), "{:?}", event.body);
        if let Some(shown) = event.body.status() {
            (state, message, since) = (shown, event.body.status_message().cloned(), event.at);
        }
    }
    let status = &task.status;
    assert_eq!((state, message.as_ref(), since), (task.state.shown(), status.message.as_ref(), status.at));
}

/// Whatever happened, the owner can end it.
fn check_can_be_ended(task: &Task, now: i64) {
    if task.state.is_terminal() {
        return;
    }
    let asked = step(task, &Input::CancelRequested, at(now)).expect("a cancellation is always taken").task;
    let confirmed = Input::CancelConfirmed { attempt: asked.attempt };
    let ended =
        if asked.state.is_terminal() { asked } else { step(&asked, &confirmed, at(now)).unwrap().task };
    assert_eq!(ended.state, State::Canceled);
}

/// Lives the operations through from `snapshot` and gives the events.
fn live(snapshot: &mut Snapshot, ops: &[Op]) -> Vec<Event> {
    let (mut now, mut events) = (0, Vec::new());
    for op in ops {
        now += op.millis;
        let input = input(*op, &snapshot.task);
        let Ok(done) = step(&snapshot.task, &input, at(now)) else { continue };
        check_step(&snapshot.task, &input, &done.task, &done.events);
        snapshot.task = done.task;
        done.events.iter().for_each(|event| snapshot.fill(event));
        events.extend(done.events);
        check_can_be_ended(&snapshot.task, now);
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_life_follows_its_rules(new in news(), ops in ops(60)) {
        let created = create(&new, at(0));
        let mut events = created.events;
        let mut snapshot = Snapshot::new(created.task);
        snapshot.fill(&events[0]);
        events.extend(live(&mut snapshot, &ops));
        check_log(&new, &snapshot.task, &events, &snapshot);
    }

    #[test]
    fn limits_hold_and_leave_room_for_the_end(new in news(), ops in ops(60), room in 0_u64..40, bytes in 0_u64..900) {
        let mut task = create(&new, at(0)).task;
        task.seq = TASK_EVENTS - 16 - room;
        task.artifacts = chunk_heads(ARTIFACT_BYTES - bytes);
        live(&mut Snapshot::new(task), &ops);
    }

    #[test]
    fn a_stale_attempt_changes_nothing(new in news(), before in ops(30), ops in ops(30)) {
        let mut snapshot = Snapshot::new(create(&new, at(0)).task);
        live(&mut snapshot, &before);
        let open = snapshot.task.state.open_attempt().map(|open| open.number);
        for op in ops {
            let input = input(op, &snapshot.task);
            if named_attempt(&input).is_some_and(|attempt| Some(attempt) != open) {
                prop_assert!(step(&snapshot.task, &input, at(op.millis)).is_err());
            }
        }
    }
}

fn chunk_heads(bytes: u64) -> Vec<crate::task::ArtifactHead> {
    vec![crate::task::ArtifactHead { id: "z".into(), attempt: 0, bytes }]
}
