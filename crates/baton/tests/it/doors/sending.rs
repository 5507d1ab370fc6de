//! SendMessage: blocking and not, multi-turn, replies, rejections, limits of waiting.

use std::time::Duration;

use baton::runner::Refused;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{TestNode, chunk, message, state, text_of};

#[tokio::test]
async fn echo_answers_with_what_it_got() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        let task = user.send("hello").await;
        assert_eq!(state(&task), "COMPLETED");
        assert_eq!(text_of(&task["artifacts"][0]), "hello");
        assert_eq!(text_of(&task["history"][0]), "hello");
        assert_eq!(task["history"][0]["taskId"], task["id"]);
        assert_eq!(task["history"][0]["contextId"], task["contextId"]);
        assert_eq!(user.get(task["id"].as_str().unwrap()).await, task);
    }
    node.finish().await;
}

/// Report 6.
#[tokio::test]
async fn a_send_blocks_unless_it_is_told_to_return() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("slowly").await;
        let attempt = node.attempt("script").await;
        assert_eq!(user.state(&id).await, "WORKING");
        attempt.complete().await;

        let work = async {
            let attempt = node.attempt("script").await;
            attempt.progress("half way").await;
            attempt.write("out", "done").await;
            attempt.complete().await;
        };
        let (task, ()) = tokio::join!(user.send("slowly"), work);
        assert_eq!(state(&task), "COMPLETED");
        assert_eq!(text_of(&task["artifacts"][0]), "done");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_blocking_send_returns_the_task_as_it_stands_when_its_time_is_up() {
    let node = TestNode::with(|settings| settings.limits.send_wait = Duration::from_millis(50)).await;
    for user in node.doors("script") {
        let task = user.send("slowly").await;
        assert_eq!(state(&task), "WORKING");
        node.attempt("script").await.complete().await;
        assert_eq!(user.state(task["id"].as_str().unwrap()).await, "COMPLETED");
    }
    node.finish().await;
}

/// Report 1: no runner sees a message to a task that is over.
#[tokio::test]
async fn a_task_that_is_over_takes_no_message_and_no_subscriber() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        for end in 0..4 {
            let id = user.hand_in("go").await;
            let attempt = node.attempt("script").await;
            match end {
                0 => attempt.complete().await,
                1 => attempt.fail("no").await,
                2 => attempt.reject("never").await,
                _ => {
                    let (answer, ()) = tokio::join!(user.cancel(&id), attempt.stops());
                    assert_eq!(state(&answer.ok()), "CANCELED");
                }
            }
            let before = user.get(&id).await;
            user.follow_up(&id, "more").await.refused(Kind::UnsupportedOperation);
            user.subscribe_in_vain(&id).await.refused(Kind::UnsupportedOperation);
            let mut message = message("more");
            message["taskId"] = id.as_str().into();
            let streamed = user.open(Operation::SendStreamingMessage, json!({"message": message})).await;
            streamed.expect_err("no stream begins").refused(Kind::UnsupportedOperation);
            assert_eq!(user.get(&id).await, before);
        }
    }
    assert!(node.is_idle("script"), "no runner heard of it");
    node.finish().await;
}

/// Report 11.
#[tokio::test]
async fn ids_of_tasks_and_contexts_are_kept_apart() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let mut first = message("go");
        first["contextId"] = "not a uuid ünï".into();
        let task = user.hand_in_message(first).await;
        assert_eq!(task["contextId"], "not a uuid ünï");
        let (id, attempt) = (task["id"].as_str().unwrap(), node.attempt("script").await);
        attempt.ask("which?").await;

        let mut elsewhere = message("this one");
        elsewhere["taskId"] = id.into();
        elsewhere["contextId"] = "another".into();
        assert_eq!(user.try_send(elsewhere).await.invalid(), "message.contextId");

        let made_up = baton::clock::new_id().to_string();
        user.follow_up(&made_up, "x").await.refused(Kind::TaskNotFound);
        user.follow_up("no id at all", "x").await.refused(Kind::TaskNotFound);
        user.follow_up(&id.to_uppercase(), "x").await.refused(Kind::TaskNotFound);
        assert_eq!(user.list(json!({})).await["totalSize"], user.door as u64 + 1);

        let (answer, ()) = tokio::join!(user.follow_up(id, "this one"), async {
            let mut attempt = attempt;
            assert_eq!(attempt.hears_message().await, "this one");
            attempt.complete().await;
        });
        assert_eq!(answer.ok()["task"]["contextId"], "not a uuid ünï");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_question_is_answered_and_history_keeps_every_message() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let mut first = message("book a flight");
        first["messageId"] = "m".into();
        let (answer, attempt) = tokio::join!(user.try_send(first), async {
            let attempt = node.attempt("script").await;
            attempt.progress("thinking").await;
            attempt.ask("where to?").await;
            attempt
        });
        let task = &answer.ok()["task"];
        assert_eq!(
            (state(task).as_str(), text_of(&task["status"]["message"])),
            ("INPUT_REQUIRED", "where to?".into())
        );

        // The same messageId again is another turn.
        let mut second = message("Rome");
        (second["messageId"], second["taskId"]) = ("m".into(), task["id"].clone());
        let (answer, attempt) = tokio::join!(user.try_send(second), async {
            let mut attempt = attempt;
            assert_eq!(attempt.hears_message().await, "Rome");
            attempt.ask_for_credentials("log in").await;
            attempt
        });
        assert_eq!(state(&answer.ok()["task"]), "AUTH_REQUIRED");
        let (answer, ()) = tokio::join!(user.follow_up(task["id"].as_str().unwrap(), "done"), async {
            let mut attempt = attempt;
            assert_eq!(attempt.hears_message().await, "done");
            attempt.complete_saying("booked").await;
        });
        let task = &answer.ok()["task"];
        assert_eq!(
            (state(task).as_str(), text_of(&task["status"]["message"])),
            ("COMPLETED", "booked".into())
        );
        let said: Vec<_> = task["history"].as_array().unwrap().iter().map(text_of).collect();
        assert_eq!(said, ["book a flight", "thinking", "where to?", "Rome", "log in", "done"]);
        let ids: Vec<_> = [0, 3].map(|at| task["history"][at]["messageId"].clone()).into();
        assert_eq!(ids, ["m", "m"]);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_message_to_somebody_at_work_is_delivered_where_the_agent_takes_it() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        let (answer, ()) = tokio::join!(user.follow_up(&id, "and faster"), async {
            assert_eq!(attempt.hears_message().await, "and faster");
            attempt.complete().await;
        });
        assert_eq!(state(&answer.ok()["task"]), "COMPLETED");

        let text = user.to("text");
        let id = text.hand_in("go").await;
        let mut attempt = node.attempt("text").await;
        text.follow_up(&id, "and faster").await.refused(Kind::UnsupportedOperation);
        attempt.ask("what?").await;
        let (answer, ()) = tokio::join!(text.follow_up(&id, "this"), async {
            assert_eq!(attempt.hears_message().await, "this");
            attempt.complete().await;
        });
        assert_eq!(answer.ok()["task"]["history"].as_array().unwrap().len(), 3);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_rejection_and_a_failure_say_why() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let (task, ()) =
            tokio::join!(user.send("x"), async { node.attempt("script").await.reject("no").await });
        assert_eq!((state(&task), text_of(&task["status"]["message"])), ("REJECTED".into(), "no".into()));
        let (task, ()) =
            tokio::join!(user.send("x"), async { node.attempt("script").await.fail("broke").await });
        assert_eq!((state(&task), text_of(&task["status"]["message"])), ("FAILED".into(), "broke".into()));
        assert_eq!(task["metadata"]["baton/reason"], "failed");
    }
    node.finish().await;
}

