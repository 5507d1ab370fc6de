//! Claims, the attempts they begin, and who holds what.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::task::{Input, LeaseLoss, Outcome, Reason, State};
use baton_store::{AttemptEnd, Claim, Tasks};
use tokio::task::JoinSet;

use super::Backend;
use super::script::*;
use super::world::{World, claim};

const HOUR: i64 = 60 * 60 * 1000;

fn ids(claimed: &[Arc<baton_core::task::Snapshot>]) -> Vec<TaskId> {
    claimed.iter().map(|snapshot| snapshot.task.id).collect()
}

pub async fn oldest_first<B: Backend>() {
    let world = World::<B>::new().await;
    for (n, created) in [(1, 30), (2, 10), (3, 20), (4, 20), (5, 40)] {
        world.apply(create(new(n), at(created))).await;
    }
    let first = world.claim(2, 50).await;
    assert_eq!(ids(&first), [task(2), task(3)]);
    for snapshot in &first {
        assert!(matches!(&snapshot.task.state, State::Running { attempt } if attempt.number == 1));
        assert_eq!(*snapshot, world.load(snapshot.task.id).await);
        assert_eq!(snapshot.messages[0].1.joined_text(), "hello");
    }
    let world = world.reopen().await;
    assert_eq!(ids(&world.claim(2, 50).await), [task(4), task(1)]);
    assert_eq!(ids(&world.claim(0, 50).await), []);
    assert_eq!(ids(&world.claim(9, 50).await), [task(5)]);
    assert_eq!(ids(&world.claim(9, 50).await), []);
    assert_eq!(world.heard.events(task(5)).len(), 1);
}

pub async fn not_before_its_time<B: Backend>() {
    let world = World::<B>::new().await;
    let echo = agent("echo");
    assert_eq!(world.store.next_ready(&echo).await.unwrap(), None);
    let failed = Input::Failed { attempt: 1, reason: Reason::Transient, message: None, retryable: true };
    let applied = world.apply(create_with(new(1), vec![claimed(node("boot")), failed], at(0))).await;
    let State::Ready { not_before: Some(due), .. } = applied.known.task().state else {
        panic!("{applied:?}")
    };
    let world = world.reopen().await;
    assert_eq!(world.store.next_ready(&echo).await.unwrap(), Some(due));
    let due = due.as_millis() - at(0).as_millis();
    assert!(due > 1_000);
    assert_eq!(ids(&world.claim(9, due - 1).await), []);
    // A task that waits keeps no other from being claimed.
    world.apply(create(new(2), at(5))).await;
    assert!(world.store.next_ready(&echo).await.unwrap().unwrap() <= at(5));
    assert_eq!(ids(&world.claim(1, due - 1).await), [task(2)]);
    let second = world.claim(9, due).await;
    assert_eq!(ids(&second), [task(1)]);
    assert_eq!(second[0].task.attempt, 2);

    let mut overdue = new(3);
    overdue.deadline = Some(at(HOUR));
    world.apply(create(overdue, at(0))).await;
    assert_eq!(ids(&world.claim(9, HOUR).await), []);
    assert_eq!(ids(&world.claim(9, HOUR - 1).await), [task(3)]);
}

pub async fn nobody_claims_twice<B: Backend>() {
    let world = World::<B>::new().await;
    let creates = (0..40).map(|n| create(new(n), at(0))).collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    let mut claims = JoinSet::new();
    for _ in 0..10 {
        let store = Arc::clone(&world.store);
        claims.spawn(async move { store.claim(claim(7, 1)).await.unwrap().tasks });
    }
    let claimed: Vec<_> = claims.join_all().await.iter().flat_map(|claimed| ids(claimed)).collect();
    assert_eq!(claimed.len(), 40);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 40);
    for n in 0..40 {
        assert_eq!(world.store.attempts(task(n)).await.unwrap().len(), 1);
    }
}

pub async fn only_its_own_agent<B: Backend>() {
    let world = World::<B>::new().await;
    let mut other = new(1);
    other.agent = agent("other");
    world.apply(create(other, at(0))).await;
    assert_eq!(ids(&world.claim(9, 1).await), []);
    assert_eq!(world.store.next_ready(&agent("echo")).await.unwrap(), None);
    let lease = Some(Duration::from_millis(8));
    let by_worker = Claim { agent: agent("other"), holder: worker("w"), lease, ..claim(1, 1) };
    let claimed = world.store.claim(by_worker).await.unwrap().tasks;
    let State::Running { attempt } = &claimed[0].task.state else { panic!() };
    assert_eq!((&attempt.holder, attempt.lease_until), (&worker("w"), Some(at(9))));
}

