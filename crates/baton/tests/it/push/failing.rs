//! Receivers that do not take what they get: tried again in order, given up at last, and nobody else waits for them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use baton_core::limits::WEBHOOK_ATTEMPTS;
use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::json;

use super::{Hook, Mute, Reply, allow_loopback, delivery, hand_in, node, settled, wait};
use crate::harness::{PATIENCE, TestNode, until};

/// More than the longest wait between two tries.
const LONG: Duration = Duration::from_hours(24);

async fn failed(node: &TestNode, task: &str, failures: u64) {
    until("the try failed", async || delivery(node, task).await["failures"] == failures).await;
}

#[tokio::test]
async fn a_notification_is_tried_again_under_the_same_id_and_the_next_waits_for_it() {
    let node = node().await;
    let hook = Hook::replying([500, 503, 404].map(Reply::Status)).await;
    let user = node.anyone("script");
    let task = hand_in(&user, "go", &json!({"url": hook.url(), "id": "c"})).await;
    failed(&node, &task, 1).await;
    // More is owed meanwhile; it does not overtake.
    node.attempt("script").await.complete().await;
    for failures in 2..=3 {
        // Not before its time.
        assert_eq!(hook.got().len(), failures - 1);
        wait(&node, Duration::from_secs(40));
        hook.gets(failures).await;
        failed(&node, &task, failures as u64).await;
    }
    wait(&node, Duration::from_secs(40));
    hook.gets(5).await;
    settled(&node, &task).await;
    assert_eq!(hook.lines(), ["2 WORKING", "2 WORKING", "2 WORKING", "2 WORKING", "3 COMPLETED"]);
    let ids: Vec<_> = hook.got().iter().map(|asked| asked.header("webhook-id").unwrap().to_owned()).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] != ids[0], "{ids:?}");
    let log = node.operator("GET", &format!("/api/v1/deliveries/{task}/c"), None).await.json();
    let statuses: Vec<_> =
        log["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(statuses, [200, 200, 404, 503, 500]);
    assert_eq!(log["attempts"][4]["error"], "the receiver answered 500");
    assert_eq!(log["attempts"][0].get("error"), None);
    node.finish().await;
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let node = node().await;
    let hook = Hook::replying([Reply::With(429, "retry-after", "3600".to_owned())]).await;
    let task = hand_in(&node.anyone("echo"), "x", &json!({"url": hook.url()})).await;
    failed(&node, &task, 1).await;
    wait(&node, Duration::from_secs(3_500));
    // What is looked at is what the operator sees: still waiting.
    assert_eq!(delivery(&node, &task).await["failures"], 1);
    assert_eq!(hook.got().len(), 1);
    wait(&node, Duration::from_secs(200));
    hook.gets(4).await;
    settled(&node, &task).await;
    node.finish().await;
}

#[tokio::test]
async fn gone_is_the_end() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(410)]).await;
    let user = node.anyone("script");
    let task = hand_in(&user, "go", &json!({"url": hook.url(), "id": "c"})).await;
    hook.gets(1).await;
    settled(&node, &task).await;
    node.attempt("script").await.complete().await;
    let shown = delivery(&node, &task).await;
    assert_eq!((&shown["state"], &shown["reason"]), (&json!("ended"), &json!("gone")));
    wait(&node, LONG);
    // For its owner it is there no more, and can be made again: then what it missed comes.
    let get = baton_wire::operation::Operation::GetTaskPushNotificationConfig;
    user.call(get, json!({"taskId": task, "id": "c"})).await.refused(Kind::TaskNotFound);
    assert_eq!(hook.lines(), ["2 WORKING"]);
    let create = baton_wire::operation::Operation::CreateTaskPushNotificationConfig;
    user.call(create, json!({"taskId": task, "id": "c", "url": hook.url()})).await.ok();
    hook.gets(3).await;
    assert_eq!(hook.lines(), ["2 WORKING", "2 WORKING", "3 COMPLETED"]);
    node.finish().await;
}

#[tokio::test]
async fn what_nobody_takes_is_suspended_until_it_is_replayed() {
    let node = node().await;
    let dead = [(); WEBHOOK_ATTEMPTS as usize].map(|()| Reply::Status(404));
    let hook = Hook::replying(dead).await;
    let user = node.anyone("script");
    let task = hand_in(&user, "go", &json!({"url": hook.url(), "id": "c/d"})).await;
    for n in 1..=WEBHOOK_ATTEMPTS as usize {
        hook.gets(n).await;
        until("the try is stored", async || delivery(&node, &task).await["tries"] == n).await;
        wait(&node, LONG);
    }
    assert_eq!(delivery(&node, &task).await["state"], "suspended");
    node.attempt("script").await.complete().await;
    let list = node.operator("GET", "/api/v1/deliveries?state=suspended", None).await.json();
    assert_eq!(list["deliveries"].as_array().unwrap().len(), 1);
    wait(&node, LONG);
    let node = node.restart().await;
    assert_eq!(hook.got().len(), WEBHOOK_ATTEMPTS as usize);
    let path = format!("/api/v1/deliveries/{task}/c%2Fd/replay");
    assert_eq!(node.operator("POST", &path, None).await.json()["state"], "active");
    hook.gets(WEBHOOK_ATTEMPTS as usize + 2).await;
    settled(&node, &task).await;
    assert_eq!(hook.lines()[WEBHOOK_ATTEMPTS as usize..], ["2 WORKING", "3 COMPLETED"]);
    let unknown = format!("/api/v1/deliveries/{task}/x/replay");
    node.operator("POST", &unknown, None).await.refused(Kind::TaskNotFound);
    node.finish().await;
}

