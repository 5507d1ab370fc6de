//! Commands against a real node: everything from `init` to the end of a task.

use std::path::Path;
use std::time::Instant;

use baton_wire::operation::Operation;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::timeout;

use super::{Desk, PATIENCE};
use crate::harness::{User, message, until};
use crate::script::Server;

/// A node in its own folder, with this folder's agents.
pub struct Node {
    pub desk: Desk,
    child: Child,
    agents: Value,
}

impl Node {
    pub async fn start(desk: Desk, args: &[&str]) -> Self {
        let child = desk.command(&[&["serve"], args].concat()).spawn().unwrap();
        let begun = Instant::now();
        // Until it answers its operator.
        let agents = loop {
            let asked = desk.run(&["agents", "--json"]).await;
            if asked.code == 0 {
                break serde_json::from_str(&asked.out).unwrap();
            }
            assert!(begun.elapsed() < PATIENCE, "{asked:?}");
        };
        Self { desk, child, agents }
    }

    /// In dev mode, with the examples that come with Baton.
    async fn dev() -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap();
        let desk = Desk::new();
        let survey = examples.join("survey.py");
        std::fs::write(
            desk.path().join("baton.toml"),
            format!(
                "[node]\ndev = true\nlisten = [\"http://127.0.0.1:0\"]\ndefault_agent = \"echo\"\n\
                 [agents.echo]\nrunner = {{ kind = \"echo\" }}\n\
                 [agents.survey.runner]\nkind = \"process\"\nprotocol = \"jsonl\"\ncommand = [\"python3\", \"{}\"]\n",
                survey.display()
            ),
        )
        .unwrap();
        let agents = ["--agent", "slow=sh -c 'cat; sleep 60'", "--agent", "bad=sh -c 'echo why >&2; exit 3'"];
        Self::start(desk, &agents).await
    }

    pub fn url(&self, agent: &str) -> String {
        let agents = self.agents["agents"].as_array().unwrap();
        let found = agents.iter().find(|known| known["name"] == agent).expect("the agent is there");
        found["url"].as_str().unwrap().to_owned()
    }

    /// Ends it as an init system does.
    pub async fn stop(mut self) {
        let pid = Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the node drains").unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

#[tokio::test]
async fn a_file_from_init_serves() {
    let desk = Desk::new();
    desk.run(&["init"]).await.ok();
    assert_eq!(desk.run(&["init"]).await.code, 1, "a file that is there is kept");
    desk.run(&["init", "--force"]).await.ok();
    let node = Node::start(desk, &["--listen", "http://127.0.0.1:0"]).await;
    assert_eq!(node.agents["agents"].as_array().unwrap().len(), 1);
    let origin = node.url("echo").replace("/a2a/echo", "");
    let card = node.desk.run(&["card", "show", &origin, "--json"]).await.json();
    assert_eq!(card["name"], "echo");
    assert_eq!(node.desk.run(&["send", &origin, "hello"]).await.ok(), "hello\n");
    node.stop().await;
}

#[tokio::test]
async fn the_operator_stops_and_starts_what_comes_in() {
    let mut node = Node::dev().await;
    let desk = &node.desk;
    let usual = "takes messages and works on them\n";
    assert!(desk.run(&["node", "status"]).await.ok().ends_with(usual));
    let frozen = desk.run(&["node", "freeze"]).await.ok();
    assert!(frozen.starts_with("frozen: takes no messages, since "), "{frozen}");
    let refused = desk.run(&["send", &node.url("echo"), "hello"]).await;
    assert!(refused.code == 3 && refused.err.contains("frozen"), "{refused:?}");
    assert_eq!(desk.run(&["node", "unfreeze"]).await.ok(), usual);
    let paused = desk.run(&["node", "pause", "echo", "--json"]).await.json();
    assert_eq!(paused["pausedAgents"][0]["agent"], "echo");
    let id = desk.run(&["send", "--async", &node.url("echo"), "hello"]).await.ok();
    let shown = desk.run(&["task", "get", id.trim(), "--json"]).await.json();
    assert_eq!(shown["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(desk.run(&["node", "resume", "echo"]).await.ok(), usual);
    assert_eq!(desk.run(&["task", "watch", id.trim()]).await.code, 0);
    for (args, code) in [
        (&["node", "freeze", "--grant", "nobody"][..], 3),
        (&["node", "pause", "nobody"], 3),
        (&["node", "lame-duck"], 0),
        (&["node", "lame-duck", "--off"], 0),
        (&["node", "nonsense"], 2),
        (&["node", "drain"], 0),
    ] {
        assert_eq!(desk.run(args).await.code, code, "{args:?}");
    }
    let status = timeout(PATIENCE, node.child.wait()).await.expect("a drained node ends").unwrap();
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn tasks_go_in_and_come_out() {
    let node = Node::dev().await;
    let desk = &node.desk;
    assert_eq!(desk.run(&["send", &node.url("echo"), "hello"]).await.ok(), "hello\n");
    let failed = desk.run(&["send", &node.url("bad"), "hello"]).await;
    assert_eq!(failed.code, 5, "{failed:?}");
    assert!(failed.err.contains("exit status 3") && failed.err.contains("why"), "{failed:?}");

    let id = desk.run(&["send", "--async", &node.url("slow"), "hello"]).await.ok();
    let id = id.trim();
    let shown = desk.run(&["task", "get", id, "--json"]).await.json();
    assert_eq!((&shown["agent"], &shown["owner"]["grant"]), (&json!("slow"), &json!("local")));
    assert_eq!(desk.run(&["task", "cancel", id]).await.ok(), "canceled\n");
    assert_eq!(desk.run(&["task", "cancel", id]).await.code, 3, "it has ended");
    assert_eq!(desk.run(&["task", "watch", id]).await.code, 5);
    assert_eq!(desk.run(&["task", "watch", id, "--url", &node.url("slow")]).await.code, 5);

    let all = desk.run(&["task", "list", "--json"]).await.json();
    assert_eq!(all["totalSize"], 3);
    let some = desk.run(&["task", "list", "--agent", "slow", "--state", "canceled", "--json"]).await.json();
    assert_eq!(some["tasks"][0]["task"]["id"], id);
    let own = desk.run(&["task", "list", "--url", &node.url("slow"), "--json"]).await.json();
    assert_eq!(own["tasks"][0]["id"], id);
    assert_eq!(desk.run(&["task", "get", "made-up"]).await.code, 3);
    node.stop().await;
}

#[tokio::test]
async fn questions_are_answered_by_their_owner_and_by_the_operator() {
    let node = Node::dev().await;
    let desk = &node.desk;
    let url = node.url("survey");
    let asked = desk.run(&["send", &url, "begin"]).await;
    assert_eq!(asked.out, "What is your name?\n", "{asked:?}");
    // What is printed is what is typed next.
    let answer = asked.err.lines().last().unwrap().strip_prefix("answer with: baton ").unwrap();
    let words: Vec<&str> = answer.split(' ').collect();
    let (text, command) = words.split_last().unwrap();
    assert_eq!(*text, "TEXT");
    let second = desk.run(&[command, &["Ada"]].concat()).await;
    assert_eq!(second.out, "What do you work on?\n", "{second:?}");
    let third = desk.run(&["task", "answer", command[2], "Engines"]).await;
    assert_eq!(third.out, "What slows you down?\n", "{third:?}");
    let last = desk.run(&["send", &url, "--task", command[2], "Smoke"]).await;
    let report =
        "**What is your name?** Ada\n**What do you work on?** Engines\n**What slows you down?** Smoke\n";
    assert!(last.code == 0 && last.out.starts_with(report), "{last:?}");
    let after = desk.run(&["task", "answer", command[2], "too late"]).await;
    assert_eq!(after.code, 3, "{after:?}");
    node.stop().await;
}

#[tokio::test]
async fn callers_from_outside_need_a_grant() {
    let desk = Desk::new();
    let file = "[node]\nlisten = [\"http://127.0.0.1:0\"]\n[agents.a]\nrunner = { kind = \"echo\" }\n\
                [agents.b]\nrunner = { kind = \"echo\" }\n";
    std::fs::write(desk.path().join("baton.toml"), file).unwrap();
    let node = Node::start(desk, &[]).await;
    let desk = &node.desk;
    let (a, b) = (node.url("a"), node.url("b"));
    assert_eq!(desk.run(&["send", &a, "x"]).await.code, 3);
    let made = ["--label", "me", "--agent", "a", "--verbs", "send,read", "--json"];
    let made = desk.run(&[&["grants", "create"][..], &made].concat()).await.json();
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert_eq!(desk.run(&["send", &a, "x", "--token", token]).await.ok(), "x\n");
    assert_eq!(desk.run(&["send", &b, "x", "--token", token]).await.code, 3);
    let listed = desk.run(&["grants", "list"]).await.ok();
    assert!(listed.contains("me") && !listed.contains(token), "{listed}");
    desk.run(&["grants", "revoke", id]).await.ok();
    assert_eq!(desk.run(&["send", &a, "x", "--token", token]).await.code, 3);
    assert_eq!(desk.run(&["grants", "revoke", "made-up"]).await.code, 3);
    let unknown = desk.run(&["grants", "create", "--label", "x", "--agent", "c"]).await;
    assert_eq!(unknown.code, 3, "{unknown:?}");
    node.stop().await;
}

#[tokio::test]
async fn deliveries_are_seen_and_replayed() {
    // Gone at first, and there again when it is asked once more.
    let hook = Server::start(|_, _, before| {
        let status = if before == 0 { 410 } else { 204 };
        http::Response::builder().status(status).body(axum::body::Body::empty()).unwrap()
    })
    .await;
    let args = ["--listen", "http://127.0.0.1:0", "--allow-net", "127.0.0.1"];
    let node = Node::start(Desk::new(), &args).await;
    let user = User::new(&node.url("echo").replace("/a2a/echo", ""), "echo", None);
    let params = json!({
        "message": message("hello"),
        "configuration": {"taskPushNotificationConfig": {"id": "c 1", "url": hook.url}},
    });
    let sent = user.call(Operation::SendMessage, params).await.ok();
    let task = sent["task"]["id"].as_str().unwrap();
    let desk = &node.desk;
    until("the receiver said that it is gone", async || {
        desk.run(&["deliveries", "list", "--state", "ended", "--json"]).await.json()["deliveries"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    })
    .await;
    let listed = desk.run(&["deliveries", "list"]).await.ok();
    assert!(listed.contains("ended (gone)") && listed.contains(task), "{listed}");
    let shown = desk.run(&["deliveries", "show", task, "c 1"]).await.ok();
    assert!(shown.contains("410") && shown.contains(&hook.url), "{shown}");
    desk.run(&["deliveries", "replay", task, "c 1"]).await.ok();
    until("the rest is told", async || hook.asked().len() == 4).await;
    assert_eq!(desk.run(&["deliveries", "show", task, "made-up"]).await.code, 3);
    assert_eq!(desk.run(&["deliveries", "replay", "made-up", "c 1"]).await.code, 3);
    node.stop().await;
}

#[tokio::test]
async fn a_node_is_found_by_its_folder_from_anywhere() {
    let node = Node::dev().await;
    let elsewhere = Desk::new();
    let dir = node.desk.path().join("baton-data");
    let dir = dir.to_str().unwrap();
    for args in [["--data-dir", dir, "agents"], ["agents", "--data-dir", dir]] {
        assert!(elsewhere.run(&args).await.ok().contains("survey"));
    }
    let lost = elsewhere.run(&["agents"]).await;
    assert_eq!(lost.code, 4);
    assert!(lost.err.contains("baton serve") && lost.err.contains("--data-dir"), "{lost:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_node_that_cannot_start_says_why() {
    let desk = Desk::new();
    let public = desk.run(&["serve", "--listen", "http://0.0.0.0:0"]).await;
    assert_eq!(public.code, 2);
    assert!(public.err.contains("dev mode"), "{public:?}");
    std::fs::write(desk.path().join("baton.toml"), "[node]\nlisen = []\n").unwrap();
    let misspelt = desk.run(&["serve"]).await;
    assert_eq!(misspelt.code, 2);
    assert!(
        misspelt.err.contains("baton.toml:2: unknown key `lisen`; did you mean `listen`?"),
        "{misspelt:?}"
    );
}

#[tokio::test]
async fn tls_is_trusted_by_a_named_authority_only() {
    let certificates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/certificates");
    let file = |name: &str| certificates.join(name).display().to_string();
    let desk = Desk::new();
    std::fs::write(
        desk.path().join("baton.toml"),
        format!(
            "[node]\ndev = true\nlisten = [\"https://127.0.0.1:0\"]\n\
             [node.tls]\ncert = \"{}\"\nkey = \"{}\"\n[agents.echo]\nrunner = {{ kind = \"echo\" }}\n",
            file("cert.pem"),
            file("key.pem")
        ),
    )
    .unwrap();
    let node = Node::start(desk, &[]).await;
    let (desk, url) = (&node.desk, node.url("echo"));
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let trusted = desk.run(&["send", &url, "hello", "--ca-file", &file("ca.pem")]).await;
    assert_eq!(trusted.ok(), "hello\n");
    let left = desk.run(&["send", "--async", &url, "hello", "--ca-file", &file("ca.pem")]).await;
    assert!(left.err.is_empty() || left.err.contains("--ca-file"), "{left:?}");
    let unknown = desk.run(&["send", &url, "hello"]).await;
    assert_eq!(unknown.code, 4, "{unknown:?}");
    assert!(unknown.err.contains("certificate"), "{unknown:?}");
    let empty = desk.run(&["send", &url, "hello", "--ca-file", "baton.toml"]).await;
    assert_eq!(empty.code, 2, "{empty:?}");
    node.stop().await;
}
