//! A disk on which nothing more can be written: a limit on the size of the node's files stands in for it.

use std::fs;

use rustix::process::{Resource, Rlimit, prlimit};

use super::account::{Account, audit};
use super::client::Send;
use super::ledger::{Ledger, state};
use super::node::{Node, Place};
use crate::harness::until;

/// What the node can still write before its disk is full: some commits' worth.
const LEFT: u64 = 64 * 1024;

/// An agent that says when it has begun, and goes on when it is told to.
const GATED: &str = r#"
[agents.gated]
runner = { kind = "process", protocol = "text", command = ["sh", "-c", 'x=$(cat); : >FOLDER/begun; until [ -e FOLDER/go ]; do sleep 0.01; done; printf %s "$x"', "MARK"] }
"#;

fn limit(node: &Node, bytes: Option<u64>) {
    prlimit(Some(node.pid()), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[tokio::test]
async fn a_full_disk_is_said_and_survived() {
    let place = Place::with_agents(GATED);
    let node = place.start().await;
    let (mut client, ledger) = (node.client(), Ledger::default());
    let log = fs::metadata(place.data().join("baton.db-wal")).unwrap().len();
    let database = fs::metadata(place.data().join("baton.db")).unwrap().len();
    limit(&node, Some(log.max(database) + LEFT));

    let mut acknowledged = Vec::new();
    let fault = loop {
        let n = acknowledged.len();
        assert!(n < 1_000, "the disk is never full");
        let send = Send::new("echo", &format!("m{n}"), &"x".repeat(1_000));
        ledger.sends(&send);
        match client.send(&send).await.unwrap() {
            Ok(task) => {
                ledger.acknowledged(&send, &task);
                ledger.saw("echo", &task);
                acknowledged.push(task["id"].as_str().unwrap().to_owned());
            }
            Err(fault) => break fault,
        }
    };
    assert!(!acknowledged.is_empty());
    assert_eq!((fault.status.as_u16(), fault.retry_after.as_deref()), (503, Some("5")), "{fault:?}");
    assert!(!fault.message.is_empty() && !fault.message.contains("disk I/O"), "for the caller: {fault:?}");
    // What is there can be read, and a task that cannot be written is not there.
    for task in &acknowledged {
        ledger.saw("echo", &client.get("echo", task).await.unwrap().unwrap());
    }

    // An agent's work goes on when there is space again: it ends while there is none.
    limit(&node, None);
    let send = Send::new("gated", "later", "work").at_once();
    ledger.sends(&send);
    let task = client.send(&send).await.unwrap().unwrap();
    ledger.acknowledged(&send, &task);
    let id = task["id"].as_str().unwrap();
    until("the child has begun", async || place.folder().join("begun").exists()).await;
    limit(&node, Some(0));
    let mut other = node.client();
    let full = other.send(&Send::new("echo", "not now", "x")).await.unwrap().unwrap_err();
    assert_eq!(full.status, 503, "{full:?}");
    fs::write(place.folder().join("go"), "").unwrap();
    until("the child has said all and is gone", async || place.children().is_empty()).await;
    assert_eq!(state(&client.get("gated", id).await.unwrap().unwrap()), "TASK_STATE_WORKING");
    limit(&node, None);
    let completed =
        async || state(&client.get("gated", id).await.unwrap().unwrap()) == "TASK_STATE_COMPLETED";
    until("what it said is there", completed).await;
    let retried = Send::new("echo", &format!("m{}", acknowledged.len()), &"x".repeat(1_000));
    let task = client.send(&retried).await.unwrap().unwrap();
    ledger.acknowledged(&retried, &task);
    Account::of(&ledger, &mut client).await.assert_sound();
    drop(client);
    node.stop(&place).await;
    audit(&place.data()).await;
}
