//! A task's whole life in a worker's hands, as its owner sees it; and what becomes of it when the worker is lost.

use std::time::Duration;

use baton::worker::reaper;
use baton_wire::operation::Operation;
use serde_json::json;

use super::{LEASE, Worker, clerk};
use crate::harness::{TestNode, message, state, text_of};

#[tokio::test]
async fn from_the_message_to_the_result() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    for user in node.doors("clerk") {
        let mut stream = user.stream("translate this").await;
        assert_eq!(state(&stream.next().await.unwrap().value["task"]), "SUBMITTED");
        let held = worker.claim().await;
        assert_eq!(held.given["agent"], "clerk");
        assert_eq!(text_of(&held.given["task"]["history"][0]), "translate this");
        assert_eq!((&held.given["attempt"], &held.given["priority"]), (&json!(1), &json!(0)));
        assert_eq!(held.given.get("attempts"), None);
        held.does("progress", json!({"message": "on it"})).await;
        held.does("progress", json!({"parts": [{"text": "Hal"}], "artifact_id": "out"})).await;
        let piece =
            json!({"parts": [{"text": "lo"}], "artifact_id": "out", "append": true, "last_chunk": true});
        held.does("progress", piece).await;
        let asking = held.does("ask", json!({"question": "Which tongue?"})).await;
        assert_eq!(asking["state"], "TASK_STATE_INPUT_REQUIRED");
        // The stream of the message ends with the question; the answer opens another.
        let lines = stream.lines().await;
        assert_eq!(
            lines,
            [
                "2 WORKING",
                "3 WORKING \"on it\"",
                "4 out=Hal",
                "5 out+=lo.",
                "6 INPUT_REQUIRED \"Which tongue?\""
            ]
        );
        let mut answer = message("German");
        answer["taskId"] = held.task().into();
        let mut stream = user.stream_message(answer).await;
        stream.next().await.unwrap();
        let said = held.does("heartbeat", json!({"after_seq": asking["seq"]})).await;
        assert_eq!(said["state"], "TASK_STATE_WORKING");
        assert_eq!(text_of(&said["messages"][0]), "German");
        let again = held.does("heartbeat", json!({"after_seq": said["seq"]})).await;
        assert_eq!(again.get("messages"), None);
        let done = held.does("complete", json!({"result": "Hallo", "message": "there you are"})).await;
        assert_eq!(done["state"], "TASK_STATE_COMPLETED");
        assert_eq!(done.get("lease_until"), None);
        let lines = stream.lines().await;
        assert_eq!(lines.last().unwrap(), "9 COMPLETED \"there you are\"");
        let task = user.get(held.task()).await;
        let artifacts: Vec<_> = task["artifacts"].as_array().unwrap().iter().map(text_of).collect();
        assert_eq!(artifacts, ["Hallo", "Hallo"]);
        // Said once more, as by a worker that lost the answer, it changes nothing; something else is too late.
        let again = held.does("complete", json!({"result": "Hallo"})).await;
        assert_eq!((&again["repeated"], &again["state"]), (&json!(true), &json!("TASK_STATE_COMPLETED")));
        let late = held.tries("fail", json!({})).await;
        assert_eq!(late.status, 409, "{late:?}");
        assert_eq!(user.get(held.task()).await["artifacts"].as_array().unwrap().len(), 2);
    }
    node.finish().await;
}

/// Whatever a worker says that lost its task, it hears of it, and nothing changes.
#[tokio::test]
async fn a_lost_task_is_a_conflict_whatever_is_said() {
    let node = TestNode::with(clerk).await;
    let (worker, other) = (Worker::new(&node).await, Worker::new(&node).await);
    let user = node.anyone("clerk");
    let id = user.hand_in("go").await;
    let lost = worker.claim().await;
    node.clock.advance(Duration::from_secs(299));
    lost.does("heartbeat", json!({})).await;
    node.clock.advance(Duration::from_secs(299));
    assert_eq!(reaper::sweep(&node.node().service).await.unwrap(), 0);
    node.clock.advance(Duration::from_secs(1));
    assert_eq!(reaper::sweep(&node.node().service).await.unwrap(), 1);
    assert_eq!(user.state(&id).await, "WORKING");
    for (verb, more) in [
        ("heartbeat", json!({})),
        ("progress", json!({"message": "x"})),
        ("progress", json!({"parts": [{"text": "x"}]})),
        ("ask", json!({"question": "x"})),
        ("complete", json!({"result": "x"})),
        ("fail", json!({"retryable": true})),
        ("release", json!({})),
        ("reject", json!({})),
    ] {
        let answer = lost.tries(verb, more).await;
        assert_eq!(answer.status, 409, "{verb}: {answer:?}");
        let error = answer.refused(baton_wire::fault::Kind::Conflict);
        assert!(error["message"].as_str().unwrap().contains("lease token"), "{error}");
    }
    // The same once another has it, whoever's token it is.
    node.clock.advance(Duration::from_hours(1));
    let given = other.claims(1).await;
    assert_eq!(given[0]["attempt"], 2);
    let past = &given[0]["attempts"][0];
    assert_eq!((&past["attempt"], &past["outcome"]), (&json!(1), &json!("lease_lapsed")));
    assert_eq!(past["summary"], "The worker was not heard of in time.");
    let done = json!({"task_id": id, "lease_token": given[0]["lease_token"], "result": "done"});
    for late in [lost.tries("heartbeat", json!({})).await, worker.says("complete", &done).await] {
        assert_eq!(late.status, 409, "{late:?}");
    }
    other.says("complete", &done).await.ok();
    let task = user.get(&id).await;
    assert_eq!((state(&task), text_of(&task["artifacts"][0])), ("COMPLETED".to_owned(), "done".to_owned()));
    node.finish().await;
}

