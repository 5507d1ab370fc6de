//! What a person must look at: in order, counted, and gone when somebody has looked.

use baton_core::delivery::Input as Happened;
use baton_core::task::{Input, Interruption, Reason};
use baton_store::{Actor, Attend, Attention, Audit, AuditQuery, Delivery, NeedsCounts, Settle};

use super::Backend;
use super::push::hook;
use super::script::*;
use super::world::World;

fn failed(attempt: u32) -> Input {
    Input::Failed { attempt, reason: Reason::Failed, message: Some(said("no")), retryable: false }
}

fn operator() -> Actor {
    Actor::new("operator", "socket")
}

/// Tasks 1 and 2 ask, 3 to 6 failed, 7 is at work, 8 is done.
async fn made<B: Backend>() -> World<B> {
    let world = World::<B>::new().await;
    for n in 1..=8_u8 {
        let ask = |kind| Input::Asked { attempt: 1, kind, message: Some(said("which?")) };
        let then = match n {
            1 => vec![ask(Interruption::Auth)],
            2 => vec![ask(Interruption::Input)],
            3..=6 => vec![failed(1)],
            7 => Vec::new(),
            _ => vec![completed(1)],
        };
        let inputs = std::iter::once(claimed(worker("w"))).chain(then).collect();
        // The second asked before the first.
        let now = if n == 2 { 0 } else { i64::from(n) };
        world.apply(create_with(new(u128::from(n)), inputs, at(now))).await;
    }
    world
}

pub async fn the_longest_waiting_first<B: Backend>() {
    let world = made::<B>().await.reopen().await;
    let needs = world.store.needs(10).await.unwrap();
    let ids = |tasks: &[std::sync::Arc<baton_core::task::Snapshot>]| {
        tasks.iter().map(|snapshot| snapshot.task.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&needs.waiting), [task(2), task(1)]);
    assert_eq!(ids(&needs.failed), [3, 4, 5, 6].map(task));
    assert_eq!(needs.counts, NeedsCounts { waiting: 2, failed: 4, webhooks: 0 });
    for snapshot in needs.waiting.iter().chain(&needs.failed) {
        assert_eq!(snapshot.messages[0].1, user("first", "hello"), "what it is about");
        assert!(snapshot.task.status.message.is_some(), "what the agent says");
    }
    let few = world.store.needs(1).await.unwrap();
    assert_eq!((ids(&few.waiting), ids(&few.failed)), (vec![task(2)], vec![task(3)]));
    assert_eq!(few.counts, needs.counts);
}

pub async fn attended_once<B: Backend>() {
    let world = made::<B>().await;
    let by = operator();
    let attend = async |attend| world.store.attend(attend, (&by, at(20))).await.unwrap();
    assert_eq!(attend(Attend::One(task(4))).await, 1);
    assert_eq!(attend(Attend::One(task(4))).await, 0);
    assert_eq!(attend(Attend::One(task(7))).await, 0, "it has not failed");
    assert_eq!(attend(Attend::One(task(99))).await, 0);
    // Of those that are named, the fourth is attended to, the seventh has not failed, and the last never was.
    let these = [3, 4, 7, 99, 5].map(task);
    assert_eq!(attend(Attend::These(these.to_vec())).await, 2);
    assert_eq!(attend(Attend::These(these.to_vec())).await, 0);
    assert_eq!(attend(Attend::These(Vec::new())).await, 0);
    let told = world.store.list_audit(AuditQuery { size: 10, ..AuditQuery::default() }).await.unwrap();
    assert_eq!(told[0].entry.detail, format!(r#"{{"tasks":["{}","{}"]}}"#, task(3), task(5)));
    let told: Vec<_> = told.iter().map(|row| (&*row.entry.action, row.entry.target.clone())).collect();
    assert_eq!(told, [("task.attend-all", task(5).to_string()), ("task.attend", task(4).to_string())]);
    let world = world.reopen().await;
    let needs = world.store.needs(10).await.unwrap();
    assert_eq!(needs.failed.iter().map(|it| it.task.id).collect::<Vec<_>>(), [task(6)]);
    assert_eq!(needs.counts.failed, 1);
    // What the task itself says is as it was.
    assert_eq!(world.load(task(4)).await.task.state.shown(), baton_core::model::TaskState::Failed);
}

pub async fn webhooks_that_fail<B: Backend>() {
    let world = made::<B>().await;
    for id in ["a", "b"] {
        world.store.put_push_config(&by_owner(), task(7), hook(id), at(10)).await.unwrap();
    }
    world.change(task(7), vec![completed(1)], at(11)).await;
    for tries in 1..=3 {
        let config = world.store.find_push_config(task(7), "a").await.unwrap().unwrap();
        assert_eq!(world.store.needs(10).await.unwrap().webhooks, [], "before try {tries}");
        let input = Happened::Failed { retry_after: None, chance: 0 };
        let settle = Settle {
            task: config.task,
            id: config.id,
            revision: config.revision,
            cursor: config.cursor,
            input,
            attempt: None,
            now: at(12),
        };
        world.store.settle(settle).await.unwrap();
    }
    let needs = world.store.needs(10).await.unwrap();
    assert_eq!(needs.webhooks.iter().map(|config| &*config.id).collect::<Vec<_>>(), ["a"]);
    assert_eq!(needs.counts.webhooks, 1);
    world.store.replay(task(7), "a", (&operator(), at(13))).await.unwrap();
    assert_eq!(world.store.needs(10).await.unwrap().counts.webhooks, 0);
}