#[tokio::test]
async fn what_is_owed_survives_a_restart() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let task = hand_in(&node.anyone("echo"), "x", &json!({"url": hook.url()})).await;
    failed(&node, &task, 1).await;
    let node = node.restart().await;
    assert_eq!(delivery(&node, &task).await["failures"], 1, "it is not due yet");
    wait(&node, LONG);
    hook.gets(4).await;
    settled(&node, &task).await;
    assert_eq!(hook.lines(), ["2 WORKING", "2 WORKING", "3 echo=x.", "4 COMPLETED"]);
    let ids: Vec<_> = hook.got().iter().map(|asked| asked.header("webhook-id").unwrap().to_owned()).collect();
    assert_eq!(ids[0], ids[1]);
    node.finish().await;
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_leads_nowhere() {
    let node = node().await;
    let elsewhere = Hook::start().await;
    let hook = Hook::replying([Reply::With(307, "location", elsewhere.url())]).await;
    let task = hand_in(&node.anyone("echo"), "x", &json!({"url": hook.url()})).await;
    failed(&node, &task, 1).await;
    wait(&node, LONG);
    hook.gets(4).await;
    assert_eq!(elsewhere.got().len(), 0);
    node.finish().await;
}

/// What was allowed when it was registered is looked at again at every try.
#[tokio::test]
async fn what_is_not_allowed_any_more_is_not_dialled() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let task = hand_in(&node.anyone("echo"), "x", &json!({"url": hook.url(), "id": "c"})).await;
    failed(&node, &task, 1).await;
    let node = node.restart_with(|settings| settings.net.allow.clear()).await;
    wait(&node, LONG);
    failed(&node, &task, 2).await;
    let log = node.operator("GET", &format!("/api/v1/deliveries/{task}/c"), None).await.json();
    assert!(log["attempts"][0]["error"].as_str().unwrap().contains("a loopback address"), "{log}");
    assert_eq!(hook.got().len(), 1);
    let node = node.restart_with(allow_loopback).await;
    wait(&node, LONG);
    hook.gets(4).await;
    node.finish().await;
}

#[tokio::test]
async fn a_revoked_grant_is_owed_nothing() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let (grant, user) = node.grant(&["script"], &Verb::ALL).await;
    let task = hand_in(&user, "go", &json!({"url": hook.url(), "id": "c"})).await;
    failed(&node, &task, 1).await;
    let attempt = node.attempt("script").await;
    node.revoke(&grant).await;
    attempt.stops().await;
    let shown = delivery(&node, &task).await;
    assert_eq!((&shown["state"], &shown["reason"]), (&json!("ended"), &json!("revoked")));
    wait(&node, LONG);
    let path = format!("/api/v1/deliveries/{task}/c/replay");
    node.operator("POST", &path, None).await.refused(Kind::UnsupportedOperation);
    let node = node.restart().await;
    wait(&node, LONG);
    assert_eq!(hook.got().len(), 1);
    node.finish().await;
}

#[tokio::test]
async fn a_deleted_configuration_is_owed_nothing() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let user = node.anyone("echo");
    let task = hand_in(&user, "x", &json!({"url": hook.url(), "id": "c"})).await;
    failed(&node, &task, 1).await;
    let delete = baton_wire::operation::Operation::DeleteTaskPushNotificationConfig;
    user.call(delete, json!({"taskId": task, "id": "c"})).await.ok();
    wait(&node, LONG);
    let other = Hook::start().await;
    hand_in(&user, "y", &json!({"url": other.url()})).await;
    other.gets(3).await;
    assert_eq!(hook.got().len(), 1);
    let page = node.operator("GET", &format!("/api/v1/deliveries?task={task}"), None).await.json();
    assert_eq!(page["deliveries"], json!([]));
    node.finish().await;
}

#[tokio::test]
async fn what_is_pruned_takes_its_configurations_along() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(410)]).await;
    let user = node.anyone("echo");
    let task = hand_in(&user, "x", &json!({"url": hook.url(), "id": "c"})).await;
    hook.gets(1).await;
    settled(&node, &task).await;
    node.clock.advance(Duration::from_hours(8 * 24));
    baton::worker::pruner::sweep(&node.node().service).await.unwrap();
    let page = node.operator("GET", "/api/v1/deliveries", None).await.json();
    assert_eq!(page["deliveries"], json!([]));
    assert_eq!(user.state(&task).await, "COMPLETED");
    node.finish().await;
}

/// Much is owed to a receiver that never answers, beside one that does.
#[tokio::test]
async fn who_hangs_delays_nobody_else() {
    let node = node().await;
    let user = node.anyone("echo");
    let (good, bad) = (Hook::start().await, Mute::start().await);
    for n in 0..40 {
        hand_in(&user, &n.to_string(), &json!({"url": bad.url})).await;
    }
    let begun = std::time::Instant::now();
    for n in 0..40 {
        hand_in(&user, &n.to_string(), &json!({"url": good.url()})).await;
    }
    good.gets(120).await;
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    // They are tried by few.
    let asked = bad.connections.load(Ordering::Relaxed);
    assert!((1..=4).contains(&asked), "{asked}");
    node.finish_owing().await;
}
