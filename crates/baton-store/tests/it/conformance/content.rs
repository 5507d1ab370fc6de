//! Content: exact, whole, in order, and of any size.

use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::{Artifact, Message, Part};
use baton_core::task::{Chunk, Input, Reason, Refusal, Request};
use baton_store::{By, Error, Tasks};

use super::Backend;
use super::script::*;
use super::world::World;

const NUMBERS: &str = r#"{"a":3,"b":3.0,"c":9007199254740993,"d":1e400,"e":-0.0,"f":0.10}"#;

pub async fn numbers_are_exact<B: Backend>() {
    let object = || Some(Object::parse(NUMBERS).unwrap());
    let mut made = new(1);
    made.request = Request { metadata: object(), ..Request::default() };
    made.message =
        Arc::new(Message { parts: vec![data(NUMBERS)], metadata: object(), ..Message::clone(&made.message) });
    let artifact = Artifact {
        artifact_id: "a".into(),
        parts: vec![data(NUMBERS)],
        metadata: object(),
        ..Artifact::default()
    };
    let chunk = Arc::new(Chunk { artifact: Arc::new(artifact), append: false, last_chunk: true });
    let used = Input::Used { attempt: 1, usage: object().unwrap() };
    let inputs = vec![claimed(node("boot")), wrote(1, chunk), used];

    let world = World::<B>::new().await;
    world.apply(create_with(made, inputs, at(0))).await;
    let world = world.reopen().await;
    let found = world.load(task(1)).await;
    let exact = data(NUMBERS);
    assert_eq!(found.messages[0].1.parts[0], exact);
    assert_eq!(found.artifacts[0].parts[0], exact);
    for object in [
        &found.task.request.metadata,
        &found.messages[0].1.metadata,
        &found.artifacts[0].metadata,
        &found.task.usage,
    ] {
        assert_eq!(object.as_ref().unwrap().as_str(), NUMBERS);
    }
}

pub async fn a_long_history<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    for hundred in 0..10 {
        let inputs = (0..100).map(|n| messaged("m", &format!("{}", hundred * 100 + n))).collect();
        world.change(task(1), inputs, at(1)).await;
    }
    let hot = world.load(task(1)).await;
    let world = world.reopen().await;
    let cold = world.load(task(1)).await;
    assert_eq!(hot, cold);
    assert_eq!(cold.messages.len(), 1_001);
    for (at, (seq, message)) in cold.messages.iter().enumerate().skip(1) {
        assert_eq!((*seq, message.joined_text()), (at as u64 + 1, format!("{}", at - 1)));
    }
    let history = cold.object(None, false).history;
    assert_eq!((history.len(), history[0].joined_text()), (1_000, "0".to_owned()));
}

/// More than a backend keeps in memory, written piece by piece.
pub async fn a_large_artifact<B: Backend>() {
    let world = World::<B>::new().await;
    let piece = |n: usize| format!("{n:04}").repeat(16 * 1024);
    let begun = vec![claimed(node("boot")), wrote(1, chunk("a", &piece(0), false))];
    world.apply(create_with(new(1), begun, at(0))).await;
    for n in 1..12 {
        let applied = world.change(task(1), vec![wrote(1, chunk("a", &piece(n), true))], at(1)).await;
        assert_eq!(applied.known.task().seq, n as u64 + 3);
        assert_eq!(world.load(task(1)).await.artifacts[0].parts.len(), n + 1);
    }
    let refused = world.store.apply(change(task(1), vec![messaged("m", "x")], at(2))).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotWhileWorking))), "{refused:?}");
    let done = world.change(task(1), vec![completed(1)], at(3)).await;
    let hot = world.load(task(1)).await;
    assert_eq!(hot.task, *done.known.task());
    let whole: String = hot.artifacts[0].parts.iter().filter_map(Part::as_text).collect();
    assert_eq!(whole, (0..12).map(piece).collect::<String>());
    let world = world.reopen().await;
    // Read from the disk, and from memory then.
    for _ in 0..2 {
        assert_eq!(*world.store.find_head(&by_owner(), task(1)).await.unwrap().unwrap(), hot.task);
        assert_eq!(world.load(task(1)).await, hot);
    }
    assert_eq!(world.store.find(&by_owner(), task(1)).await.unwrap(), Some(hot));
}

pub async fn equal_message_ids_are_kept<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![messaged("first", "two"), messaged("first", "three")], at(0))).await;
    world.change(task(1), vec![messaged("first", "four")], at(0)).await;
    let found = world.reopen().await.load(task(1)).await;
    assert!(found.messages.iter().all(|(_, message)| message.message_id == "first"));
    let texts: Vec<_> = found.messages.iter().map(|(_, message)| message.joined_text()).collect();
    assert_eq!(texts, ["hello", "two", "three", "four"]);
}

pub async fn a_retry_replaces_artifacts<B: Backend>() {
    let world = World::<B>::new().await;
    let failed = Input::Failed { attempt: 1, reason: Reason::Transient, message: None, retryable: true };
    let first = vec![
        claimed(node("boot")),
        wrote(1, chunk("a", "old", false)),
        wrote(1, chunk("a", "er", true)),
        wrote(1, chunk("b", "kept", false)),
        failed,
    ];
    world.apply(create_with(new(1), first, at(0))).await;
    let world = world.reopen().await;
    let later = at(24 * 60 * 60 * 1000);
    let again =
        vec![claimed(node("boot")), wrote(2, chunk("a", "new", true)), wrote(2, chunk("a", "er", true))];
    world.change(task(1), again, later).await;
    let hot = world.load(task(1)).await;
    let world = world.reopen().await;
    let cold = world.load(task(1)).await;
    assert_eq!(hot, cold);
    let texts: Vec<Vec<_>> = cold
        .artifacts
        .iter()
        .map(|artifact| artifact.parts.iter().filter_map(Part::as_text).collect())
        .collect();
    assert_eq!(texts, [vec!["new", "er"], vec!["kept"]]);
}

pub async fn any_text<B: Backend>() {
    let odd = "NUL \0, quote ', \" and \\, \u{2028}, \u{10ffff}, 🦀, end";
    let mut made = new(1);
    made.owner.subject = odd.into();
    made.message = user(odd, odd);
    let by = By::Owner(made.agent.clone(), made.owner.clone());
    let world = World::<B>::new().await;
    let mut op = create_keyed(made, odd, 1, at(0));
    op.inputs = vec![claimed(worker(odd)), wrote(1, chunk(odd, odd, false)), wrote(1, chunk(odd, "", true))];
    let answered = world.apply(op).await;
    let world = world.reopen().await;
    let found = world.store.find(&by, task(1)).await.unwrap().unwrap();
    assert_eq!(Some(&found), answered.known.snapshot());
    assert_eq!(found.messages[0].1.joined_text(), odd);
    assert_eq!(&*world.store.attempts(task(1)).await.unwrap()[0].holder.name, odd);
}
