//! The work queue: order, budgets, concurrency, who may report, and what is kept of it in the end.

use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::{Owner, TaskId};
use baton_core::limits::{ATTEMPTS_KEPT, SUMMARY_BYTES};
use baton_core::task::{Input, New, Reason, Refusal, Snapshot, State};
use baton_store::{
    Access, Budget, By, Claim, Claimed, Error, GrantChange, HeldBack, Op, Retire, Tasks, worker as holder_of,
};
use tokio::task::JoinSet;

use super::Backend;
use super::grants::{ann, grant};
use super::push::hook;
use super::script::*;
use super::world::{World, claim};

const MINUTE: i64 = 60_000;

fn ids(claimed: &[Arc<Snapshot>]) -> Vec<TaskId> {
    claimed.iter().map(|snapshot| snapshot.task.id).collect()
}

fn with_priority(n: u128, priority: i16) -> New {
    New { priority, ..new(n) }
}

fn put_off(n: u128, until: i64) -> New {
    New { not_before: Some(at(until)), ..new(n) }
}

/// A claim by a worker with the grant of [`owner`].
fn by_worker(most: usize, now: i64) -> Claim {
    let (holder, lease) = (holder_of(&owner()), Some(Duration::from_mins(1)));
    Claim { holder, by: Some(owner()), lease, ..claim(most, now) }
}

/// A worker's report of a task.
fn report(owner: Owner, n: u128, input: Input, now: i64) -> Op {
    Op { by: By::Worker(agent("echo"), owner), ..change(task(n), vec![input], at(now)) }
}

impl<B: Backend> World<B> {
    async fn claims(&self, claim: Claim) -> Claimed {
        self.store.claim(claim).await.unwrap()
    }
}

pub async fn higher_priorities_first<B: Backend>() {
    let world = World::<B>::new().await;
    for (n, priority, created) in [(1, 0, 1), (2, -100, 0), (3, 100, 9), (4, 0, 0), (5, 100, 8)] {
        world.apply(create(with_priority(n, priority), at(created))).await;
    }
    let world = world.reopen().await;
    assert_eq!(ids(&world.claim(3, 50).await), [task(5), task(3), task(4)]);
    let rest = world.claim(9, 50).await;
    assert_eq!(ids(&rest), [task(1), task(2)]);
    assert_eq!(rest[1].task.priority, -100);
    assert_eq!(world.load(task(2)).await.task.priority, -100);
}

pub async fn put_off_until_its_time<B: Backend>() {
    let world = World::<B>::new().await;
    let creates = (0..600).map(|n| create(put_off(n, MINUTE), at(0))).collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    world.apply(create(put_off(601, 2 * MINUTE), at(0))).await;
    let world = world.reopen().await;
    let next = || async { world.store.next_ready(&agent("echo")).await.unwrap() };
    assert_eq!(next().await, Some(at(MINUTE)));
    assert_eq!(ids(&world.claim(9, MINUTE - 1).await), []);
    let named = Claim { task: Some(task(3)), ..claim(1, MINUTE - 1) };
    let refused = world.store.claim(named.clone()).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotYet))), "{refused:?}");
    // By its name before its turn, and the others however many are due at once.
    assert_eq!(ids(&world.claims(Claim { now: at(MINUTE), ..named }).await.tasks), [task(3)]);
    let mut claimed = Vec::new();
    loop {
        let more = ids(&world.claim(100, MINUTE).await);
        if more.is_empty() {
            break;
        }
        claimed.extend(more);
    }
    let all: Vec<_> = (0..600).filter(|n| *n != 3).map(task).collect();
    assert_eq!(claimed, all);
    assert_eq!(next().await, Some(at(2 * MINUTE)));
    // A message to it changes nothing of that.
    world.change(task(601), vec![messaged("m", "hurry")], at(MINUTE)).await;
    assert_eq!(next().await, Some(at(2 * MINUTE)));
    assert_eq!(ids(&world.claim(9, 2 * MINUTE).await), [task(601)]);
}

