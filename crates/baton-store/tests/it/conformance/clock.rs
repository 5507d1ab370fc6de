//! What time does to tasks: leases, deadlines, questions, and a clock that is set back.

use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::task::{Input, LeaseLoss, New, Reason, Refusal, State};
use baton_store::{Error, Tasks};

use super::Backend;
use super::script::*;
use super::scripts::scripts;
use super::world::World;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// How long after its deadline a task of the node's own is left to its runner.
const GRACE: i64 = 15_000;

async fn due<B: Backend>(world: &World<B>, now: i64) -> Vec<(TaskId, Input)> {
    world.store.due(at(now), 100).await.unwrap()
}

fn with_deadline(n: u128, millis: i64) -> New {
    New { deadline: Some(at(millis)), ..new(n) }
}

pub async fn a_lease_runs_out<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![leased(worker("w"), 1_000)], at(0))).await;
    assert_eq!(due(&world, 999).await, []);
    let lapsed = Input::LeaseLapsed { attempt: 1, loss: LeaseLoss::Expired };
    assert_eq!(due(&world, 1_000).await, [(task(1), lapsed.clone())]);

    let renewed = Input::Renewed { attempt: 1, lease: Some(Duration::from_millis(4_100)) };
    world.change(task(1), vec![renewed], at(900)).await;
    let world = world.reopen().await;
    assert_eq!(due(&world, 4_999).await, []);
    // Found before the renewal, reported after it.
    let refused = world.store.apply(change(task(1), vec![lapsed.clone()], at(1_000))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotYet))), "{refused:?}");
    assert_eq!(due(&world, 5_000).await, [(task(1), lapsed.clone())]);
    let applied = world.change(task(1), vec![lapsed], at(5_000)).await;
    assert!(matches!(applied.known.task().state, State::Ready { not_before: Some(_), .. }));
    assert_eq!(due(&world, 5_000).await, []);
}

pub async fn deadlines<B: Backend>() {
    let world = World::<B>::new().await;
    let held = |holder| vec![claimed(holder)];
    world.apply(create(with_deadline(1, 300), at(0))).await;
    world.apply(create_with(with_deadline(2, 200), held(worker("w")), at(0))).await;
    world.apply(create_with(with_deadline(3, 100), held(node("boot")), at(0))).await;
    let mut asking = held(node("boot"));
    asking.extend([asked(1), Input::HolderGone { attempt: 1, message: None }]);
    world.apply(create_with(with_deadline(4, 250), asking, at(0))).await;
    world
        .apply(create_with(with_deadline(5, 100), [held(worker("w")), vec![completed(1)]].concat(), at(0)))
        .await;
    let world = world.reopen().await;
    let passed = |n| (task(n), Input::DeadlinePassed);
    assert_eq!(due(&world, 199).await, []);
    assert_eq!(due(&world, 300).await, [passed(2), passed(4), passed(1)]);
    assert_eq!(world.store.due(at(300), 2).await.unwrap(), [passed(2), passed(4)]);
    for n in [1, 2, 4] {
        let applied = world.change(task(n), vec![Input::DeadlinePassed], at(300)).await;
        assert!(matches!(
            applied.known.task().state,
            State::Failed { reason: Reason::Deadline, dead_letter: false }
        ));
    }
    assert_eq!(due(&world, 100 + GRACE - 1).await, []);
    assert_eq!(due(&world, 100 + GRACE).await, [passed(3)]);
}

pub async fn an_unanswered_question<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot")), asked(1)], at(0))).await;
    assert_eq!(due(&world, DAY - 1).await, []);
    assert_eq!(due(&world, DAY).await, [(task(1), Input::DeadlinePassed)]);
    let applied = world.change(task(1), vec![Input::DeadlinePassed], at(DAY)).await;
    assert!(matches!(applied.known.task().state, State::Failed { reason: Reason::Unanswered, .. }));
    assert_eq!(due(&world, DAY).await, []);
    // An answer in time: nothing is due any more.
    world.apply(create_with(new(2), vec![claimed(node("boot")), asked(1)], at(0))).await;
    world.change(task(2), vec![messaged("m2", "that one")], at(5)).await;
    assert_eq!(due(&world, DAY).await, []);
}

/// A pass over what is due ends: whatever is found is accepted at that time, and is not found again. The same holds of
/// what can be claimed.
pub async fn what_is_due_is_accepted<B: Backend>() {
    let world = World::<B>::new().await;
    for (new, operations) in scripts() {
        let deadline = (u128::from(new.id.as_bytes()[15]) % 2 == 0).then_some(at(40_000));
        let new = New { deadline: new.deadline.or(deadline), ..new };
        let id = new.id;
        world.apply(create(new, at(0))).await;
        for (inputs, now) in operations.into_iter().zip(1..) {
            world.change(id, inputs, at(now)).await;
        }
    }
    let world = world.reopen().await;
    let mut passes = 0;
    for now in [0, 39_999, 40_000, 60_000, 100_000, 100_000 + GRACE, DAY, DAY + 5, 2 * DAY] {
        loop {
            let found = due(&world, now).await;
            if found.is_empty() {
                break;
            }
            passes += 1;
            for (id, input) in found {
                let answer = world.store.apply(change(id, vec![input.clone()], at(now))).await;
                assert!(answer.is_ok(), "{id} {input:?} at {now}: {answer:?}");
            }
            assert!(passes < 100, "a pass that never ends");
        }
        while !world.claim(1, now).await.is_empty() {}
        let next = world.store.next_ready(&agent("echo")).await.unwrap();
        assert!(next.is_none_or(|next| next > at(now)), "{next:?} at {now}");
    }
    assert!(passes >= 4);
}

pub async fn a_clock_set_back<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(with_deadline(1, 9_000), vec![leased(worker("w"), 4_000)], at(1_000))).await;
    // Found at 5,000; when it is reported, the clock says 2,000.
    let (id, input) = due(&world, 5_000).await.remove(0);
    let refused = world.store.apply(change(id, vec![input.clone()], at(2_000))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotYet))), "{refused:?}");
    let progress = Input::Progressed { attempt: 1, message: said("half way") };
    world.change(task(1), vec![progress], at(4_000)).await;
    let back = world.change(task(1), vec![asked(1)], at(500)).await;
    assert_eq!(back.known.task().status.at, at(4_000));
    assert_eq!(back.events[0].at, at(4_000));
    world.apply(create(new(2), at(3_000))).await;
    let world = world.reopen().await;
    let page = world.store.list(everything()).await.unwrap();
    assert_eq!(page.tasks.iter().map(|it| it.task.id).collect::<Vec<_>>(), [task(1), task(2)]);
    // Its lease was refreshed when it was heard of; the deadline stands.
    assert_eq!(due(&world, 8_999).await, []);
    let (id, input) = due(&world, 9_000).await.remove(0);
    world.change(id, vec![input], at(9_000)).await;
    assert_eq!(due(&world, 9_000).await, []);
}
