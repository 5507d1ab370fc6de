//! `apply`: whole or not at all, for those who may, in order.

use std::time::Duration;

use baton_core::ident::Owner;
use baton_core::model::TaskState;
use baton_core::task::{Input, LeaseLoss, Policy, Reason, Refusal, State};
use baton_store::{AttemptEnd, By, Error, Known, Tasks};

use super::Backend;
use super::script::*;
use super::world::World;

pub async fn create_and_its_inputs_are_one_commit<B: Backend>() {
    let world = World::<B>::new().await;
    let before = world.store.status().await.unwrap();
    let inputs = vec![claimed(node("boot")), wrote(1, chunk("a", "x", false)), completed(1)];
    let applied = world.apply(create_with(new(1), inputs, at(0))).await;
    let after = world.store.status().await.unwrap();
    assert_eq!((after.commits - before.commits, after.operations - before.operations), (1, 1));
    let kinds: Vec<_> = applied.events.iter().map(|event| (event.seq, event.body.kind())).collect();
    assert_eq!(kinds, [(1, "submitted"), (2, "claimed"), (3, "wrote"), (4, "completed")]);
    assert!(!applied.repeated);
    let Known::Whole(snapshot) = applied.known else { panic!("what was just made is known as a whole") };
    assert_eq!(snapshot.task.state, State::Completed);
    assert_eq!(snapshot.artifacts[0].parts[0].as_text(), Some("x"));
    assert_eq!(snapshot, world.load(task(1)).await);
    assert_eq!(after.tasks, [(agent("echo"), TaskState::Completed, 1)]);
}

pub async fn a_refusal_leaves_nothing<B: Backend>() {
    let world = World::<B>::new().await;
    let refused = world.store.apply(create_with(new(1), vec![completed(1)], at(0))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::StaleAttempt))), "{refused:?}");
    assert_eq!(world.store.find(&By::Node, task(1)).await.unwrap(), None);
    assert_eq!(world.log(task(1)).await, []);
    assert_eq!(world.store.list(everything()).await.unwrap().total, 0);

    world.apply(create(new(2), at(0))).await;
    let before = world.load(task(2)).await;
    let inputs = vec![messaged("m2", "more"), claimed(node("boot")), completed(9)];
    let refused = world.store.apply(change(task(2), inputs, at(1))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::StaleAttempt))), "{refused:?}");
    assert_eq!(world.load(task(2)).await, before);
    assert_eq!(world.store.attempts(task(2)).await.unwrap(), []);
    assert_eq!(world.heard.events(task(2)).len(), 1);
    let world = world.reopen().await;
    assert_eq!(world.load(task(2)).await, before);
    assert_eq!(world.log(task(2)).await.len(), 1);
}

pub async fn strangers_find_nothing<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    let other = |agent_name: &str, subject: &str| By::Owner(agent(agent_name), Owner::new("local", subject));
    for hot in [true, false] {
        if !hot {
            world = world.reopen().await;
        }
        for (by, id) in [
            (other("echo", "eve"), task(1)),
            (other("other", ""), task(1)),
            (by_owner(), task(99)),
            (By::Node, task(99)),
        ] {
            assert_eq!(world.store.find(&by, id).await.unwrap(), None, "{by:?}");
            assert_eq!(world.store.find_head(&by, id).await.unwrap(), None, "{by:?}");
            for inputs in [vec![Input::CancelRequested], vec![Input::Shown], vec![]] {
                let mut op = change(id, inputs, at(1));
                op.by = by.clone();
                let refused = world.store.apply(op).await;
                assert!(matches!(refused, Err(Error::NotFound)), "{by:?} {refused:?}");
            }
        }
        assert!(world.store.find(&by_owner(), task(1)).await.unwrap().is_some());
    }
    assert_eq!(world.log(task(1)).await.len(), 1);
}

pub async fn an_end_is_final<B: Backend>() {
    let world = World::<B>::new().await;
    let inputs = vec![claimed(worker("w")), completed(1)];
    world.apply(create_with(new(1), inputs, at(0))).await;
    let before = world.load(task(1)).await;
    let world = world.reopen().await;
    for input in [
        claimed(node("boot")),
        Input::Renewed { attempt: 1, lease: Some(Duration::from_millis(99)) },
        wrote(1, chunk("a", "late", false)),
        completed(1),
        Input::Failed { attempt: 1, reason: Reason::Crashed, message: None, retryable: true },
        messaged("m", "more"),
        Input::CancelRequested,
        Input::LeaseLapsed { attempt: 1, loss: LeaseLoss::NodeDied },
        Input::DeadlinePassed,
    ] {
        let refused = world.store.apply(change(task(1), vec![input.clone()], at(5))).await;
        assert!(
            matches!(refused, Err(Error::Refused(Refusal::Terminal(TaskState::Completed)))),
            "{input:?}: {refused:?}"
        );
    }
    assert_eq!(world.load(task(1)).await, before);
}

