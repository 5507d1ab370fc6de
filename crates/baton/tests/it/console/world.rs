//! A node on which much waits for a person.

use std::time::Duration;

use axum::body::Body;
use baton::config::settings::{Destination, Network};
use baton_store::Verb;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Attempt, TestNode, User, message, request, until};
use crate::script::Server;

/// Text of somebody who means no good: a tag, an override of direction, an escape, a long word.
pub const HOSTILE: &str = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> \
    \u{202e}gnp.exe\u{202c} \u{1b}[31mred\u{7} ‏עברית‏ Supercalifragilisticexpialidocious0000000000000000000000000000000000000000000000000000000000000000000000000000000000";

/// A node, those who call it, and what its agents are at.
pub struct World {
    pub node: TestNode,
    pub ci: User,
    pub asks: Attempt,
    pub permits: Attempt,
    pub works: Attempt,
    pub failed: String,
    pub done: String,
    pub hooked: String,
    pub asked: String,
    pub receiver: Server,
}

/// A node out of dev mode that may reach this machine.
pub async fn node() -> TestNode {
    let network = Network { address: [127, 0, 0, 0].into(), prefix: 8 };
    TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.allow = vec![Destination::Network(network)];
    })
    .await
}

/// A friend request that is taken in; its id.
pub async fn ask_to_be_let_in(node: &TestNode, wish: &Value) -> String {
    let url = format!("{}/friend-requests", node.url());
    let asked = request("POST", &url, &[("content-type", "application/json")], wish.to_string());
    let answer = node.anyone("echo").ask(asked).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// A grant of this label for every agent, and its holder.
pub async fn grant(node: &TestNode, label: &str) -> User {
    let agents = ["echo", "script", "text", "talker", "mute"];
    let verbs: Vec<_> = Verb::ALL.map(Verb::as_str).into();
    let body = json!({"label": label, "agents": agents, "verbs": verbs});
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.ok();
    User::new(node.url(), "script", made["token"].as_str())
}

/// Hands something in and does not wait; the task's id.
pub async fn hand_in(user: &User, params: Value) -> String {
    let mut params = params;
    params["configuration"]["returnImmediately"] = json!(true);
    user.call(Operation::SendMessage, params).await.ok()["task"]["id"].as_str().unwrap().to_owned()
}

pub async fn say(user: &User, text: &str) -> String {
    hand_in(user, json!({"message": message(text)})).await
}

impl World {
    pub async fn new() -> Self {
        let node = node().await;
        let (ci, nightly) = (grant(&node, "ci-bot").await, grant(&node, "nightly").await);
        let receiver =
            Server::start(|_, _, _| http::Response::builder().status(503).body(Body::empty()).unwrap()).await;
        let hooked = Self::webhook(&node, &nightly, &receiver).await;
        say(&ci, "Review PR 412 for lock ordering").await;
        let asks = node.attempt("script").await;
        asks.progress("Reading 14 changed files").await;
        asks.write("review.md", "## Findings\n1. `transfer()` takes B before A when ids are equal.\n").await;
        asks.ask("Two migrations change the same column. Keep 0042 and rewrite 0043, or squash both?").await;
        say(&nightly, "Restart the api deployment").await;
        let permits = node.attempt("script").await;
        permits.ask_for_credentials("May I run: kubectl rollout restart deployment/api?").await;
        let failed = say(&nightly, "Build the weekly report").await;
        node.attempt("script")
            .await
            .fail("The disk of the build machine is full: 0 of 512 GiB are free.")
            .await;
        let done = Self::finished(&node, &ci).await;
        say(&ci, "Summarize yesterday's incidents").await;
        let works = node.attempt("script").await;
        works.progress("Read 3 of 11 reports").await;
        for text in ["Say hello", "Translate the changelog into Dutch", "List the open pull requests"] {
            say(&ci.to("echo"), text).await;
        }
        let wish = json!({
            "cardUrl": "https://desk.partner.example/.well-known/agent-card.json", "agents": ["echo"],
            "verbs": ["send", "read", "cancel"], "why": "We would like nightly summaries of our public reports.",
        });
        let asked = ask_to_be_let_in(&node, &wish).await;
        Self { node, ci, asks, permits, works, failed, done, hooked, asked, receiver }
    }

    /// A task whose webhook fails again and again.
    async fn webhook(node: &TestNode, user: &User, receiver: &Server) -> String {
        let config = json!({"url": format!("{}/a2a", receiver.url), "id": "ci"});
        let params = json!({"message": message("Deploy the docs"), "configuration": {"taskPushNotificationConfig": config}});
        let task = hand_in(&user.to("echo"), params).await;
        for failures in 1..=3 {
            until("the try failed", async || {
                let page = node.operator("GET", &format!("/api/v1/deliveries/{task}/ci"), None).await.json();
                page["delivery"]["failures"] == failures
            })
            .await;
            if failures < 3 {
                node.clock.advance(Duration::from_mins(10));
                node.node().service.hub.owed().notify_one();
            }
        }
        task
    }

    /// A task with a conversation, text, data and an image.
    async fn finished(node: &TestNode, user: &User) -> String {
        let task = say(user, "Plot the latency of last week").await;
        let attempt = node.attempt("script").await;
        attempt.progress("Fetching 10,080 samples").await;
        attempt.write("summary.txt", "p50 12 ms, p99 181 ms. The peak on Tuesday is the backup.").await;
        attempt.complete_saying("Here is the plot, and the numbers behind it.").await;
        task
    }

    /// Ends what is still at work.
    pub async fn finish(self) {
        let Self { node, asks, permits, works, receiver, .. } = self;
        for attempt in [asks, permits, works] {
            attempt.complete().await;
        }
        drop(receiver);
        Box::pin(node.finish_owing()).await;
    }
}
