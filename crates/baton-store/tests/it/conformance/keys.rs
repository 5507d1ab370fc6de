//! What is sent twice and done once: operation ids, and idempotency keys.

use baton_core::ident::Owner;
use baton_core::task::{Refusal, State};
use baton_store::{Error, Op, Tasks};

use super::Backend;
use super::script::*;
use super::world::World;

const DAY: i64 = 24 * 60 * 60 * 1000;

fn again(op: &Op) -> Op {
    Op { repeat: true, ..op.clone() }
}

pub async fn a_repeated_create_is_done_once<B: Backend>() {
    let world = World::<B>::new().await;
    let op = create_with(new(1), vec![claimed(node("boot"))], at(0));
    let first = world.apply(op.clone()).await;
    let second = world.apply(again(&op)).await;
    assert!(!first.repeated && second.repeated);
    assert!(second.events.is_empty());
    assert_eq!(second.known.task(), first.known.task());
    assert_eq!(world.heard.events(task(1)).len(), 2);
    let world = world.reopen().await;
    let third = world.apply(again(&op)).await;
    assert!(third.repeated && third.events.is_empty());
    assert_eq!(third.known.task(), first.known.task());
    assert_eq!(world.log(task(1)).await.len(), 2);
    assert_eq!(world.store.list(everything()).await.unwrap().total, 1);
}

pub async fn a_repeated_change_is_done_once<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    let more = change(task(1), vec![messaged("m2", "more"), messaged("m3", "and more")], at(1));
    let end = change(task(1), vec![claimed(node("boot")), completed(1)], at(2));
    for op in [&more, &end] {
        assert!(!world.apply(op.clone()).await.repeated);
        let repeated = world.apply(again(op)).await;
        assert!(repeated.repeated && repeated.events.is_empty());
    }
    let world = world.reopen().await;
    for op in [&more, &end] {
        let repeated = world.apply(again(op)).await;
        assert!(repeated.repeated && repeated.events.is_empty());
        assert_eq!(repeated.known.task().state, State::Completed);
    }
    assert_eq!(world.log(task(1)).await.len(), 5);
    assert_eq!(world.load(task(1)).await.messages.len(), 4);
}

/// The first sending was lost: the repeat is what does it.
pub async fn a_repeat_may_be_the_first<B: Backend>() {
    let world = World::<B>::new().await;
    let made = world.apply(again(&create(new(1), at(0)))).await;
    assert!(!made.repeated);
    let changed = world.apply(again(&change(task(1), vec![messaged("m2", "more")], at(1)))).await;
    assert!(!changed.repeated);
    assert_eq!(changed.events.len(), 1);
    let refused = world.store.apply(again(&change(task(1), vec![completed(1)], at(1)))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::StaleAttempt))));
}

pub async fn a_key_stands_for_one_message<B: Backend>() {
    let mut world = World::<B>::new().await;
    let first = world.apply(create_keyed(new(1), "key", 1, at(0))).await;
    assert!(!first.repeated);
    for n in [2, 3] {
        let same = world.apply(create_keyed(new(n), "key", 1, at(5))).await;
        assert!(same.repeated && same.events.is_empty());
        assert_eq!(same.known.task(), first.known.task());
        let other = world.store.apply(create_keyed(new(n), "key", 2, at(5))).await;
        assert!(matches!(other, Err(Error::KeyReused)), "{other:?}");
        assert_eq!(world.store.find(&by_owner(), task(n)).await.unwrap(), None);
        world = world.reopen().await;
    }
    assert_eq!(world.store.list(everything()).await.unwrap().total, 1);
}

pub async fn keys_are_scoped<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_keyed(new(1), "key", 1, at(0))).await;
    let mut subject = new(2);
    subject.owner = Owner::new("local", "ann");
    let mut other_agent = new(3);
    other_agent.agent = agent("other");
    for new in [subject, other_agent, new(4)] {
        let key = if new.id == task(4) { "another" } else { "key" };
        let id = new.id;
        let applied = world.apply(create_keyed(new, key, 2, at(0))).await;
        assert!(!applied.repeated);
        assert_eq!(applied.known.task().id, id);
    }
}

pub async fn one_key_in_parallel<B: Backend>() {
    let world = World::<B>::new().await;
    let same = (0..20).map(|n| create_keyed(new(n), "key", 1, at(0))).collect();
    let answers: Vec<_> = world.apply_all(same).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers.iter().filter(|applied| !applied.repeated).count(), 1);
    let id = answers[0].known.task().id;
    assert!(answers.iter().all(|applied| applied.known.task().id == id));
    assert_eq!(world.store.list(everything()).await.unwrap().total, 1);
}

pub async fn a_key_lives_a_day<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_keyed(new(1), "key", 1, at(0))).await;
    for n in 10..15 {
        world.apply(create_keyed(new(n), &format!("old {n}"), 1, at(1))).await;
    }
    let last = world.apply(create_keyed(new(2), "key", 1, at(DAY))).await;
    assert!(last.repeated);
    let next = world.apply(create_keyed(new(3), "key", 2, at(DAY + 1))).await;
    assert!(!next.repeated);
    assert_eq!(next.known.task().id, task(3));
    let world = world.reopen().await;
    let same = world.apply(create_keyed(new(4), "key", 2, at(DAY + 2))).await;
    assert_eq!((same.repeated, same.known.task().id), (true, task(3)));
    // A key is not forgotten before its time, though others are over, and though the clock is set back.
    world.apply(create_keyed(new(5), "later", 1, at(2 * DAY))).await;
    let same = world.apply(create_keyed(new(6), "key", 2, at(DAY))).await;
    assert_eq!((same.repeated, same.known.task().id), (true, task(3)));
}

pub async fn a_refused_create_takes_no_key<B: Backend>() {
    let world = World::<B>::new().await;
    let mut op = create_keyed(new(1), "key", 1, at(0));
    op.inputs = vec![completed(1)];
    assert!(matches!(world.store.apply(op).await, Err(Error::Refused(_))));
    assert!(!world.apply(create_keyed(new(2), "key", 2, at(0))).await.repeated);
}
