//! ListTasks: what is on a page, in which order, and how many there are.

use std::collections::BTreeSet;

use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Door, TestNode, User, message};

/// Report 9.
#[tokio::test]
async fn nothing_to_list_is_an_empty_page() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        let answer = user.call(Operation::ListTasks, json!({})).await;
        let empty = r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#;
        if user.door == Door::Grpc {
            assert_eq!(answer.json(), serde_json::from_str::<Value>(empty).unwrap());
        } else {
            assert!(answer.text().contains(empty), "{}", answer.text());
        }
        let other = user.list(json!({"contextId": "of nobody"})).await;
        assert_eq!(other, serde_json::from_str::<Value>(empty).unwrap());
    }
    node.finish().await;
}

#[tokio::test]
async fn artifacts_are_listed_only_when_they_are_asked_for() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        user.send("x").await;
        assert!(user.list(json!({})).await["tasks"][0].get("artifacts").is_none());
        let page = user.list(json!({"includeArtifacts": true})).await;
        assert_eq!(page["tasks"][0]["artifacts"][0]["parts"][0]["text"], "x");
    }
    node.finish().await;
}

#[tokio::test]
async fn pages_skip_and_repeat_nothing() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let mut all = Vec::new();
    for _ in 0..12 {
        // Sent at the same time, so that some have the same timestamp.
        let sent = futures_util::future::join_all((0..4).map(|_| user.send("x"))).await;
        all.extend(sent.into_iter().map(|task| task["id"].as_str().unwrap().to_owned()));
    }
    for user in user.doors() {
        for size in [1, 7, 48, 100] {
            let seen = walk(&user, json!({"pageSize": size})).await;
            let ids: Vec<_> = seen.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>(), all.iter().collect(), "{size}");
            assert_eq!(ids.len(), all.len(), "nothing twice");
            let times: Vec<_> =
                seen.iter().map(|task| task["status"]["timestamp"].as_str().unwrap()).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "newest first: {times:?}");
        }
    }
    node.finish().await;
}

/// Every page to the last; each says the same total.
async fn walk(user: &User, mut params: Value) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let page = user.list(params.clone()).await;
        let tasks = page["tasks"].as_array().unwrap();
        assert_eq!((&page["totalSize"], &page["pageSize"]), (&48.into(), &params["pageSize"]));
        seen.extend(tasks.iter().cloned());
        match page["nextPageToken"].as_str().unwrap() {
            "" => return seen,
            next => params["pageToken"] = next.into(),
        }
    }
}

#[tokio::test]
async fn filters_narrow_page_and_total() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let context = format!("{:?}", user.door);
        let of = |text: &str| {
            let mut message = message(text);
            message["contextId"] = context.as_str().into();
            message
        };
        let mut made = Vec::new();
        for end in 0..3 {
            made.push(user.hand_in_message(of("x")).await["id"].clone());
            let attempt = node.attempt("script").await;
            match end {
                1 => attempt.fail("no").await,
                _ => attempt.complete().await,
            }
        }
        let ids = |page: &Value| -> Vec<Value> {
            let tasks = page["tasks"].as_array().unwrap();
            assert_eq!(page["totalSize"], tasks.len());
            tasks.iter().map(|task| task["id"].clone()).collect()
        };
        let context = json!({"contextId": context});
        let with = |name: &str, value: Value| {
            let mut params = context.clone();
            params[name] = value;
            params
        };
        assert_eq!(ids(&user.list(context.clone()).await), [2, 1, 0].map(|at| made[at].clone()));
        let failed = user.list(with("status", "TASK_STATE_FAILED".into())).await;
        assert_eq!(ids(&failed), [made[1].clone()]);
        assert_eq!(ids(&user.list(with("status", "TASK_STATE_WORKING".into())).await), [Value::Null; 0]);
        let unspecified = user.list(with("status", "TASK_STATE_UNSPECIFIED".into())).await;
        assert_eq!(ids(&unspecified).len(), 3);
        let since = user.get(made[1].as_str().unwrap()).await["status"]["timestamp"].clone();
        let late = ids(&user.list(with("statusTimestampAfter", since)).await);
        assert!(late.contains(&made[1]) && late.contains(&made[2]), "at or after: {late:?}");
        let future = user.list(with("statusTimestampAfter", "2999-01-01T00:00:00Z".into())).await;
        assert_eq!(ids(&future), [Value::Null; 0]);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_task_moves_in_the_list_as_its_status_changes() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let first = user.hand_in("first").await;
    let attempt = node.attempt("script").await;
    let second = user.hand_in("second").await;
    let other = node.attempt("script").await;
    node.clock.advance(std::time::Duration::from_millis(2));
    attempt.complete().await;
    for user in user.doors() {
        let page = user.list(json!({})).await;
        let ids: Vec<_> = page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
        assert_eq!(ids, [first.as_str(), second.as_str()]);
    }
    other.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn sizes_and_tokens_are_checked() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        for size in [0, 101, -1] {
            let answer = user.call(Operation::ListTasks, json!({"pageSize": size})).await;
            assert_eq!(answer.invalid(), "pageSize", "{size}");
        }
        for size in [1, 100] {
            assert_eq!(user.list(json!({"pageSize": size})).await["pageSize"], size);
        }
        for token in ["x", "AAAA", "%00", "🙈"] {
            let answer = user.call(Operation::ListTasks, json!({"pageToken": token})).await;
            assert_eq!(answer.invalid(), "pageToken", "{token}");
        }
        if user.door == Door::Grpc {
            // What is no state and no time cannot even be written there.
            continue;
        }
        let answer = user.call(Operation::ListTasks, json!({"status": "TASK_STATE_NONSENSE"})).await;
        assert_eq!(answer.invalid(), "status");
        let answer = user.call(Operation::ListTasks, json!({"statusTimestampAfter": "yesterday"})).await;
        assert_eq!(answer.invalid(), "statusTimestampAfter");
    }
    node.finish().await;
}
