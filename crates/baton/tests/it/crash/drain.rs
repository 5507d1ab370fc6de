//! SIGTERM: the node finishes what it can within 25 seconds, gives back what it cannot, and exits 0.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::account::{ask, audit};
use super::client::{Client, Send, Stream};
use super::ledger::state;
use super::node::{PATIENCE, Place, Starting};

/// A drain as a whole (issue: "drains within 25 s").
const DRAIN: Duration = Duration::from_secs(25);

/// Agents that take long. `stubborn` and `mule` hear no SIGTERM, and are done at once when they are tried again.
const AGENTS: &str = r#"
[agents.two]
backoff = "10ms"
runner = { kind = "process", command = ["sh", "-c", 'echo begun; sleep 2; echo done', "MARK"] }

[agents.stubborn]
backoff = "10ms"
runner = { kind = "process", command = ["sh", "-c", '''
    trap "" TERM
    echo begun
    [ -e FOLDER/stubborn ] && exit 0
    touch FOLDER/stubborn
    while :; do sleep 0.2; done''', "MARK"] }

[agents.mule]
backoff = "10ms"
runner = { kind = "process", protocol = "jsonl", command = ["sh", "-c", '''
    trap "" TERM
    echo '{"type":"ready"}'
    while :; do
        IFS= read -r line || { sleep 0.2; continue; }
        case $line in
        *rest*) echo '{"type":"complete"}' ;;
        '{"type":"task"'*) echo '{"type":"status","text":"begun"}'; [ -e FOLDER/mule ] && echo '{"type":"complete"}'; touch FOLDER/mule ;;
        esac
    done''', "MARK"] }
"#;

/// Sends, and waits until the agent has begun: the task's id and its stream.
async fn begin(client: &mut Client, agent: &'static str) -> (String, Stream) {
    let mut stream = client.stream(&Send::new(agent, agent, "go")).await.unwrap().unwrap();
    let task = stream.next().await.unwrap().unwrap().item["task"]["id"].as_str().unwrap().to_owned();
    loop {
        let frame = stream.next().await.unwrap().expect("the agent begins");
        if frame.item.to_string().contains("begun") {
            return (task, stream);
        }
    }
}

/// Waits until a task of an earlier node has come to its end on this one.
async fn completes(client: &mut Client, agent: &str, task: &str) {
    let end = async {
        while state(&client.get(agent, task).await.unwrap().unwrap()) != "TASK_STATE_COMPLETED" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, end).await.expect("it is picked up again");
}

/// How a task's attempts ended, and how many of them counted.
async fn attempts(place: &Place) -> String {
    let program = r#"
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
ends = "('completed', 'failed', 'canceled', 'rejected', 'requeued', 'holder_gone')"
for row in db.execute(f"""SELECT agent, group_concat(outcome), counted FROM
    (SELECT agent, id, coalesce(outcome, kind) outcome, counted FROM task JOIN log ON task = key WHERE kind IN {ends}
    ORDER BY id, log.seq) GROUP BY id"""):
    print(*row)
"#;
    ask(&place.data(), program).await
}

#[tokio::test]
async fn with_nothing_to_do() {
    let place = Place::new();
    let node = place.start().await;
    node.client().send(&Send::new("parrot", "m", "a child that rests")).await.unwrap().unwrap();
    assert!(node.stop(&place).await < Duration::from_secs(5));
    audit(&place.data()).await;
}

#[tokio::test]
async fn with_a_child_that_finishes() {
    let place = Place::with_agents(AGENTS);
    let node = place.start().await;
    let (mut client, mut other) = (node.client(), node.client());
    let (task, stream) = begin(&mut client, "two").await;
    let waiter = tokio::spawn(async move { other.send(&Send::new("two", "waits", "go")).await });
    // The waiter's task is on disk before the drain begins.
    while client.rpc("two", "ListTasks", &json!({}), None).await.unwrap().unwrap()["totalSize"] != 2 {}
    let begun = Instant::now();
    node.terminate();
    let waiting = waiter.await.unwrap().unwrap().expect("who waits gets the task as it stands");
    assert_eq!(state(&waiting), "TASK_STATE_WORKING");
    assert!(!stream.rest().await.unwrap().iter().any(|frame| frame.item.to_string().contains("COMPLETED")));
    for agent in ["two", "echo"] {
        let refused = client.send(&Send::new(agent, "late", "go")).await.unwrap().unwrap_err();
        assert_eq!(
            (refused.status.as_u16(), refused.retry_after.as_deref()),
            (503, Some("5")),
            "{refused:?}"
        );
        let refused = client.stream(&Send::new(agent, "late", "go")).await.unwrap().unwrap_err();
        assert_eq!(
            (refused.status.as_u16(), refused.retry_after.as_deref()),
            (503, Some("5")),
            "{refused:?}"
        );
    }
    assert_eq!(
        state(&client.get("two", &task).await.unwrap().unwrap()),
        "TASK_STATE_WORKING",
        "reading goes on"
    );
    assert!(node.ended().await.success());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(place.children(), []);
    audit(&place.data()).await;
    assert_eq!(attempts(&place).await, "two completed 1\ntwo completed 1\n");
}

#[tokio::test]
async fn with_children_that_hear_nothing() {
    let place = Place::with_agents(AGENTS);
    let node = place.start().await;
    let mut client = node.client();
    client.send(&Send::new("mule", "rest", "rest").in_context("other")).await.unwrap().unwrap();
    let (text, _open) = begin(&mut client, "stubborn").await;
    let (jsonl, _open_too) = begin(&mut client, "mule").await;
    let took = node.stop(&place).await;
    assert!(took < DRAIN, "{took:?}");
    println!("drained in {took:.1?}");
    let node = place.start().await;
    let mut client = node.client();
    completes(&mut client, "stubborn", &text).await;
    completes(&mut client, "mule", &jsonl).await;
    drop(client);
    node.kill().await;
    place.childless().await;
    let of = attempts(&place).await;
    assert_eq!(of, "mule completed 1\nstubborn released,completed 1\nmule released,completed 1\n");
}

#[tokio::test]
async fn a_second_node_is_refused() {
    let place = Place::new();
    let node = place.start().await;
    let mut command = place.command();
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let second = timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    assert_eq!(second.status.code(), Some(1), "{second:?}");
    let words = String::from_utf8(second.stderr).unwrap();
    assert!(words.contains("another node uses the data folder") && words.contains("--data-dir"), "{words}");
    node.client().send(&Send::new("echo", "m", "still here")).await.unwrap().unwrap();
    node.kill().await;
    let again = Starting::new(place.command()).ready().await.expect("a dead node holds no lock");
    again.stop(&place).await;
}
