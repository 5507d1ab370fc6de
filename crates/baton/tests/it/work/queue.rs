//! What is handed out, to whom, in which order, and what keeps it back.

use std::collections::HashSet;
use std::time::Duration;

use baton::config::settings::Retention;
use baton::worker::pruner;
use baton_core::time::Timestamp;
use baton_store::{Budget, Verb};
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Worker, clerk, clerk_with};
use crate::harness::{TestNode, User, message, soon, text_of};

async fn hand_in(user: &User, text: &str, metadata: Value) -> String {
    let params =
        json!({"message": message(text), "metadata": metadata, "configuration": {"returnImmediately": true}});
    let task = user.call(Operation::SendMessage, params).await.ok();
    task["task"]["id"].as_str().unwrap().to_owned()
}

fn first_words(tasks: &[Value]) -> Vec<String> {
    tasks.iter().map(|task| text_of(&task["task"]["history"][0])).collect()
}

#[tokio::test]
async fn by_priority_and_then_by_age() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let user = node.anyone("clerk");
    let now = node.clock.now();
    let later = now.after(Duration::from_mins(2)).to_string();
    hand_in(&user, "first", json!({})).await;
    hand_in(&user, "low", json!({"baton/priority": -1})).await;
    hand_in(&user, "later", json!({"baton/notBefore": later, "baton/priority": 100})).await;
    for door in node.doors("clerk") {
        hand_in(&door, "urgent", json!({"baton/priority": 9})).await;
    }
    hand_in(&user, "second", json!({"baton/priority": 0, "other": 1})).await;
    let claimed = worker.says("claim_next", &json!({"max": 64, "lease_seconds": 3600})).await.ok();
    assert_eq!(claimed["next_at"], later);
    let tasks = claimed["tasks"].as_array().unwrap();
    assert_eq!(first_words(tasks), ["urgent", "urgent", "urgent", "first", "second", "low"]);
    assert_eq!(tasks[0]["priority"], 9);
    let until = Timestamp::parse(tasks[0]["lease_until"].as_str().unwrap()).unwrap();
    assert!(until >= now.after(Duration::from_hours(1)) && until < now.after(Duration::from_hours(2)));
    node.clock.advance(Duration::from_mins(2));
    assert_eq!(first_words(&worker.claims(64).await), ["later"]);
    node.finish().await;
}

#[tokio::test]
async fn a_deadline_that_a_sender_gave() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let user = node.anyone("clerk");
    let deadline = node.clock.now().after(Duration::from_mins(1)).to_string();
    let id = hand_in(&user, "soon", json!({"baton/deadline": deadline})).await;
    node.clock.advance(Duration::from_mins(1));
    assert_eq!(worker.claims(1).await, [] as [Value; 0]);
    baton::worker::reaper::sweep(&node.node().service).await.unwrap();
    assert_eq!(user.get(&id).await["metadata"]["baton/reason"], "deadline");
    for (metadata, field) in [
        (json!({"baton/priority": 101}), "metadata[\"baton/priority\"]"),
        (json!({"baton/notBefore": "tomorrow"}), "metadata[\"baton/notBefore\"]"),
        (json!({"baton/deadline": deadline}), "metadata[\"baton/deadline\"]"),
    ] {
        for door in node.doors("clerk") {
            let params = json!({"message": message("x"), "metadata": metadata});
            assert_eq!(door.call(Operation::SendMessage, params).await.invalid(), field, "{:?}", door.door);
        }
    }
    node.finish().await;
}

/// As many workers as tasks, all at once: each gets one, and no two the same.
#[tokio::test]
async fn workers_share_the_tasks() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let user = node.anyone("clerk");
    let mut ids = HashSet::new();
    for n in 0..32 {
        ids.insert(user.hand_in(&format!("task {n}")).await);
    }
    let mut working = JoinSet::new();
    for _ in 0..32 {
        let worker = worker.clone();
        working.spawn(async move {
            let held = worker.claim().await;
            held.does("complete", json!({"result": "done"})).await;
            held.task().to_owned()
        });
    }
    let claimed: Vec<_> = working.join_all().await;
    assert_eq!(claimed.len(), 32);
    assert_eq!(claimed.into_iter().collect::<HashSet<_>>(), ids);
    node.finish().await;
}

