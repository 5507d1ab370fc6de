//! Who may work, on what, and what is said about mistakes.

use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{Worker, clerk};
use crate::harness::TestNode;

#[tokio::test]
async fn only_with_the_verb_and_the_agent() {
    let node = TestNode::with(|settings| {
        clerk(settings);
        settings.node.dev = false;
    })
    .await;
    let (_, owner) = node.grant(&["clerk", "echo", "script"], &[Verb::Send, Verb::Read]).await;
    let id = owner.hand_in("go").await;
    let all =
        ["claim", "claim_next", "heartbeat", "progress", "ask", "complete", "fail", "release", "reject"];
    let (_, nobody) = node.grant(&["clerk"], &[Verb::Send]).await;
    let stranger = Worker { user: nobody.bare() };
    let sender = Worker { user: nobody };
    let elsewhere = Worker { user: node.grant(&["echo", "script"], &[Verb::Work]).await.1 };
    let token = format!("1.{}", &id[id.len() - 12..]);
    for verb in all {
        let mut body = json!({"task_id": id, "lease_token": token, "question": "x", "message": "x"});
        let takes: &[&str] = match verb {
            "claim" => &["task_id"],
            "claim_next" => &[],
            "progress" => &["task_id", "lease_token", "message"],
            "ask" => &["task_id", "lease_token", "question"],
            _ => &["task_id", "lease_token"],
        };
        body.as_object_mut().unwrap().retain(|key, _| takes.contains(&key.as_str()));
        stranger.says(verb, &body).await.refused(Kind::Unauthenticated);
        sender.says(verb, &body).await.refused(Kind::PermissionDenied);
        let answer = elsewhere.says(verb, &body).await;
        // As a task that never was.
        if verb == "claim_next" {
            assert_eq!(answer.invalid(), "agent");
        } else {
            answer.refused(Kind::TaskNotFound);
            let mut made_up = body.clone();
            made_up["task_id"] = json!(baton::clock::new_id().to_string());
            assert_eq!(answer.text(), elsewhere.says(verb, &made_up).await.text(), "{verb}");
        }
    }
    let worker = Worker::new(&node).await;
    worker.says("claim_next", &json!({"agent": "echo"})).await.refused(Kind::PermissionDenied);
    worker.says("claim_next", &json!({"agent": "script"})).await.refused(Kind::UnknownPath);
    let both = Worker { user: node.grant(&["clerk", "script"], &[Verb::Work]).await.1 };
    both.says("claim_next", &json!({"agent": "script"})).await.refused(Kind::UnsupportedOperation);
    assert_eq!(owner.state(&id).await, "SUBMITTED");
    node.finish().await;
}

#[tokio::test]
async fn mistakes_say_what_to_do() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    node.anyone("clerk").hand_in("go").await;
    let held = worker.claim().await;
    let token = held.given["lease_token"].as_str().unwrap();
    let wrong = |more: Value| {
        let mut body = json!({"task_id": held.task(), "lease_token": token});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (verb, body, field) in [
        ("claim_next", json!({"max": 0}), "max"),
        ("claim_next", json!({"max": 65}), "max"),
        ("claim_next", json!({"lease_seconds": 59}), "lease_seconds"),
        ("claim_next", json!({"lease_seconds": 86401}), "lease_seconds"),
        ("heartbeat", wrong(json!({"lease_seconds": 1})), "lease_seconds"),
        ("heartbeat", wrong(json!({"lease_token": "1.000000000000"})), "lease_token"),
        ("progress", wrong(json!({})), "message"),
        ("progress", wrong(json!({"parts": []})), "artifact.parts"),
        ("progress", wrong(json!({"parts": [{"text": "x"}], "append": true})), "append"),
        ("ask", wrong(json!({"question": " "})), "question"),
        ("complete", wrong(json!({"result": "x", "parts": [{"text": "y"}]})), "parts"),
    ] {
        assert_eq!(worker.says(verb, &body).await.invalid(), field, "{verb} {body}");
    }
    for body in ["", "[]", "{\"max\": \"x\"}", "{\"mx\": 1}", "{} {}"] {
        assert_eq!(worker.says_raw("claim_next", body.to_owned()).await.status, 400, "{body}");
    }
    held.does("complete", json!({"parts": []})).await;
    node.finish().await;
}

/// A worker whose grant is revoked is heard no more; its task waits for the end of its lease, and is another's then.
#[tokio::test]
async fn a_revoked_worker_is_heard_no_more() {
    let node = TestNode::with(clerk).await;
    let (grant, user) = node.grant(&["clerk"], &[Verb::Work]).await;
    let worker = Worker { user };
    let id = node.anyone("clerk").hand_in("go").await;
    let held = worker.claim().await;
    node.revoke(&grant).await;
    held.tries("complete", json!({"result": "x"})).await.refused(Kind::Unauthenticated);
    assert_eq!(node.anyone("clerk").state(&id).await, "WORKING");
    node.clock.advance(super::LEASE);
    baton::worker::reaper::sweep(&node.node().service).await.unwrap();
    node.clock.advance(std::time::Duration::from_mins(1));
    let next = Worker::new(&node).await;
    assert_eq!(next.claim().await.task(), id);
    node.finish().await;
}