/// A worker that dies while its question is open strands nothing.
#[tokio::test]
async fn a_question_outlives_the_worker_that_asked() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    for user in node.doors("clerk") {
        let id = user.hand_in("go").await;
        let held = worker.claim().await;
        held.does("ask", json!({"question": "Which?"})).await;
        node.clock.advance(LEASE);
        assert_eq!(reaper::sweep(&node.node().service).await.unwrap(), 1);
        assert_eq!(user.state(&id).await, "INPUT_REQUIRED");
        assert_eq!(worker.claims(9).await, [] as [serde_json::Value; 0]);
        let mut answer = message("that one");
        answer["taskId"] = id.clone().into();
        user.hand_in_message(answer).await;
        let next = worker.claim().await;
        assert_eq!((next.task(), &next.given["attempt"]), (&*id, &json!(2)));
        let said: Vec<_> = next.given["task"]["history"].as_array().unwrap().iter().map(text_of).collect();
        assert_eq!(said, ["go", "Which?", "that one"]);
        next.does("complete", json!({"parts": [{"data": {"n": 42.5}}]})).await;
        let task = user.get(&id).await;
        assert_eq!(task["artifacts"][0]["parts"][0]["data"]["n"], json!(42.5));
    }
    node.finish().await;
}

#[tokio::test]
async fn a_cancel_fences_the_worker() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    for user in node.doors("clerk") {
        let id = user.hand_in("go").await;
        let held = worker.claim().await;
        let canceled = user.call(Operation::CancelTask, json!({"id": id})).await.ok();
        assert_eq!(state(&canceled), "CANCELED");
        let late = held.tries("complete", json!({"result": "x"})).await;
        let error = late.refused(baton_wire::fault::Kind::Conflict);
        assert!(error["message"].as_str().unwrap().contains("CANCELED"), "{error}");
        let task = user.get(&id).await;
        assert!(task["artifacts"].as_array().is_none_or(Vec::is_empty), "{task}");
    }
    node.finish().await;
}

/// Failed, given back and tried again until nothing is left to try: the dead letter can be handed in again, and says so.
#[tokio::test]
async fn a_dead_letter_and_what_comes_after() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let user = node.anyone("clerk");
    let id = user.hand_in("go").await;
    let held = worker.claim().await;
    held.does("release", json!({"reason": "not my trade"})).await;
    for number in 2..=6 {
        let held = worker.claim().await;
        assert_eq!(held.given["attempt"], number);
        let past = held.given["attempts"].as_array().unwrap();
        assert_eq!(past.len(), usize::min(number - 1, 5));
        let last = past.last().unwrap();
        let (outcome, summary) = if number == 2 {
            ("released", "not my trade".to_owned())
        } else {
            ("failed", format!("try {}", number - 1))
        };
        assert_eq!((&last["outcome"], &last["summary"]), (&json!(outcome), &json!(summary)));
        held.does("fail", json!({"reason": format!("try {number}"), "retryable": true})).await;
        // Not before its time.
        if number < 6 {
            let waiting = worker.says("claim_next", &json!({})).await.ok();
            assert_eq!(waiting["tasks"], json!([]));
            assert!(waiting["next_at"].is_string(), "{waiting}");
        }
        node.clock.advance(Duration::from_hours(1));
    }
    let task = user.get(&id).await;
    assert_eq!(
        (state(&task), text_of(&task["status"]["message"])),
        ("FAILED".to_owned(), "try 6".to_owned())
    );
    let shown = node.operator("GET", &format!("/api/v1/tasks/{id}"), None).await.json();
    assert_eq!(shown["deadLetter"], true);
    let log = node.operator("GET", &format!("/api/v1/tasks/{id}/log"), None).await.json();
    let summaries: Vec<_> = log["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| attempt["summary"].as_str().unwrap())
        .collect();
    assert_eq!(summaries, ["not my trade", "try 2", "try 3", "try 4", "try 5", "try 6"]);
    let retried = node.operator("POST", &format!("/api/v1/tasks/{id}/retry"), None).await.json();
    assert_eq!(retried["task"]["history"][0]["referenceTaskIds"], json!([id]));
    let again = worker.claim().await;
    assert_eq!((again.task(), &again.given["attempt"]), (retried["task"]["id"].as_str().unwrap(), &json!(1)));
    again.does("reject", json!({"reason": "never"})).await;
    assert_eq!(user.state(again.task()).await, "REJECTED");
    node.finish().await;
}

/// What is held is held across a restart of the node: the worker goes on with its token.
#[tokio::test]
async fn a_worker_outlives_the_node() {
    let node = TestNode::with(clerk).await;
    let worker = Worker::new(&node).await;
    let id = node.anyone("clerk").hand_in("go").await;
    let held = worker.claim().await;
    let (task, token) = (held.given["task_id"].clone(), held.given["lease_token"].clone());
    let token_of_grant = worker.user.token().to_owned();
    let node = node.restart().await;
    let worker = Worker { user: crate::harness::User::new(node.url(), "clerk", Some(&token_of_grant)) };
    let done =
        worker.says("complete", &json!({"task_id": task, "lease_token": token, "result": "x"})).await.ok();
    assert_eq!(done["state"], "TASK_STATE_COMPLETED");
    assert_eq!(node.anyone("clerk").state(&id).await, "COMPLETED");
    node.finish().await;
}