pub async fn the_first_end_wins<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot"))], at(0))).await;
    let ends = (0..20).map(|n| {
        let input = match n % 3 {
            0 => completed(1),
            1 => Input::Failed { attempt: 1, reason: Reason::Failed, message: None, retryable: false },
            _ => Input::Rejected { attempt: 1, message: None },
        };
        change(task(1), vec![input], at(1))
    });
    let answers = world.apply_all(ends.collect()).await;
    let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    for lost in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        assert!(matches!(lost, Error::Refused(Refusal::Terminal(_))), "{lost:?}");
    }
    let world_state = world.load(task(1)).await.task.state.clone();
    assert_eq!(won[0].known.task().state, world_state);
    let world = world.reopen().await;
    assert_eq!(world.load(task(1)).await.task.state, world_state);
    assert_eq!(world.log(task(1)).await.iter().filter(|event| event.body.is_terminal()).count(), 1);
    let attempts = world.store.attempts(task(1)).await.unwrap();
    assert!(matches!(attempts[..], [ref only] if matches!(only.end, Some(AttemptEnd { .. }))));
}

pub async fn appended_chunks_are_all_there<B: Backend>() {
    let world = World::<B>::new().await;
    let begun = vec![claimed(node("boot")), wrote(1, chunk("a", "begin", false))];
    world.apply(create_with(new(1), begun, at(0))).await;
    let appends =
        (0..50).map(|n| change(task(1), vec![wrote(1, chunk("a", &format!("piece {n}"), true))], at(1)));
    let answers = world.apply_all(appends.collect()).await;
    let mut order: Vec<_> = answers
        .into_iter()
        .enumerate()
        .map(|(n, answer)| (answer.unwrap().events[0].seq, format!("piece {n}")))
        .collect();
    order.sort();
    assert_eq!(order.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (4..54).collect::<Vec<_>>());
    let expected: Vec<_> =
        std::iter::once("begin".to_owned()).chain(order.into_iter().map(|(_, text)| text)).collect();
    let hot = world.load(task(1)).await;
    let world = world.reopen().await;
    let cold = world.load(task(1)).await;
    assert_eq!(hot, cold);
    let texts: Vec<_> = cold.artifacts[0].parts.iter().map(|part| part.as_text().unwrap()).collect();
    assert_eq!(texts, expected);
}

pub async fn sequence_numbers_are_dense<B: Backend>() {
    let world = World::<B>::new().await;
    let creates = (0..8).map(|n| create(new(n), at(0))).collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    let changes = (0..80).map(|n| {
        let inputs = (0..=n / 8 % 3).map(|k| messaged(&format!("{n}-{k}"), "more")).collect();
        change(task(n % 8), inputs, at(1))
    });
    assert!(world.apply_all(changes.collect()).await.iter().all(Result::is_ok));
    for n in 0..8 {
        let log = world.log(task(n)).await;
        let numbers: Vec<_> = log.iter().map(|event| event.seq).collect();
        let last = numbers.len() as u64;
        // Ten operations each: four of one input, three of two, three of three; and the first event.
        assert_eq!(last, 1 + 4 + 6 + 9);
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        assert_eq!(world.load(task(n)).await.task.seq, last);
        assert_eq!(world.heard.events(task(n)), log);
    }
}

pub async fn a_direct_message_is_no_task<B: Backend>() {
    let world = World::<B>::new().await;
    let mut replying = new(1);
    replying.policy = Policy { replies: true, ..Policy::default() };
    let reply = Input::Replied { attempt: 1, message: said("hi") };
    let applied = world.apply(create_with(replying, vec![claimed(node("boot")), reply], at(0))).await;
    assert_eq!(applied.known.task().state, State::Answered);
    let world = world.reopen().await;
    assert_eq!(world.store.find(&by_owner(), task(1)).await.unwrap(), None);
    let mut op = change(task(1), vec![Input::CancelRequested], at(1));
    op.by = by_owner();
    assert!(matches!(world.store.apply(op).await, Err(Error::NotFound)));
    let kept = world.load(task(1)).await;
    assert_eq!(kept.messages.last().unwrap().1.joined_text(), "hi");
}