pub async fn one_by_its_name<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    world.apply(create(new(2), at(0))).await;
    world.apply(create(New { agent: agent("other"), ..new(3) }, at(0))).await;
    let named = |n| Claim { task: Some(task(n)), ..by_worker(1, 5) };
    assert_eq!(ids(&world.claims(named(2)).await.tasks), [task(2)]);
    for (n, why) in [(2, Some(Refusal::AlreadyClaimed)), (3, None), (4, None)] {
        match (world.store.claim(named(n)).await, why) {
            (Err(Error::Refused(found)), Some(why)) => assert_eq!(found, why),
            (Err(Error::NotFound), None) => {}
            (other, _) => panic!("{n}: {other:?}"),
        }
    }
    world.change(task(1), vec![Input::CancelRequested], at(6)).await;
    let over = world.store.claim(named(1)).await;
    assert!(matches!(over, Err(Error::Refused(Refusal::Terminal(_)))), "{over:?}");
}

pub async fn a_budget_admits_so_many<B: Backend>() {
    let world = World::<B>::new().await;
    let creates = (0..40).map(|n| create(new(n), at(0))).collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    let one = Budget { claims: 1, per: Duration::from_mins(1) };
    let start = one.window(at(MINUTE)).as_millis() - at(0).as_millis();
    let within =
        move |claims, most, now| Claim { budget: Some(Budget { claims, ..one }), ..by_worker(most, now) };
    // Ten that race for one unit: one of them has it, with one task.
    let mut racing = JoinSet::new();
    for _ in 0..10 {
        let store = Arc::clone(&world.store);
        racing.spawn(async move { store.claim(within(1, 3, start + 5)).await.unwrap() });
    }
    let answers = racing.join_all().await;
    assert_eq!(answers.iter().map(|claimed| claimed.tasks.len()).sum::<usize>(), 1);
    let until = at(start + MINUTE);
    assert!(answers.iter().all(|claimed| claimed.held_back == Some(HeldBack::Budget { until })));
    let world = world.reopen().await;
    assert_eq!(world.claims(within(3, 9, start + MINUTE - 1)).await.tasks.len(), 2);
    let none = world.claims(within(3, 9, start + MINUTE - 1)).await;
    assert_eq!((none.tasks.len(), none.held_back), (0, Some(HeldBack::Budget { until })));
    // What an agent with a budget does not take is not charged, and another window is another budget.
    let next = world.claims(within(4, 2, start + MINUTE)).await;
    assert_eq!((next.tasks.len(), next.held_back), (2, None));
    let named = Claim { task: Some(task(39)), ..within(2, 1, start + MINUTE) };
    let none = world.claims(named).await;
    assert_eq!(none.tasks.len(), 0);
    assert_eq!(none.held_back, Some(HeldBack::Budget { until: at(start + 2 * MINUTE) }));
    assert_eq!(world.claims(by_worker(40, start + MINUTE)).await.tasks.len(), 35);
}

pub async fn so_many_at_a_time<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 0..6 {
        world.apply(create(new(n), at(0))).await;
    }
    let at_most = |most| Claim { concurrency: Some(2), ..by_worker(most, 5) };
    let first = world.claims(at_most(1)).await;
    assert_eq!((ids(&first.tasks), first.held_back), (vec![task(0)], None));
    let second = world.claims(at_most(5)).await;
    assert_eq!((ids(&second.tasks), second.held_back), (vec![task(1)], Some(HeldBack::Concurrency)));
    let world = world.reopen().await;
    let named = Claim { task: Some(task(4)), ..at_most(1) };
    assert_eq!(world.claims(named.clone()).await.held_back, Some(HeldBack::Concurrency));
    // Who waits for an answer works on nothing, and who is done neither.
    world.change(task(0), vec![asked(1)], at(6)).await;
    assert_eq!(ids(&world.claims(named).await.tasks), [task(4)]);
    world.change(task(1), vec![completed(1)], at(7)).await;
    assert_eq!(ids(&world.claims(at_most(9)).await.tasks), [task(2)]);
    let mut racing = JoinSet::new();
    world.change(task(2), vec![completed(1)], at(8)).await;
    for _ in 0..10 {
        let store = Arc::clone(&world.store);
        racing.spawn(async move { store.claim(at_most(2)).await.unwrap().tasks.len() });
    }
    assert_eq!(racing.join_all().await.iter().sum::<usize>(), 1);
}

