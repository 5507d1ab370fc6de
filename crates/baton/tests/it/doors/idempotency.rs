//! Sends that are repeated (report 22).

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{DOORS, TestNode, User, message, state};

const EXTENSION: &str = "urn:x-baton:idempotent-send:v1";

/// The two ways to say that a send may be repeated; the second has its key in the message.
fn ways(user: &User) -> [User; 2] {
    let key = format!("a key over {:?}", user.door);
    [user.with("idempotency-key", &key), user.with("a2a-extensions", &format!("urn:other, {EXTENSION}"))]
}

fn id_of(answer: &Value) -> String {
    answer["task"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_same_send_in_parallel_is_one_task_and_one_execution() {
    let node = TestNode::start().await;
    for user in node.doors("script").iter().flat_map(ways) {
        let said = message("go");
        let sends = futures_util::future::join_all((0..10).map(|_| user.try_send(said.clone())));
        let (answers, id) = tokio::join!(sends, async {
            let attempt = node.attempt("script").await;
            let id = attempt.task();
            attempt.write("out", "once").await;
            attempt.complete().await;
            id
        });
        for answer in answers {
            assert_eq!((id_of(&answer.ok()), state(&answer.ok()["task"])), (id.clone(), "COMPLETED".into()));
        }
        let streamed = user.stream_message(said).await.lines().await;
        assert_eq!(streamed, ["4 task COMPLETED"]);
    }
    assert!(node.is_idle("script"), "each was executed once");
    assert_eq!(node.anyone("script").list(json!({})).await["totalSize"], 2 * DOORS.len());
    node.finish().await;
}

#[tokio::test]
async fn a_repeat_while_the_task_waits_ends_at_the_question() {
    let node = TestNode::start().await;
    for user in node.doors("script").iter().flat_map(ways) {
        let said = message("go");
        let (answer, attempt) = tokio::join!(user.try_send(said.clone()), async {
            let attempt = node.attempt("script").await;
            attempt.ask("which?").await;
            attempt
        });
        assert_eq!(state(&answer.ok()["task"]), "INPUT_REQUIRED");
        assert_eq!(
            user.stream_message(said.clone()).await.lines().await,
            ["3 task INPUT_REQUIRED \"which?\""]
        );
        assert_eq!(user.try_send(said).await.ok(), answer.ok());
        attempt.complete().await;
    }
    node.finish().await;
}

#[tokio::test]
async fn a_key_outlives_a_restart_and_ends_after_a_day() {
    let mut node = TestNode::start().await;
    for door in DOORS {
        let said = message("x");
        let user =
            |node: &TestNode| node.anyone("echo").over(door).with("idempotency-key", &format!("{door:?}"));
        let first = id_of(&user(&node).try_send(said.clone()).await.ok());
        node = node.restart().await;
        assert_eq!(id_of(&user(&node).try_send(said.clone()).await.ok()), first);
        node.clock.advance(std::time::Duration::from_secs(24 * 60 * 60 + 1));
        assert_ne!(id_of(&user(&node).try_send(said.clone()).await.ok()), first);
    }
    node.finish().await;
}

#[tokio::test]
async fn another_message_under_the_same_key_is_refused() {
    let node = TestNode::closed().await;
    let (owner, other) = (node.holder("echo").await, node.holder("echo").await);
    for door in DOORS {
        let [user, other] =
            [&owner, &other].map(|who| who.over(door).with("idempotency-key", &format!("{door:?}")));
        let said = message("x");
        let first = id_of(&user.try_send(said.clone()).await.ok());
        assert_eq!(user.try_send(message("y")).await.invalid(), "message");
        let mut changed = said.clone();
        changed["metadata"] = json!({"n": 1});
        assert_eq!(user.try_send(changed).await.invalid(), "message");
        // Another spelling of the same message is the same message; another owner or agent is another story.
        let mut spelled = json!({"message_id": said["messageId"], "role": 1, "parts": said["parts"]});
        assert_eq!(id_of(&user.try_send(spelled.take()).await.ok()), first);
        assert_ne!(id_of(&other.try_send(said.clone()).await.ok()), first);
        let script = user.to("script");
        let (elsewhere, ()) = tokio::join!(script.try_send(said), async {
            node.attempt("script").await.complete().await;
        });
        assert_ne!(id_of(&elsewhere.ok()), first);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_turn_with_a_key_is_taken_once() {
    let node = TestNode::start().await;
    for user in node.doors("script").iter().flat_map(ways) {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        attempt.ask("which?").await;
        let mut turn = message("this");
        turn["taskId"] = id.as_str().into();
        let at_once = json!({"message": turn, "configuration": {"returnImmediately": true}});
        let turned = user.clone();
        let sends = (0..5).map(|_| turned.call(Operation::SendMessage, at_once.clone()));
        for answer in futures_util::future::join_all(sends).await {
            assert_eq!(id_of(&answer.ok()), id);
        }
        assert_eq!(attempt.hears_message().await, "this");
        turned.call(Operation::SendMessage, at_once.clone()).await.ok();
        let history = user.get(&id).await["history"].as_array().unwrap().len();
        assert_eq!(history, 3, "the question, and the two that were said");
        let mut other = turn.clone();
        other["parts"][0]["text"] = "that".into();
        assert_eq!(turned.try_send(other).await.invalid(), "message");
        attempt.complete().await;
        assert_eq!(state(&turned.call(Operation::SendMessage, at_once).await.ok()["task"]), "COMPLETED");
    }
    node.finish().await;
}

#[tokio::test]
async fn without_a_key_the_same_message_is_another_task() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        let said = message("x");
        let first = id_of(&user.try_send(said.clone()).await.ok());
        assert_ne!(id_of(&user.try_send(said).await.ok()), first);
    }
    node.finish().await;
}

#[tokio::test]
async fn keys_are_checked_and_the_extension_is_confirmed() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        let letter = ["k", "K", "q"][user.door as usize];
        for (key, good) in [("", false), (&*letter.repeat(256), false), (&*letter.repeat(255), true)] {
            let answer = user.with("idempotency-key", key).try_send(message("x")).await;
            if good {
                answer.ok();
            } else {
                assert_eq!(answer.invalid(), "Idempotency-Key", "{} bytes", key.len());
            }
        }
        let active = user.with("a2a-extensions", EXTENSION).try_send(message("x")).await;
        assert_eq!(active.header("a2a-extensions"), Some(EXTENSION));
        assert_eq!(
            user.with("a2a-extensions", "urn:other").try_send(message("x")).await.header("a2a-extensions"),
            None
        );
        user.with("idempotency-key", "é").try_send(message("x")).await.refused(Kind::InvalidParams);
    }
    node.finish().await;
}