/// Report 7.
#[tokio::test]
async fn artifacts_are_reduced_by_id_and_a_bad_append_spoils_nothing() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let (task, ()) = tokio::join!(user.send("x"), async {
            let attempt = node.attempt("script").await;
            attempt.write("a", "Hello").await;
            attempt.append("a", " world").await;
            let refused = attempt.report(vec![chunk("b", "lost", true, false)]).await;
            assert!(matches!(refused, Err(Refused::Invalid(_))), "{refused:?}");
            attempt.write("c", "first").await;
            attempt.write("c", "second").await;
            attempt.complete().await;
        });
        let artifacts: Vec<_> = task["artifacts"].as_array().unwrap().iter().map(text_of).collect();
        assert_eq!(artifacts, ["Hello world", "second"]);
    }
    node.finish().await;
}

/// Report 10.
#[tokio::test]
async fn history_is_as_long_as_was_asked_for() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("one").await;
        let mut attempt = node.attempt("script").await;
        for text in ["two", "three"] {
            attempt.ask("?").await;
            let ((), said) = tokio::join!(
                async { drop(user.call(Operation::SendMessage, follow_up(&id, text, true)).await.ok()) },
                attempt.hears_message()
            );
            assert_eq!(said, text);
        }
        attempt.complete().await;
        let texts = |task: &Value| -> Vec<String> {
            task.get("history")
                .map_or(Vec::new(), |all| all.as_array().unwrap().iter().map(text_of).collect())
        };
        let all = ["one", "?", "two", "?", "three"];
        for (length, wanted) in
            [(None, &all[..]), (Some(0), &[]), (Some(1), &all[4..]), (Some(1_000_000_000), &all)]
        {
            let mut params = json!({"id": id});
            let mut listing = json!({"contextId": user.get(&id).await["contextId"]});
            if let Some(length) = length {
                params["historyLength"] = length.into();
                listing["historyLength"] = length.into();
            }
            assert_eq!(texts(&user.call(Operation::GetTask, params).await.ok()), wanted, "{length:?}");
            assert_eq!(texts(&user.list(listing).await["tasks"][0]), wanted, "{length:?}");
        }
        assert_eq!(
            user.call(Operation::GetTask, json!({"id": id, "historyLength": -1})).await.invalid(),
            "historyLength"
        );
        assert_eq!(
            user.call(Operation::ListTasks, json!({"historyLength": -1})).await.invalid(),
            "historyLength"
        );
        let send = |length: i32| json!({"message": message("x"), "configuration": {"historyLength": length}});
        let echo = user.to("echo");
        assert_eq!(
            echo.call(Operation::SendMessage, send(-1)).await.invalid(),
            "configuration.historyLength"
        );
        assert_eq!(texts(&echo.call(Operation::SendMessage, send(0)).await.ok()["task"]), [""; 0]);
        assert_eq!(texts(&echo.call(Operation::SendMessage, send(1)).await.ok()["task"]), ["x"]);
        assert_eq!(texts(&user.get(&id).await), all, "stored history never shrinks");
    }
    node.finish().await;
}

fn follow_up(task: &str, text: &str, at_once: bool) -> Value {
    let mut message = message(text);
    message["taskId"] = task.into();
    json!({"message": message, "configuration": {"returnImmediately": at_once}})
}