pub async fn only_the_holder_reports<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(grant("g", 1, 0)).await.unwrap();
    let (ours, theirs) = (Owner::new("g", "ann"), Owner::new("g", "bob"));
    world.apply(create(new(1), at(0))).await;
    let by_ann = Claim { holder: holder_of(&ours), by: Some(ours.clone()), ..by_worker(1, 1) };
    assert_eq!(world.claims(by_ann.clone()).await.tasks.len(), 1);
    let stale = |answer: Result<_, Error>| match answer {
        Err(Error::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let progress = |attempt| Input::Progressed { attempt, message: said("half") };
    for (owner, attempt) in [(&theirs, 1), (&owner(), 1), (&ours, 2), (&ours, 0)] {
        let answer = world.store.apply(report(owner.clone(), 1, progress(attempt), 2)).await;
        assert_eq!(stale(answer), Refusal::StaleAttempt, "{owner:?} {attempt}");
    }
    world.apply(report(ours.clone(), 1, progress(1), 3)).await;
    let elsewhere = By::Worker(agent("other"), ours.clone());
    let op = Op { by: elsewhere.clone(), ..report(ours.clone(), 1, progress(1), 3) };
    assert!(matches!(world.store.apply(op).await, Err(Error::NotFound)));
    assert!(world.store.find(&elsewhere, task(1)).await.unwrap().is_none());
    // Who lost it is told so by every word.
    world.change(task(1), vec![Input::HolderGone { attempt: 1, message: None }], at(4)).await;
    let late = world.store.apply(report(ours.clone(), 1, completed(1), 5)).await;
    assert_eq!(stale(late), Refusal::StaleAttempt);
    world.store.change_grant("g", GrantChange::Revoke, &ann(), at(6)).await.unwrap();
    let barred = world.store.apply(report(ours, 1, completed(1), 7)).await;
    assert!(matches!(barred, Err(Error::Barred(_))), "{barred:?}");
    let barred = world.store.claim(Claim { now: at(MINUTE * 60), ..by_ann }).await;
    assert!(matches!(barred, Err(Error::Barred(_))), "{barred:?}");
}

pub async fn fifty_attempts_are_kept<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    let count = ATTEMPTS_KEPT + 10;
    for n in 1..=count {
        let attempt = u32::try_from(n).unwrap();
        let message = Some(said(&format!("try {n}")));
        let inputs = vec![claimed(node("boot")), Input::Released { attempt, message }];
        world.change(task(1), inputs, at(1)).await;
    }
    let world = world.reopen().await;
    let attempts = world.store.attempts(task(1)).await.unwrap();
    assert_eq!(attempts.len(), ATTEMPTS_KEPT);
    let said_of = |at: usize| attempts[at].summary.as_deref().unwrap();
    assert_eq!((said_of(0), said_of(ATTEMPTS_KEPT - 1)), ("try 11", "try 60"));
    // The last word of one that was the end is kept as well, and no more of it than that.
    let long = "x".repeat(SUMMARY_BYTES + 1);
    let failed = Input::Failed {
        attempt: u32::try_from(count + 1).unwrap(),
        reason: Reason::Failed,
        message: Some(said(&long)),
        retryable: false,
    };
    world.change(task(1), vec![claimed(node("boot")), failed], at(2)).await;
    let attempts = world.store.attempts(task(1)).await.unwrap();
    assert_eq!(attempts.last().unwrap().summary.as_deref(), Some(&long[..SUMMARY_BYTES]));
}

fn retire(before: Option<i64>, beyond: Option<u64>, most: usize) -> Retire {
    Retire { agent: agent("echo"), before: before.map(at), beyond, most }
}

