//! What holds however a caller is known: its streams end with what it is known by, and users of one grant do not meet.

use std::time::Duration;

use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{DOORS, Door, Stream, TestNode, User, message};

/// The stream ends though its task does not.
pub async fn is_cut(stream: Stream) {
    if stream.door() == Door::Grpc {
        let status = stream.status().await.expect("a status that says why");
        assert!(["UNAUTHENTICATED", "GRANT_PAUSED"].contains(&reason(&status)), "{status}");
        return;
    }
    let ends = ["COMPLETED", "CANCELED", "FAILED", "REJECTED"];
    let lines = stream.lines().await;
    assert!(!lines.iter().any(|line| ends.iter().any(|end| line.ends_with(end))), "{lines:?}");
}

fn reason(status: &Value) -> &str {
    status["details"][0]["reason"].as_str().unwrap()
}

/// Two users of one grant; `again` is the first one once more, known by something else.
pub async fn do_not_meet(node: &TestNode, ada: &User, bob: &User, again: &User) {
    for door in DOORS {
        let (ada, bob, again) = (ada.over(door), bob.over(door), again.over(door));
        let mut said = message("x");
        said["contextId"] = format!("shared {door:?}").into();
        let keyed = |user: &User| user.with("idempotency-key", &format!("the same {door:?}"));
        let mine = keyed(&ada).try_send(said.clone()).await.ok()["task"].take();
        assert_eq!(keyed(&again).try_send(said.clone()).await.ok()["task"]["id"], mine["id"], "one owner");
        let theirs = keyed(&bob).try_send(said.clone()).await.ok()["task"].take();
        assert_ne!(mine["id"], theirs["id"], "a key is its owner's own");

        let listed = bob.list(json!({"contextId": said["contextId"]})).await;
        assert_eq!((&listed["totalSize"], &listed["tasks"][0]["id"]), (&json!(1), &theirs["id"]));
        let (id, bob) = (mine["id"].as_str().unwrap(), bob.to("script"));
        let live = ada.to("script").hand_in("x").await;
        let attempt = node.attempt("script").await;
        for id in [id, &*live] {
            for operation in [
                Operation::GetTask,
                Operation::CancelTask,
                Operation::ListTaskPushNotificationConfigs,
                Operation::CreateTaskPushNotificationConfig,
            ] {
                let params = json!({"id": id, "taskId": id, "url": "https://example.com/hook"});
                bob.call(operation, fitting(operation, params)).await.refused(Kind::TaskNotFound);
            }
            bob.subscribe_in_vain(id).await.refused(Kind::TaskNotFound);
            bob.follow_up(id, "x").await.refused(Kind::TaskNotFound);
        }
        assert_eq!(again.to("script").state(&live).await, "WORKING");
        attempt.complete().await;
    }
}

/// The parameters that an operation has.
fn fitting(operation: Operation, mut params: Value) -> Value {
    let keep: &[&str] = match operation {
        Operation::CreateTaskPushNotificationConfig => &["taskId", "url"],
        Operation::ListTaskPushNotificationConfigs => &["taskId"],
        _ => &["id"],
    };
    params.as_object_mut().unwrap().retain(|name, _| keep.contains(&&**name));
    params
}

/// A stream is a call that lasts, and no longer than the token that it was made with.
#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let (grant, old) = node.grant(&["script"], &Verb::ALL).await;
        let old = old.over(door);
        let rotate = async |overlap: &str| {
            let path = format!("/api/v1/grants/{grant}/rotate");
            let made = node.operator("POST", &path, Some(&json!({"overlap": overlap}))).await.json();
            User::new(node.url(), "script", made["token"].as_str()).over(door)
        };
        let stream = old.stream("x").await;
        let attempt = node.attempt("script").await;
        let new = rotate("1h").await;
        let id = attempt.task();
        let (mut during, mut later) = (old.subscribe(&id).await, new.subscribe(&id).await);
        let shown = [during.line().await, later.line().await];
        assert!(shown.iter().all(|line| line.ends_with("task WORKING")), "{shown:?}");

        let newest = rotate("0s").await;
        is_cut(stream).await;
        is_cut(during).await;
        old.try_send(message("x")).await.refused(Kind::Unauthenticated);
        is_cut(later).await;
        new.try_send(message("x")).await.refused(Kind::Unauthenticated);
        let last = newest.subscribe(&id).await;
        attempt.complete().await;
        assert!(last.lines().await.last().unwrap().ends_with("COMPLETED"), "the last token is good");
    }
    node.finish().await;
}

/// Nobody rings when an overlap is over: streams look at the clock themselves.
#[tokio::test]
async fn a_stream_ends_when_the_overlap_of_its_token_does() {
    let node = TestNode::closed().await;
    let (grant, old) = node.grant(&["script"], &Verb::ALL).await;
    let stream = old.stream("x").await;
    let attempt = node.attempt("script").await;
    let path = format!("/api/v1/grants/{grant}/rotate");
    let made = node.operator("POST", &path, Some(&json!({"overlap": "1h"}))).await.json();
    let new = User::new(node.url(), "script", made["token"].as_str());
    let going_on = new.subscribe(&attempt.task()).await;
    node.clock.advance(Duration::from_hours(1));
    is_cut(stream).await;
    attempt.complete().await;
    assert!(going_on.lines().await.last().unwrap().ends_with("COMPLETED"));
    node.finish().await;
}