pub async fn attempts_are_recorded<B: Backend>() {
    let world = World::<B>::new().await;
    assert_eq!(world.store.attempts(task(1)).await.unwrap(), []);
    world.apply(create(new(1), at(0))).await;
    assert_eq!(world.store.attempts(task(1)).await.unwrap(), []);
    let failed = Input::Failed { attempt: 1, reason: Reason::Crashed, message: None, retryable: true };
    world.change(task(1), vec![claimed(node("boot"))], at(1)).await;
    world.change(task(1), vec![failed], at(2)).await;
    let released =
        vec![leased(worker("w"), 9), Input::Released { attempt: 2, message: Some(said("not mine")) }];
    world.change(task(1), released, at(HOUR)).await;
    world.change(task(1), vec![claimed(node("boot")), asked(3)], at(HOUR + 1)).await;
    world.change(task(1), vec![Input::HolderGone { attempt: 3, message: None }], at(HOUR + 2)).await;
    world.change(task(1), vec![messaged("m2", "that one")], at(HOUR + 3)).await;
    world.change(task(1), vec![claimed(node("boot 2"))], at(HOUR + 4)).await;
    let open = world.store.attempts(task(1)).await.unwrap();
    assert_eq!(open.last().unwrap().end, None);
    world.change(task(1), vec![completed(4)], at(HOUR + 5)).await;
    let world = world.reopen().await;
    let attempts = world.store.attempts(task(1)).await.unwrap();
    let found: Vec<_> =
        attempts.iter().map(|it| (it.number, it.holder.clone(), it.started_at, it.end.unwrap())).collect();
    let end = |millis, outcome| AttemptEnd { at: at(millis), outcome };
    assert_eq!(
        found,
        [
            (1, node("boot"), at(1), end(2, Outcome::Failed(Reason::Crashed))),
            (2, worker("w"), at(HOUR), end(HOUR, Outcome::Released)),
            (3, node("boot"), at(HOUR + 1), end(HOUR + 2, Outcome::HolderGone)),
            (4, node("boot 2"), at(HOUR + 4), end(HOUR + 5, Outcome::Completed)),
        ]
    );
}

pub async fn orphans_of_other_boots<B: Backend>() {
    let world = World::<B>::new().await;
    for (n, inputs) in [
        (1, vec![claimed(node("old"))]),
        (2, vec![claimed(node("older")), asked(1)]),
        (3, vec![claimed(node("new"))]),
        (4, vec![leased(worker("w"), HOUR.unsigned_abs())]),
        (5, vec![]),
        (6, vec![claimed(node("old")), completed(1)]),
    ] {
        world.apply(create_with(new(n), inputs, at(0))).await;
    }
    let world = world.reopen().await;
    let orphans = [(task(1), 1), (task(2), 1)];
    if world.store.shared() {
        // Another node that works is not known from one that died: leases say so.
        assert_eq!(world.store.orphaned("new", 10).await.unwrap(), []);
    } else {
        assert_eq!(world.store.orphaned("new", 1).await.unwrap(), orphans[..1]);
        assert_eq!(world.store.orphaned("new", 10).await.unwrap(), orphans);
    }
    for (id, attempt) in orphans {
        let lapsed = Input::LeaseLapsed { attempt, loss: LeaseLoss::NodeDied };
        world.change(id, vec![lapsed], at(5)).await;
    }
    assert_eq!(world.store.orphaned("new", 10).await.unwrap(), []);
    assert!(matches!(world.load(task(1)).await.task.state, State::Ready { begun: true, .. }));
    assert!(matches!(world.load(task(2)).await.task.state, State::Interrupted { attempt: None, .. }));
    let outcome = |n| {
        let store = Arc::clone(&world.store);
        async move { store.attempts(task(n)).await.unwrap()[0].end.unwrap().outcome }
    };
    assert_eq!(outcome(1).await, Outcome::Failed(Reason::NodeDied));
    assert_eq!(outcome(2).await, Outcome::HolderGone);
}