pub async fn what_is_over_is_retired<B: Backend>() {
    let world = World::<B>::new().await;
    let done = || vec![claimed(node("boot")), completed(1)];
    for n in 1..=3 {
        world.apply(create_with(new(n), done(), at(10 * i64::try_from(n).unwrap()))).await;
    }
    world.apply(create(new(4), at(0))).await;
    world.apply(create_with(new(5), vec![claimed(node("boot")), asked(1)], at(0))).await;
    world.apply(create_with(New { agent: agent("other"), ..new(6) }, done(), at(0))).await;
    let retired = |retire| async { world.store.retire(retire).await.unwrap() };
    assert_eq!(retired(retire(Some(10), None, 9)).await, []);
    assert_eq!(retired(retire(Some(25), None, 1)).await, [task(1)]);
    assert_eq!(retired(retire(Some(25), None, 9)).await, [task(2)]);
    assert_eq!(retired(retire(Some(25), None, 9)).await, []);
    for n in [1, 2] {
        assert!(world.store.find(&By::Node, task(n)).await.unwrap().is_none());
        assert_eq!(world.log(task(n)).await, []);
        assert_eq!(world.store.attempts(task(n)).await.unwrap(), []);
        let gone = world.store.apply(change(task(n), vec![Input::Shown], at(30))).await;
        assert!(matches!(gone, Err(Error::NotFound)), "{gone:?}");
    }
    let left = world.store.list(everything()).await.unwrap();
    assert_eq!((left.tasks.len(), left.total), (3, 3));
    let world = world.reopen().await;
    let left = world.store.list(everything()).await.unwrap();
    assert_eq!((left.tasks.len(), left.total), (3, 3));
    assert!(world.store.find(&By::Node, task(1)).await.unwrap().is_none());
    assert!(matches!(world.load(task(5)).await.task.state, State::Interrupted { .. }));
    world.load(task(6)).await;
}

pub async fn the_oldest_beyond_a_number_are_retired<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=5 {
        let inputs = vec![claimed(node("boot")), completed(1)];
        world.apply(create_with(new(n), inputs, at(0))).await;
    }
    world.apply(create(new(6), at(0))).await;
    assert_eq!(world.store.retire(retire(None, Some(5), 9)).await.unwrap(), []);
    assert_eq!(world.store.retire(retire(None, Some(3), 1)).await.unwrap(), [task(1)]);
    assert_eq!(world.store.retire(retire(None, Some(3), 9)).await.unwrap(), [task(2)]);
    assert_eq!(world.store.retire(retire(None, Some(3), 9)).await.unwrap(), []);
    assert_eq!(world.store.retire(retire(None, Some(0), 9)).await.unwrap(), [task(3), task(4), task(5)]);
    world.load(task(6)).await;
}

pub async fn what_is_owed_is_not_retired<B: Backend>() {
    let world = World::<B>::new().await;
    let inputs = vec![claimed(node("boot")), completed(1)];
    let op = Op { push: Some(hook("h")), ..create_with(new(1), inputs, at(0)) };
    world.apply(op).await;
    assert_eq!(world.store.retire(retire(Some(MINUTE), Some(0), 9)).await.unwrap(), []);
    world.load(task(1)).await;
}

pub async fn a_retired_tasks_key_is_free<B: Backend>() {
    let world = World::<B>::new().await;
    let keyed = |n| {
        let inputs = vec![claimed(node("boot")), completed(1)];
        Op { inputs, ..create_keyed(new(n), "k", 1, at(0)) }
    };
    world.apply(keyed(1)).await;
    assert_eq!(world.apply(keyed(2)).await.known.task().id, task(1));
    assert_eq!(world.store.retire(retire(Some(5), None, 9)).await.unwrap(), [task(1)]);
    assert_eq!(world.apply(keyed(3)).await.known.task().id, task(3));
    assert_eq!(world.apply(keyed(4)).await.known.task().id, task(3));
}
