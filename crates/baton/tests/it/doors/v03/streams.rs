//! Streams: one Task first and never again, `final` where the stream ends, refusals that clients can read.

use http::HeaderValue;
use serde_json::{Value, json};

use super::{message, old};
use crate::harness::{TestNode, until};

#[tokio::test]
async fn from_the_task_to_its_final_update() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        let stream = client.stream("x").await;
        let attempt = node.attempt("script").await;
        attempt.write("out", "Hello").await;
        attempt.append("out", " world").await;
        attempt.complete().await;
        let lines = stream.lines().await;
        assert_eq!(lines, ["task submitted", "working", "out=Hello", "out+= world", "completed, final"]);
    }
    node.finish().await;
}

/// The stream of a send ends at a question, and says so; a subscription goes on.
#[tokio::test]
async fn a_question_is_final_where_the_stream_ends() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        let stream = client.stream("x").await;
        let attempt = node.attempt("script").await;
        let mut other = client.open(client.about_request("resubscribe", &attempt.task())).await;
        assert_eq!(other.line().await, "task working");
        attempt.ask("which?").await;
        assert_eq!(stream.lines().await, ["task submitted", "working", "input-required, final"]);
        assert_eq!(other.line().await, "input-required");
        let mut answer = message("this");
        answer["taskId"] = attempt.task().into();
        let stream = client.open(client.send_request("stream", &json!({"message": answer}))).await;
        attempt.complete().await;
        let lines = stream.lines().await;
        assert_eq!(lines.last().map(String::as_str), Some("completed, final"));
        assert_eq!(lines.iter().filter(|line| line.starts_with("task")).count(), 1, "{lines:?}");
        assert_eq!(other.lines().await, ["working", "completed, final"]);
    }
    node.finish().await;
}

/// Reports 2 and 3: who goes away ends nothing, and who comes back gets the rest.
#[tokio::test]
async fn a_run_outlives_its_readers() {
    let node = TestNode::start().await;
    for client in old(&node, "script") {
        let mut stream = client.stream("x").await;
        let attempt = node.attempt("script").await;
        assert_eq!(stream.line().await, "task submitted");
        drop(stream);
        attempt.write("out", "a").await;
        let again = client.open(client.about_request("resubscribe", &attempt.task())).await;
        attempt.append("out", "b").await;
        attempt.complete().await;
        assert_eq!(again.lines().await, ["task working", "out+=b", "completed, final"]);

        // Exactly while the end is being stored.
        let mut stream = client.stream("x").await;
        let attempt = node.attempt("script").await;
        let task = attempt.task();
        attempt.write("out", "x").await;
        assert_eq!(stream.line().await, "task submitted");
        tokio::join!(attempt.complete(), async { drop(stream) });
        let task = client.get(&task).await;
        let part = &task["artifacts"][0]["parts"][0]["text"];
        assert_eq!((super::state(&task).as_str(), part), ("completed", &json!("x")));
    }
    node.finish().await;
}

#[tokio::test]
async fn a_direct_message_is_the_whole_stream() {
    let node = TestNode::start().await;
    for client in old(&node, "talker") {
        let stream = client.stream("hi").await;
        node.attempt("talker").await.reply("hello").await;
        assert_eq!(stream.lines().await, ["message hello"]);
    }
    until("no attempt is left", async || node.node().service.hub.is_empty()).await;
    node.finish().await;
}

/// Report 13: by GET and by POST, without a body; with `Last-Event-ID` as in 1.0.
#[tokio::test]
async fn resubscribing_in_every_way() {
    let node = TestNode::start().await;
    let [rpc, rest] = old(&node, "script");
    let task = super::id(&rpc.hand_in("x").await);
    let attempt = node.attempt("script").await;
    attempt.write("out", "a").await;
    let below = format!("/v1/tasks/{task}:subscribe");
    let mut streams = vec![rpc.open(rpc.about_request("resubscribe", &task)).await];
    for (method, body) in [("GET", ""), ("POST", ""), ("POST", "{}")] {
        streams.push(rest.open(rest.user.raw(method, &below, body)).await);
    }
    for stream in &mut streams {
        assert_eq!(stream.line().await, "task working");
    }
    let mut resumed = rest.user.with("last-event-id", "2").raw("GET", &below, "");
    resumed.headers_mut().insert("accept", HeaderValue::from_static("text/event-stream"));
    streams.push(rest.open(resumed).await);
    let last = streams.last_mut().unwrap();
    assert_eq!((last.line().await, last.line().await), ("task working".into(), "out=a".into()));
    attempt.complete().await;
    for stream in streams {
        assert_eq!(stream.lines().await, ["completed, final"]);
    }
    node.finish().await;
}

/// The clients of 0.3 lose the code of a plain answer to a JSON-RPC request for a stream, and keep that of an event.
/// Over REST it is the other way round: there the code of a plain answer is read.
#[tokio::test]
async fn a_refused_stream_says_why() {
    let node = TestNode::start().await;
    let [rpc, rest] = old(&node, "echo");
    let ended = super::id(&rpc.send("x").await);
    let mut follow_up = message("x");
    follow_up["taskId"] = ended.as_str().into();
    let follow_up = json!({"message": follow_up});
    let refused = || {
        [
            (rpc.rpc("tasks/resubscribe", &json!({"id": "made up"})), -32001),
            (rpc.rpc("tasks/resubscribe", &json!({"id": ended})), -32004),
            (rpc.rpc("message/stream", &follow_up), -32004),
            (rpc.rpc("message/stream", &json!({})), -32602),
        ]
    };
    for (request, code) in refused() {
        let mut stream = rpc.open(request).await;
        let event = stream.event().await.unwrap();
        let value: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((&value["error"]["code"], &value["id"]), (&json!(code), &json!(1)), "{value}");
        assert_eq!(stream.event().await, None);
    }
    // Who does not ask for events gets plain JSON.
    for (request, code) in refused() {
        let answer = rpc.user.ask(request).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &json!(code)));
    }
    for (request, status, code) in [
        (rest.about_request("resubscribe", "made-up"), 404, -32001),
        (rest.about_request("resubscribe", &ended), 400, -32004),
        (rest.send_request("stream", &follow_up), 400, -32004),
    ] {
        let answer = rest.user.ask(request).await;
        assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)));
    }
    node.finish().await;
}

/// What stands in front of the protocol stays an HTTP status, also where events are wanted.
#[tokio::test]
async fn without_credentials_no_stream_begins() {
    let node = TestNode::closed().await;
    let [rpc, rest] = old(&node, "echo");
    for client in [rpc, rest] {
        let mut request = client.send_request("stream", &json!({"message": message("x")}));
        request.headers_mut().insert("accept", HeaderValue::from_static("text/event-stream"));
        let answer = client.user.ask(request).await;
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").is_some());
    }
    node.finish().await;
}
