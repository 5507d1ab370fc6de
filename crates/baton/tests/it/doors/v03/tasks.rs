//! Tasks sent, shown, listed and cancelled.

use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{id, message, old, state};
use crate::harness::{TestNode, until};

#[tokio::test]
async fn a_task_in_both_spellings() {
    let node = TestNode::start().await;
    for client in old(&node, "echo") {
        let task = client.send("hello").await;
        let got = client.get(&id(&task)).await;
        assert_eq!(got, task);
        let part = &task["artifacts"][0]["parts"][0];
        assert_eq!(part["text"], "hello");
        let said = &task["history"][0];
        if client.is_rpc() {
            assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
            assert_eq!((&said["kind"], &said["role"]), (&json!("message"), &json!("user")));
            assert_eq!((&said["parts"][0]["kind"], &part["kind"]), (&json!("text"), &json!("text")));
        } else {
            assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
            assert_eq!((&said["role"], &said["content"][0]["text"]), (&json!("ROLE_USER"), &json!("hello")));
            assert!(!task.to_string().contains("kind"), "{task}");
        }
    }
    node.finish().await;
}

/// The conformance kit writes and reads snake_case, and nothing else.
#[tokio::test]
async fn rest_answers_in_the_case_of_the_request() {
    let node = TestNode::start().await;
    let [_, client] = old(&node, "echo");
    let written = json!({"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]});
    let task = client.payload(&client.try_send(written.clone(), json!({"blocking": true})).await);
    let said = &task["history"][0];
    assert_eq!((&said["message_id"], &said["task_id"]), (&json!("m"), &task["id"]), "{task}");
    assert_eq!((&said["context_id"], task["context_id"].is_string()), (&task["context_id"], true), "{task}");
    assert!(task["artifacts"][0]["artifact_id"].is_string(), "{task}");
    let mut stream = client.open(client.send_request("stream", &json!({"message": written}))).await;
    let first = stream.event().await.unwrap();
    assert!(first.data.contains("\"context_id\"") && !first.data.contains("contextId"), "{first:?}");

    // The definition's own name for the message.
    let all = json!({"request": written, "configuration": {"blocking": true}});
    let task = client.payload(&client.user.ask(client.send_request("send", &all)).await);
    assert!(task["context_id"].is_string() && task.get("contextId").is_none(), "{task}");

    // A word of the message is none of its names.
    let mut other = message("message_id");
    other["metadata"] = json!({"message_id": 1});
    let task = client.payload(&client.try_send(other, json!({"blocking": true})).await);
    assert_eq!(task["history"][0]["metadata"], json!({"message_id": 1}));
    assert!(task["contextId"].is_string() && task.get("context_id").is_none(), "{task}");
    node.finish().await;
}

/// Both versions are two views of one task.
#[tokio::test]
async fn the_other_version_shows_the_same_task() {
    let node = TestNode::start().await;
    let current = node.anyone("script");
    for client in old(&node, "script") {
        let task = id(&client.hand_in("x").await);
        let mut attempt = node.attempt("script").await;
        attempt.ask("which?").await;
        assert_eq!(current.state(&task).await, "INPUT_REQUIRED");
        assert_eq!(state(&client.get(&task).await), "input-required");
        tokio::join!(current.follow_up(&task, "this"), async {
            assert_eq!(attempt.hears_message().await, "this");
            attempt.complete().await;
        });
        assert_eq!(state(&client.get(&task).await), "completed");
    }
    node.finish().await;
}

/// Report 6.
#[tokio::test]
async fn who_says_nothing_waits_over_json_rpc_and_not_over_rest() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        for (configuration, waits) in [
            (json!(null), client.is_rpc()),
            (json!({}), client.is_rpc()),
            (json!({"blocking": true}), true),
            (json!({"blocking": false}), false),
        ] {
            let sent = client.try_send(message("x"), configuration.clone());
            if waits {
                let (answer, ()) =
                    tokio::join!(sent, async { node.attempt("script").await.complete().await });
                assert_eq!(state(&client.payload(&answer)), "completed", "{configuration}");
            } else {
                let task = client.payload(&sent.await);
                assert!(["submitted", "working"].contains(&&*state(&task)), "{configuration} {task}");
                node.attempt("script").await.complete().await;
            }
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn a_question_and_its_answer() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        let (task, mut attempt) = tokio::join!(client.send("x"), async {
            let attempt = node.attempt("script").await;
            attempt.ask("which?").await;
            attempt
        });
        assert_eq!(state(&task), "input-required");
        let mut answer = message("this one");
        answer["taskId"] = task["id"].clone();
        answer["contextId"] = task["contextId"].clone();
        let (done, ()) = tokio::join!(client.try_send(answer, json!({"blocking": true})), async {
            assert_eq!(attempt.hears_message().await, "this one");
            attempt.complete().await;
        });
        assert_eq!(state(&client.payload(&done)), "completed");
    }
    node.finish().await;
}

/// Report 11, with the messages of 0.3.
#[tokio::test]
async fn ids_of_tasks_and_contexts_are_kept_apart() {
    let node = TestNode::start().await;
    for (client, tasks) in old(&node, "script").into_iter().zip(1..) {
        let mut first = message("go");
        first["contextId"] = "not a uuid ünï".into();
        let task = client.payload(&client.try_send(first, json!({"blocking": false})).await);
        assert_eq!(task["contextId"], "not a uuid ünï");
        let mut attempt = node.attempt("script").await;
        attempt.ask("which?").await;

        let turn = |task: &Value, context: Option<&str>| {
            let mut turn = message("this one");
            turn["taskId"] = task.clone();
            if let Some(context) = context {
                turn["contextId"] = context.into();
            }
            client.try_send(turn, json!({"blocking": true}))
        };
        assert_eq!(turn(&task["id"], Some("another")).await.invalid(), "message.contextId");
        turn(&json!(baton::clock::new_id()), None).await.refused(Kind::TaskNotFound);
        turn(&json!("no id at all"), Some("x")).await.refused(Kind::TaskNotFound);
        let count = node.anyone("script").list(json!({})).await;
        assert_eq!(count["totalSize"], tasks, "nothing was made");

        let (answer, ()) = tokio::join!(turn(&task["id"], None), async {
            assert_eq!(attempt.hears_message().await, "this one");
            attempt.complete().await;
        });
        let done = client.payload(&answer);
        assert_eq!((state(&done).as_str(), &done["contextId"]), ("completed", &task["contextId"]));
    }
    node.finish().await;
}

#[tokio::test]
async fn cancelling_needs_no_body() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        let task = id(&client.hand_in("x").await);
        let attempt = node.attempt("script").await;
        let (answer, ()) = tokio::join!(client.about("cancel", &task), attempt.stops());
        assert_eq!(state(&answer.ok()), "canceled");
        let spelled = if client.is_rpc() { "canceled" } else { "TASK_STATE_CANCELLED" };
        assert_eq!(answer.ok()["status"]["state"], spelled);
    }
    node.finish().await;
}

