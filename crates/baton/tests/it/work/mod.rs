//! The work queue at the doors: workers over HTTP, owners over A2A.

mod life;
mod queue;
mod refusals;

use std::time::Duration;

use baton::config::settings::{Agent, Pull, Runner, Settings};
use baton_core::ident::AgentName;
use baton_store::{Budget, Verb};
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, request};

const LEASE: Duration = Duration::from_mins(5);

/// The agent `clerk`, whose tasks workers claim.
pub fn clerk(settings: &mut Settings) {
    clerk_with(settings, None, None);
}

fn clerk_with(settings: &mut Settings, concurrency: Option<u32>, budget: Option<Budget>) {
    let name = AgentName::parse("clerk").unwrap();
    let of = settings.agents.values().next().unwrap().clone();
    let runner = Runner::Pull(Pull { concurrency, lease: LEASE });
    let backoff = Duration::from_secs(30);
    let clerk =
        Agent { name: name.clone(), title: "clerk".into(), publish: true, runner, budget, backoff, ..of };
    settings.agents.insert(name, clerk);
}

/// Somebody who works on an agent's tasks.
#[derive(Clone)]
pub struct Worker {
    pub user: User,
}

impl Worker {
    /// With a grant of its own.
    async fn new(node: &TestNode) -> Self {
        Self { user: node.grant(&["clerk"], &[Verb::Work]).await.1 }
    }

    pub async fn says(&self, verb: &str, body: &Value) -> Answer {
        self.says_raw(verb, body.to_string()).await
    }

    async fn says_raw(&self, verb: &str, body: String) -> Answer {
        let url = self.user.at_origin(&format!("/api/v1/work/{verb}"));
        let bearer = format!("Bearer {}", self.user.token());
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        let request = request("POST", &url, &headers, body);
        self.user.over(Door::Rest).ask(request).await
    }

    /// The next tasks.
    async fn claims(&self, max: usize) -> Vec<Value> {
        let claimed = self.says("claim_next", &json!({"max": max})).await.ok();
        claimed["tasks"].as_array().unwrap().clone()
    }

    /// The next task, which is there.
    async fn claim(&self) -> Held<'_> {
        let mut tasks = self.claims(1).await;
        assert_eq!(tasks.len(), 1);
        Held { worker: self, given: tasks.remove(0) }
    }
}

/// A task in a worker's hands.
struct Held<'w> {
    worker: &'w Worker,
    given: Value,
}

impl Held<'_> {
    fn task(&self) -> &str {
        self.given["task_id"].as_str().unwrap()
    }

    /// A report: the answer as it is.
    async fn tries(&self, verb: &str, more: Value) -> Answer {
        let mut body = json!({"task_id": self.given["task_id"], "lease_token": self.given["lease_token"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.worker.says(verb, &body).await
    }

    /// A report that is taken in: how the task stands.
    async fn does(&self, verb: &str, more: Value) -> Value {
        self.tries(verb, more).await.ok()
    }
}
