//! Refusals: the codes of 0.3, and over REST the two shapes in one object that its clients read.

use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{Old, id, message, old};
use crate::harness::{Answer, TestNode};

/// The code that a client of 0.3 reads; the rest of the answer is held to the one table.
#[track_caller]
fn refused(client: &Old, answer: &Answer, kind: Kind) -> Value {
    let error = answer.refused(kind);
    if !client.is_rpc() {
        let body = answer.json();
        assert_eq!((&body["code"], &body["message"]), (&json!(kind.row().code), &error["message"]), "{body}");
    }
    error
}

#[tokio::test]
async fn every_code() {
    let node = TestNode::start().await;
    for client in old(&node, "echo") {
        let ended = id(&client.send("x").await);
        for verb in ["get", "cancel", "resubscribe"] {
            refused(&client, &client.about(verb, "made-up").await, Kind::TaskNotFound);
        }
        refused(&client, &client.about("cancel", &ended).await, Kind::TaskNotCancelable);
        refused(&client, &client.about("resubscribe", &ended).await, Kind::UnsupportedOperation);
        let to = |task: &str| {
            let mut message = message("x");
            message["taskId"] = task.into();
            client.try_send(message, json!(null))
        };
        refused(&client, &to(&ended).await, Kind::UnsupportedOperation);
        refused(&client, &to("made-up").await, Kind::TaskNotFound);
        refused(&client, &client.try_send(json!({}), json!(null)).await, Kind::InvalidParams);
        let broken = client.user.raw("POST", if client.is_rpc() { "" } else { "/v1/message:send" }, "{");
        refused(&client, &client.user.ask(broken).await, Kind::Parse);
        let text = client.user.with("content-type", "application/xml");
        let wrong = text.raw("POST", if client.is_rpc() { "" } else { "/v1/message:send" }, "<x/>");
        refused(&client, &client.user.ask(wrong).await, Kind::ContentTypeNotSupported);
    }
    let [rpc, rest] = old(&node, "echo");
    refused(&rpc, &rpc.user.ask(rpc.rpc("tasks/nonsense", &json!({}))).await, Kind::MethodNotFound);
    refused(&rest, &rest.user.ask(rest.user.raw("GET", "/v1/nonsense", "")).await, Kind::UnknownPath);
    refused(&rest, &rest.user.ask(rest.user.raw("DELETE", "/v1/card", "")).await, Kind::MethodNotAllowed);
    refused(
        &rest,
        &rest.user.ask(rest.user.raw("GET", "/v1/extendedAgentCard", "")).await,
        Kind::UnknownPath,
    );
    node.finish().await;
}

/// Report 12, with the methods and paths of 0.3.
#[tokio::test]
async fn the_version_that_is_asked_for_decides() {
    let node = TestNode::start().await;
    for mut client in old(&node, "echo") {
        let plain = client.user.clone();
        for good in ["0.3", "0.3.0", "", " "] {
            client.user = plain.with("a2a-version", good);
            client.send("x").await;
        }
        let elsewhere = if client.is_rpc() { Kind::MethodNotFound } else { Kind::UnknownPath };
        for (wrong, kind) in [
            ("1.0", elsewhere),
            ("1.0.1", elsewhere),
            ("0.2", Kind::VersionNotSupported),
            ("99.0", Kind::VersionNotSupported),
            ("0.3, 1.0", Kind::VersionNotSupported),
        ] {
            client.user = plain.with("a2a-version", wrong);
            refused(&client, &client.try_send(message("x"), json!(null)).await, kind);
        }
    }
    node.finish().await;
}

/// Report 15: what belongs to another grant answers exactly as what never was.
#[tokio::test]
async fn another_grants_task_is_not_there() {
    let node = TestNode::closed().await;
    let (_, mine) = node.grant(&["echo"], &Verb::ALL).await;
    let (_, other) = node.grant(&["echo"], &Verb::ALL).await;
    for (mine, other) in mine.json_doors().into_iter().zip(other.json_doors()) {
        let (mine, other) = (Old { user: mine }, Old { user: other });
        let task = id(&mine.send("x").await);
        let made_up = baton::clock::new_id().to_string();
        for verb in ["get", "cancel", "resubscribe"] {
            let (theirs, nobodys) = (other.about(verb, &task).await, other.about(verb, &made_up).await);
            refused(&other, &theirs, Kind::TaskNotFound);
            assert_eq!(theirs.text().replace(&task, "-"), nobodys.text().replace(&made_up, "-"));
        }
        assert_eq!(super::state(&mine.get(&task).await), "completed");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_in_the_same_shape() {
    let node = TestNode::with(|settings| settings.limits.body = 4096).await;
    for client in old(&node, "echo") {
        let answer = client.try_send(message(&"x".repeat(8192)), json!(null)).await;
        refused(&client, &answer, Kind::TooLarge);
    }
    node.finish().await;
}
