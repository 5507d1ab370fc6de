//! Agents that may answer with a direct Message.

use std::time::Duration;

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use crate::harness::{TestNode, message, state, text_of, until};

#[tokio::test]
async fn a_reply_is_a_message_and_no_task() {
    let node = TestNode::start().await;
    for user in node.doors("talker") {
        let (answer, id) = tokio::join!(user.try_send(message("hi")), async {
            let attempt = node.attempt("talker").await;
            let id = attempt.task();
            attempt.reply("hello").await;
            id
        });
        let answer = answer.ok();
        assert!(answer.get("task").is_none());
        let reply = &answer["message"];
        assert_eq!((text_of(reply).as_str(), &reply["role"]), ("hello", &json!("ROLE_AGENT")));
        assert!(reply["messageId"].as_str().is_some_and(|id| !id.is_empty()));
        user.call(Operation::GetTask, json!({"id": id})).await.refused(Kind::TaskNotFound);
        user.cancel(&id).await.refused(Kind::TaskNotFound);
        user.subscribe_in_vain(&id).await.refused(Kind::TaskNotFound);
        user.follow_up(&id, "x").await.refused(Kind::TaskNotFound);
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_stream_carries_the_message_alone() {
    let node = TestNode::start().await;
    for user in node.doors("talker") {
        let stream = user.stream("hi").await;
        node.attempt("talker").await.reply("hello").await;
        assert_eq!(stream.lines().await, ["3 message hello"]);

        // Once anything else was said, it is a task to its end.
        let stream = user.stream("hi").await;
        let attempt = node.attempt("talker").await;
        attempt.progress("let me see").await;
        attempt.reply("hello").await;
        let task = ["1 task SUBMITTED", "2 WORKING", "3 WORKING \"let me see\"", "4 COMPLETED \"hello\""];
        assert_eq!(stream.lines().await, task);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_task_that_was_shown_stays_one() {
    let node = TestNode::with(|settings| settings.limits.send_wait = Duration::from_millis(50)).await;
    for user in node.doors("talker") {
        for way in 0..5 {
            let (id, attempt) = match way {
                0 => (user.hand_in("hi").await, node.attempt("talker").await),
                // Its time is up.
                1 => {
                    let task = user.send("hi").await;
                    (task["id"].as_str().unwrap().to_owned(), node.attempt("talker").await)
                }
                _ => {
                    let stream = user.stream("hi").await;
                    let attempt = node.attempt("talker").await;
                    let id = attempt.task();
                    match way {
                        2 => drop(user.subscribe(&id).await),
                        3 => drop(user.get(&id).await),
                        _ => assert_eq!(user.list(json!({})).await["tasks"][0]["id"], id.as_str()),
                    }
                    drop(stream);
                    (id, attempt)
                }
            };
            attempt.reply("hello").await;
            let task = user.get(&id).await;
            assert_eq!(
                (state(&task).as_str(), text_of(&task["status"]["message"])),
                ("COMPLETED", "hello".into()),
                "{way}"
            );
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn an_agent_that_does_not_reply_completes_with_what_it_said() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let (task, ()) =
            tokio::join!(user.send("hi"), async { node.attempt("script").await.reply("hello").await });
        assert_eq!(
            (state(&task).as_str(), text_of(&task["status"]["message"])),
            ("COMPLETED", "hello".into())
        );
    }
    node.finish().await;
}

/// The record is kept for audit; the operator sees it.
#[tokio::test]
async fn a_reply_with_a_key_is_the_same_reply_again() {
    let node = TestNode::start().await;
    for user in node.doors("talker") {
        let user = user.with("idempotency-key", &format!("{:?}", user.door));
        let said = message("hi");
        let (first, ()) = tokio::join!(user.try_send(said.clone()), async {
            node.attempt("talker").await.reply("hello").await;
        });
        assert_eq!(user.try_send(said.clone()).await.body, first.body);
        let at_once = json!({"message": said, "configuration": {"returnImmediately": true}});
        assert_eq!(user.call(Operation::SendMessage, at_once).await.ok(), first.ok());
        assert_eq!(user.stream_message(said).await.lines().await, ["3 message hello"]);
    }
    assert!(node.is_idle("talker"));
    until("no attempt is left", async || node.node().service.hub.is_empty()).await;
    node.finish().await;
}
