//! Grants, revocations and single tries survive the death of their node.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::client::{Client, Send};
use super::ledger::state;
use super::node::{PATIENCE, Place};

/// Agents that are at work until they are ended.
const AGENTS: &str = r#"
[agents.stay]
backoff = "10ms"
runner = { kind = "process", command = ["sh", "-c", 'echo begun; exec sleep 600', "MARK"] }

[agents.never]
retry = "never"
runner = { kind = "process", command = ["sh", "-c", 'echo begun; exec sleep 600', "MARK"] }
"#;

/// A grant and its token.
async fn create(operator: &mut Client) -> (String, String) {
    let wanted =
        json!({"label": "a friend", "agents": ["echo", "stay"], "verbs": ["send", "read", "cancel"]});
    let made = operator.plain(Method::POST, "/api/v1/grants", Some(&wanted)).await.unwrap().unwrap();
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

async fn may_send(client: Client, token: &str) -> bool {
    let sent = client.with_token(token).send(&Send::new("echo", "m", "hello").unkeyed()).await.unwrap();
    match sent {
        Ok(task) => state(&task) == "TASK_STATE_COMPLETED",
        Err(fault) => {
            assert_eq!(fault.status, 401, "{fault:?}");
            false
        }
    }
}

#[tokio::test]
async fn grants_and_revocations_stay() {
    let place = Place::with_agents(AGENTS);
    let node = place.start().await;
    let mut operator = Client::over(place.socket());
    let (kept, token) = create(&mut operator).await;
    let (ended, other) = create(&mut operator).await;
    node.kill().await;

    let node = place.start().await;
    let mut operator = Client::over(place.socket());
    assert!(may_send(node.client(), &token).await && may_send(node.client(), &other).await);
    operator.plain(Method::DELETE, &format!("/api/v1/grants/{ended}"), None).await.unwrap().unwrap();
    node.kill().await;

    let node = place.start().await;
    let mut operator = Client::over(place.socket());
    assert!(may_send(node.client(), &token).await && !may_send(node.client(), &other).await);
    let listed = operator.plain(Method::GET, "/api/v1/grants", None).await.unwrap().unwrap();
    let states = |id: &str| {
        let grants = listed["grants"].as_array().unwrap().iter();
        grants.filter(|grant| grant["id"] == id).map(|grant| grant["state"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((states(&kept), states(&ended)), (vec![json!("active")], vec![json!("revoked")]));
    node.stop(&place).await;
}

#[cfg(debug_assertions)]
#[tokio::test]
async fn a_revocation_that_was_interrupted_ends_the_work() {
    let place = Place::with_agents(AGENTS);
    let node = place.start_to_die(baton::crash::REVOKED, 1).ready().await.unwrap();
    let mut operator = Client::over(place.socket());
    let (grant, token) = create(&mut operator).await;
    let mut stream =
        node.client().with_token(&token).stream(&Send::new("stay", "m", "go")).await.unwrap().unwrap();
    let task = stream.next().await.unwrap().unwrap().item["task"]["id"].as_str().unwrap().to_owned();
    operator.plain(Method::DELETE, &format!("/api/v1/grants/{grant}"), None).await.unwrap_err();
    node.ended().await;
    place.childless().await;

    let node = place.start().await;
    let mut operator = Client::over(place.socket());
    assert!(!may_send(node.client(), &token).await);
    ends(&mut operator, &task, "TASK_STATE_CANCELED").await;
    node.stop(&place).await;
}

#[tokio::test]
async fn what_is_tried_once_fails_with_its_node() {
    let place = Place::with_agents(AGENTS);
    let node = place.start().await;
    let mut client = node.client();
    let mut stream = client.stream(&Send::new("never", "m", "go")).await.unwrap().unwrap();
    let task = stream.next().await.unwrap().unwrap().item["task"]["id"].as_str().unwrap().to_owned();
    while !stream.next().await.unwrap().unwrap().item.to_string().contains("begun") {}
    node.kill().await;
    place.childless().await;

    let node = place.start().await;
    let mut operator = Client::over(place.socket());
    let ended = ends(&mut operator, &task, "TASK_STATE_FAILED").await;
    assert_eq!(ended["metadata"]["baton/reason"], "node_died", "{ended}");
    assert_eq!(ended["artifacts"][0]["parts"][0]["text"], "begun\n", "what was seen stays: {ended}");
    node.stop(&place).await;
}

/// Waits until a task is in a state, and answers it.
async fn ends(operator: &mut Client, task: &str, wanted: &str) -> Value {
    let end = async {
        loop {
            let shown =
                operator.plain(Method::GET, &format!("/api/v1/tasks/{task}"), None).await.unwrap().unwrap();
            let shown = shown.get("task").unwrap_or(&shown).clone();
            if state(&shown) == wanted {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, end).await.expect("the task ends")
}