/// Who waits for work has it as soon as it is there, each a task of its own.
#[tokio::test]
async fn a_claim_waits_for_work() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let worker = worker.clone();
        waiting.spawn(async move { worker.says("claim_next", &json!({"wait_seconds": 50})).await.ok() });
    }
    let mut ids = HashSet::new();
    for n in 0..3 {
        ids.insert(node.anyone("clerk").hand_in(&format!("task {n}")).await);
    }
    let given = soon(waiting.join_all()).await;
    let ids_of = |answer: &Value| answer["tasks"][0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(given.iter().map(ids_of).collect::<HashSet<_>>(), ids);
    // A revoked worker waits no longer, and neither does one of a node that stops.
    let (grant, user) = node.grant(&["clerk"], &[Verb::Work]).await;
    let (revoked, drained) = (Worker { user }, worker.clone());
    let body = json!({"wait_seconds": 50});
    let revoked = tokio::spawn({
        let body = body.clone();
        async move { revoked.says("claim_next", &body).await }
    });
    node.revoke(&grant).await;
    soon(revoked).await.unwrap().refused(Kind::Unauthenticated);
    assert_eq!(worker.says("claim_next", &json!({"wait_seconds": 51})).await.invalid(), "wait_seconds");
    let drained = tokio::spawn(async move { drained.says("claim_next", &body).await });
    node.operator("POST", "/api/v1/node/drain", None).await;
    soon(drained).await.unwrap().refused(Kind::Unavailable);
    node.finish().await;
}

#[tokio::test]
async fn ten_race_for_one_unit_of_a_budget() {
    let budget = Budget { claims: 1, per: Duration::from_hours(1) };
    let node = TestNode::with(|settings| clerk_with(settings, None, Some(budget))).await;
    let worker = Worker::new(&node).await;
    for n in 0..10 {
        node.anyone("clerk").hand_in(&format!("task {n}")).await;
    }
    let mut racing = JoinSet::new();
    for _ in 0..10 {
        let worker = worker.clone();
        racing.spawn(async move { worker.says("claim_next", &json!({"max": 2})).await.ok() });
    }
    let answers = racing.join_all().await;
    let count: usize = answers.iter().map(|answer| answer["tasks"].as_array().unwrap().len()).sum();
    assert_eq!(count, 1);
    assert!(answers.iter().all(|answer| answer["held_back"] == "budget" && answer["next_at"].is_string()));
    node.clock.advance(Duration::from_hours(1));
    assert_eq!(worker.claims(9).await.len(), 1);
    node.finish().await;
}

#[tokio::test]
async fn what_holds_back() {
    let node = TestNode::with(|settings| clerk_with(settings, Some(2), None)).await;
    let worker = Worker::new(&node).await;
    for n in 0..4 {
        node.anyone("clerk").hand_in(&format!("task {n}")).await;
    }
    node.operator("POST", "/api/v1/agents/clerk/pause", None).await;
    let paused = worker.says("claim_next", &json!({"max": 9})).await.ok();
    assert_eq!((&paused["tasks"], &paused["held_back"]), (&json!([]), &json!("paused")));
    node.operator("POST", "/api/v1/agents/clerk/resume", None).await;
    let first = worker.says("claim_next", &json!({"max": 9})).await.ok();
    assert_eq!((first["tasks"].as_array().unwrap().len(), &first["held_back"]), (2, &json!("concurrency")));
    let none = worker.says("claim_next", &json!({})).await.ok();
    assert_eq!((&none["tasks"], &none["held_back"]), (&json!([]), &json!("concurrency")));
    node.finish().await;
}

#[tokio::test]
async fn tasks_that_need_not_be_kept_are_deleted() {
    let node = TestNode::with(|settings| {
        clerk(settings);
        settings.retention = Retention { age: Some(Duration::from_hours(24)), tasks: Some(3) };
    })
    .await;
    let user = node.anyone("echo");
    let mut done = Vec::new();
    for n in 0..5 {
        done.push(user.send(&format!("task {n}")).await["id"].as_str().unwrap().to_owned());
    }
    let open = node.anyone("clerk").hand_in("waits").await;
    assert_eq!(pruner::retire(&node.node().service).await.unwrap(), 2);
    let total = async || user.call(Operation::ListTasks, json!({})).await.ok()["totalSize"].clone();
    assert_eq!(total().await, 3);
    user.call(Operation::GetTask, json!({"id": done[1]})).await.refused(Kind::TaskNotFound);
    user.get(&done[2]).await;
    node.clock.advance(Duration::from_hours(24) + Duration::from_millis(1));
    assert_eq!(pruner::retire(&node.node().service).await.unwrap(), 3);
    assert_eq!(total().await, 0);
    assert_eq!(node.anyone("clerk").state(&open).await, "SUBMITTED");
    node.finish().await;
}