/// Report 10, and what 0.3 has in its query.
#[tokio::test]
async fn history_in_every_length() {
    let node = TestNode::start().await;
    for client in old(&node, "echo") {
        let task = id(&client.send("x").await);
        for (length, left) in [(0, 0), (1, 1), (1_000_000_000, 1)] {
            let request = if client.is_rpc() {
                client.rpc("tasks/get", &json!({"id": task, "historyLength": length}))
            } else {
                client.user.raw("GET", &format!("/v1/tasks/{task}?history_length={length}"), "")
            };
            let shown = client.user.ask(request).await.ok();
            assert_eq!(shown["history"].as_array().map_or(0, Vec::len), left, "{length}");
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn a_direct_message_is_one() {
    let node = TestNode::start().await;
    for client in old(&node, "talker") {
        let (said, ()) = tokio::join!(client.send("hi"), async {
            node.attempt("talker").await.reply("hello").await;
        });
        let (role, parts) = if client.is_rpc() { ("agent", "parts") } else { ("ROLE_AGENT", "content") };
        assert_eq!((&said["role"], &said[parts][0]["text"]), (&json!(role), &json!("hello")));
        assert_eq!(said.get("kind"), client.is_rpc().then_some(&json!("message")));
    }
    until("no attempt is left", async || node.node().service.hub.is_empty()).await;
    node.finish().await;
}

#[tokio::test]
async fn tasks_are_listed() {
    let node = TestNode::start().await;
    for (client, sent) in old(&node, "echo").into_iter().zip(1..) {
        client.send("x").await;
        let request = if client.is_rpc() {
            client.rpc("tasks/list", &json!({"status": "completed"}))
        } else {
            client.user.raw("GET", "/v1/tasks?status=TASK_STATE_COMPLETED", "")
        };
        let page = client.user.ask(request).await.ok();
        assert_eq!((&page["totalSize"], &page["nextPageToken"]), (&json!(sent), &json!("")));
        assert_eq!(state(&page["tasks"][0]), "completed");
    }
    node.finish().await;
}

/// 0.3 has no tenants: `/v1/…` at the origin is the default agent, whose name nobody says.
#[tokio::test]
async fn the_default_agent_is_at_the_origin() {
    let node = TestNode::start().await;
    let [_, client] = old(&node, "echo");
    let task = client.send("x").await;
    for path in [format!("/v1/tasks/{}", id(&task)), format!("/a2a/echo/v1/tasks/{}", id(&task))] {
        let request = crate::harness::request("GET", &client.user.at_origin(&path), &[], "");
        assert_eq!(client.user.ask(request).await.ok(), task, "{path}");
    }
    node.finish().await;
}

/// What the JavaScript and the Python library make of a file, and data that is no object.
#[tokio::test]
async fn files_and_data_come_back_as_they_were() {
    let node = TestNode::start().await;
    for client in old(&node, "echo") {
        let parts = if client.is_rpc() {
            json!([
                {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "hi.txt"}},
                {"kind": "file", "file": {"uri": "https://example.com/a", "name": "a"}},
                {"kind": "data", "data": {"data": {"n": 9_007_199_254_740_993_u64}}, "metadata": {"m": 1.0}},
                {"kind": "data", "data": {"value": [3, "x"]}, "metadata": {"data_part_compat": true}},
            ])
        } else {
            json!([
                {"file": {"fileWithBytes": "YUdrPQ==", "mimeType": "text/plain", "name": "hi.txt"}},
                {"file": {"fileWithUri": "https://example.com/a", "name": "a"}},
                {"data": {"data": {"n": 9_007_199_254_740_993_u64}}, "metadata": {"m": 1.0}},
                {"data": {"data": {"value": [3, "x"]}}, "metadata": {"data_part_compat": true}},
            ])
        };
        let (role, name) = if client.is_rpc() { ("user", "parts") } else { ("ROLE_USER", "content") };
        let sent = json!({"messageId": "m", "role": role, name: parts});
        let task = client.payload(&client.try_send(sent, json!({"blocking": true})).await);
        assert_eq!(task["artifacts"][0]["parts"], parts);
        assert_eq!(task["history"][0][name], parts);
        let current: Value = node.anyone("echo").get(&id(&task)).await;
        assert_eq!(current["history"][0]["parts"][3]["data"], json!([3, "x"]));
    }
    node.finish().await;
}

/// 0.3 calls the header otherwise, and its answer too.
#[tokio::test]
async fn an_extension_is_activated_by_the_header_of_0_3() {
    const EXTENSION: &str = "urn:x-baton:idempotent-send:v1";
    let node = TestNode::start().await;
    for mut client in old(&node, "echo") {
        client.user = client.user.with("x-a2a-extensions", EXTENSION);
        let said = message("once");
        let first = client.try_send(said.clone(), json!({"blocking": true})).await;
        assert_eq!(first.header("x-a2a-extensions"), Some(EXTENSION));
        let again = client.try_send(said, json!({"blocking": true})).await;
        assert_eq!(id(&client.payload(&first)), id(&client.payload(&again)));
    }
    node.finish().await;
}
