//! The log: read from any number on, told as it grows, pruned when it is old.

use std::sync::Arc;

use baton_core::task::{Body, Input, Refusal};
use baton_store::{Error, Tasks};

use super::Backend;
use super::script::*;
use super::world::World;

fn busy() -> Vec<Input> {
    vec![
        claimed(node("boot")),
        Input::Progressed { attempt: 1, message: said("half way") },
        wrote(1, chunk("a", "x", false)),
        wrote(1, chunk("a", "y", true)),
        completed(1),
    ]
}

pub async fn after_any_number<B: Backend>() {
    let world = World::<B>::new().await;
    let applied = world.apply(create_with(new(1), busy(), at(0))).await;
    world.apply(create_with(new(2), busy(), at(0))).await;
    let world = world.reopen().await;
    for after in 0..8 {
        let all = world.store.events(task(1), after, 100).await.unwrap();
        let expected = &applied.events[usize::try_from(after).unwrap().min(6)..];
        assert_eq!(all, expected);
        for most in 0..8 {
            let some = world.store.events(task(1), after, most).await.unwrap();
            assert_eq!(some, expected[..most.min(expected.len())]);
        }
    }
    assert!(matches!(&applied.events[4].body, Body::Wrote { chunk } if chunk.append));
    assert_eq!(world.store.events(task(99), 0, 10).await.unwrap(), []);
}

pub async fn pruning_keeps_the_snapshot<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=4 {
        world.apply(create_with(new(n), busy(), at(i64::try_from(n).unwrap() * 10))).await;
    }
    world.apply(create_with(new(5), vec![claimed(node("boot"))], at(0))).await;
    let before = world.load(task(1)).await;
    assert_eq!(world.store.prune_events(at(10), 10).await.unwrap(), 0);
    assert_eq!(world.store.prune_events(at(31), 2).await.unwrap(), 2);
    assert_eq!(world.store.prune_events(at(31), 2).await.unwrap(), 1);
    assert_eq!(world.store.prune_events(at(31), 2).await.unwrap(), 0);
    let lengths = |n| {
        let store = Arc::clone(&world.store);
        async move { store.events(task(n), 0, 100).await.unwrap().len() }
    };
    assert_eq!([lengths(1).await, lengths(3).await, lengths(4).await, lengths(5).await], [0, 0, 6, 2]);
    assert_eq!(world.load(task(1)).await, before);
    let world = world.reopen().await;
    assert_eq!(world.load(task(1)).await, before);
    assert_eq!(world.store.attempts(task(1)).await.unwrap().len(), 1);
    assert_eq!(world.store.list(everything()).await.unwrap().total, 5);
    let late = world.store.apply(change(task(1), vec![messaged("m2", "more")], at(99))).await;
    assert!(matches!(late, Err(Error::Refused(Refusal::Terminal(_)))));
}

/// What is answered was told before, and each task's events are told in their order, once.
pub async fn told_in_order<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(0), at(0))).await;
    for n in 1..=20_u64 {
        world.change(task(0), vec![messaged("m", "more")], at(1)).await;
        assert_eq!(world.heard.events(task(0)).last().unwrap().seq, n + 1);
    }
    let refused = world.store.apply(change(task(0), vec![completed(1)], at(1))).await;
    assert!(refused.is_err());
    let creates = (1..=10).map(|n| create_with(new(n), vec![messaged("m", "more")], at(0))).collect();
    world.apply_all(creates).await;
    assert_eq!(world.claim(11, 2).await.len(), 11);
    for n in 0..=10 {
        assert_eq!(world.heard.events(task(n)), world.log(task(n)).await);
    }
}
