//! The real node in-process, its callers over real HTTP, and agents that a test plays itself.

mod agent;
mod answer;
mod client;
pub mod grpc;
pub mod logs;
mod settings;
mod stream;
mod user;

use std::future::Future;
use std::time::Duration;

use baton::clock::Clock;
use baton::config::settings::{Agent, Settings};
use baton::server::Node;
use baton_store::Verb;
use serde_json::{Value, json};
use tokio::time::timeout;

use agent::Scripts;
pub use agent::{Attempt, chunk};
pub use answer::Answer;
pub use client::{over_socket, request, tls};
pub use stream::{Frame, Stream, lines};
pub use user::{DOORS, Door, User, message, state, text_of};

/// Far more than anything here takes, so that only a hang fails on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must happen soon.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("it happens soon")
}

/// Looks at a condition until it holds.
pub async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    until_within(PATIENCE, what, holds).await;
}

/// The same of what takes its time.
pub async fn until_within(patience: Duration, what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let look = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(timeout(patience, look).await.is_ok(), "never: {what}");
}

/// A node on a free port with a data folder of its own.
///
/// Its agents: `echo`, published; `script`, played by the test, takes messages while it works; `text`, the same but
/// takes none; `talker`, the same but may reply with a direct Message; `mute`, the same but does not stream.
pub struct TestNode {
    node: Node,
    pub clock: Clock,
    scripts: Scripts,
    settings: Settings,
    folder: tempfile::TempDir,
}

impl TestNode {
    /// In dev mode: loopback is the grant `local`.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Out of dev mode: nobody gets in without a token.
    pub async fn closed() -> Self {
        Self::with(|settings| settings.node.dev = false).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        logs::capture();
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings::settings(folder.path());
        change(&mut settings);
        let (clock, scripts) = (Clock::default(), Scripts::new(settings::SCRIPTED));
        let node = launch(&settings, &clock, &scripts).await;
        Self { node, clock, scripts, settings, folder }
    }

    pub const fn node(&self) -> &Node {
        &self.node
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn url(&self) -> &str {
        &self.node.urls[0]
    }

    /// The caller without any credentials, at the agent's door of JSON-RPC.
    pub fn anyone(&self, agent: &str) -> User {
        User::new(self.url(), agent, None)
    }

    /// The same caller over every binding.
    pub fn doors(&self, agent: &str) -> [User; 3] {
        self.anyone(agent).doors()
    }

    /// The same caller over the bindings of JSON.
    pub fn json_doors(&self, agent: &str) -> [User; 2] {
        self.anyone(agent).json_doors()
    }

    /// A grant made over the node's own socket, and its holder.
    pub async fn grant(&self, agents: &[&str], verbs: &[Verb]) -> (String, User) {
        let body = json!({"label": "a test", "agents": agents, "verbs": verbs});
        let made = self.operator("POST", "/api/v1/grants", Some(&body)).await.json();
        let id = made["id"].as_str().expect("a grant has an id").to_owned();
        let token = made["token"].as_str().expect("its token is shown once");
        (id, User::new(self.url(), agents[0], Some(token)))
    }

    /// The holder of a grant for every agent here and every verb.
    pub async fn holder(&self, agent: &str) -> User {
        let agents = ["echo", "script", "text", "talker", "mute"];
        self.grant(&agents, &Verb::ALL).await.1.to(agent)
    }

    pub async fn revoke(&self, grant: &str) {
        self.operator("DELETE", &format!("/api/v1/grants/{grant}"), None).await.json();
    }

    /// One request over the node's own socket.
    pub async fn operator(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        client::over_socket(&self.node.socket, method, path, body).await
    }

    /// The next attempt at a task of an agent that the test plays.
    pub async fn attempt(&self, agent: &str) -> Attempt {
        soon(self.scripts.next(agent)).await
    }

    /// Whether nobody plays an attempt that was begun.
    pub fn is_idle(&self, agent: &str) -> bool {
        self.scripts.is_idle(agent)
    }

    /// Stops the node and starts it again on the same data. Attempts under way must be ended by whoever plays them.
    pub async fn restart(self) -> Self {
        self.restart_with(|_| {}).await
    }

    /// As [`TestNode::restart`], with other settings.
    pub async fn restart_with(self, change: impl FnOnce(&mut Settings)) -> Self {
        let Self { node, clock, scripts, mut settings, folder } = self;
        soon(node.stop()).await;
        change(&mut settings);
        let node = launch(&settings, &clock, &scripts).await;
        Self { node, clock, scripts, settings, folder }
    }

    /// Stops the node, and fails where the test left something behind.
    pub async fn finish(self) {
        let service = self.node.service.clone();
        let nothing_due = async || service.store.due_targets("", 1).await.unwrap().is_empty();
        until("nothing is owed to a webhook", nothing_due).await;
        drop(service);
        self.finish_owing().await;
    }

    /// As [`TestNode::finish`], with receivers that are still to be told something.
    pub async fn finish_owing(self) {
        let service = self.node.service.clone();
        until("nobody watches a task", async || service.hub.is_empty()).await;
        let leases = service.store.orphaned("nobody", 10).await.unwrap();
        assert_eq!(leases, [], "a test ends its attempts");
        drop(service);
        soon(self.node.stop()).await;
    }
}

async fn launch(settings: &Settings, clock: &Clock, scripts: &Scripts) -> Node {
    let lanes = |agent: &Agent, _: &Clock| scripts.lane(agent);
    let start = || Node::start_with(settings.clone(), clock.clone(), lanes);
    // The connections of an earlier run may take a moment to let go of the store.
    let mut tries = 0;
    loop {
        match start().await {
            Ok(node) => return node,
            Err(why) if tries == 1_000 => panic!("the node does not start: {why}"),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
