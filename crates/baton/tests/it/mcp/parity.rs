//! Two equal nodes hear the same requests, one over A2A and one over MCP: what they make of them must be the same, in the
//! store and at either door, refusals too.

mod generate;
mod normal;

use baton_core::ident::TaskId;
use baton_store::{By, Verb};
use baton_wire::operation::Operation;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::Client;
use crate::harness::{Door, TestNode, User, request};
use crate::work::clerk;
use generate::{Create, More, Play, Step};
use normal::Normal;

/// Sequences of requests.
const CASES: usize = 64;

/// Seeds the sequences.
const SEED: [u8; 32] = *b"the same requests each time, yes";

/// One node, its caller and its worker, in one case.
struct Side {
    user: User,
    mcp: Client,
    worker: User,
    tasks: Vec<String>,
    normal: Normal,
}

impl Side {
    async fn new(node: &TestNode) -> Self {
        let verbs = [Verb::Send, Verb::Read, Verb::Cancel];
        let (owner, user) = node.grant(&["clerk", "echo"], &verbs).await;
        let (by, worker) = node.grant(&["clerk"], &[Verb::Work]).await;
        let normal = Normal::new([(owner, "OWNER"), (by, "WORKER")]);
        let mcp = Client::new(&user).await;
        Self { user, mcp, worker, tasks: Vec::new(), normal }
    }

    fn task(&self, n: usize) -> String {
        match self.tasks.len() {
            0 => "00000000-0000-7000-8000-000000000000".to_owned(),
            count => self.tasks[n % count].clone(),
        }
    }

    /// The conversation of an earlier task, or one that is named.
    async fn context(&self, context: &generate::Context) -> Option<String> {
        match context {
            generate::Context::None => None,
            generate::Context::Named(name) => Some(name.clone()),
            generate::Context::Of(n) if self.tasks.is_empty() => Some(format!("none-yet-{n}")),
            generate::Context::Of(n) => {
                let clerk = self.user.over(Door::Rpc).to("clerk");
                let task = clerk.call(Operation::GetTask, json!({"id": self.task(*n)}));
                Some(task.await.json()["result"]["contextId"].as_str().unwrap_or("unseen").to_owned())
            }
        }
    }

    /// A worker does something to a task.
    async fn play(&self, play: &Play) {
        let task = self.task(play.task);
        let claimed = self.works("claim", &json!({"agent": "clerk", "task_id": task})).await;
        let given = &claimed["tasks"][0];
        if given.is_null() {
            return;
        }
        let mut said = play.said.clone();
        said["task_id"] = given["task_id"].clone();
        said["lease_token"] = given["lease_token"].clone();
        self.works(play.verb, &said).await;
    }

    async fn works(&self, verb: &str, body: &Value) -> Value {
        let bearer = format!("Bearer {}", self.worker.token());
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        let url = self.worker.at_origin(&format!("/api/v1/work/{verb}"));
        self.worker.over(Door::Rest).ask(request("POST", &url, &headers, body.to_string())).await.json()
    }

    /// What there is of a task, at both doors and in the store.
    async fn views(&mut self, node: &TestNode, n: usize) -> Vec<String> {
        let id = self.tasks[n].clone();
        let store = &node.node().service.store;
        let task = TaskId::parse(&id).unwrap();
        let head = store.find_head(&By::Node, task).await.unwrap().unwrap();
        let user = self.user.to(head.agent.as_str());
        let views = [
            format!("{:?}", store.find(&By::Node, task).await.unwrap()),
            format!("{:?}", store.events(task, 0, 1_000).await.unwrap()),
            format!("{:?}", store.attempts(task).await.unwrap()),
            user.get(&id).await.to_string(),
            self.mcp.does("get_task", json!({"task_id": id})).await.to_string(),
        ];
        views.iter().map(|view| self.normal.of(view)).collect()
    }

    async fn lists(&mut self) -> Vec<String> {
        let mut lists = Vec::new();
        for agent in ["clerk", "echo"] {
            lists.push(self.user.to(agent).list(json!({})).await.to_string());
            lists.push(self.mcp.does("list_tasks", json!({"agent": agent})).await.to_string());
        }
        // Tasks of one millisecond are in the order of their ids, which is that of chance.
        lists.iter().map(|list| self.normal.sorted(list)).collect()
    }
}

/// What an answer came to: a task or a message, or why not.
type Outcome = Result<Value, Refusal>;

#[derive(Debug, PartialEq)]
struct Refusal {
    reason: Value,
    /// The last segments of the fields that are wrong: those before depend on how a door spells a request.
    fields: Vec<String>,
}

impl Refusal {
    fn of(details: &Value) -> Self {
        let violations = details[1]["fieldViolations"].as_array().into_iter().flatten();
        let field = |violation: &Value| {
            let field = violation["field"].as_str().unwrap();
            field.rsplit(['.', '/']).next().unwrap().to_lowercase().replace(['_', '-', '"', ']'], "")
        };
        Self { reason: details[0]["reason"].clone(), fields: violations.map(field).collect() }
    }
}

/// SendMessage.
async fn send(side: &Side, agent: &str, params: Value, key: Option<&str>) -> Outcome {
    let mut user = side.user.over(Door::Rpc).to(agent);
    if let Some(key) = key {
        user = user.with("idempotency-key", key);
    }
    let mut answer = user.call(Operation::SendMessage, params).await.json();
    if answer["result"].is_null() {
        Err(Refusal::of(&answer["error"]["data"]))
    } else {
        Ok(answer["result"].take())
    }
}

/// A tool.
async fn tool(side: &Side, name: &str, arguments: Value) -> Outcome {
    let mut result = side.mcp.call(name, arguments).await;
    if result["isError"] == true {
        return Err(Refusal::of(&result["_meta"]["baton/error"]["details"]));
    }
    Ok(result["structuredContent"].take())
}

async fn create_by_a2a(side: &Side, create: &Create) -> Outcome {
    let mut message = json!({"messageId": create.message_id, "role": "ROLE_USER", "parts": create.parts});
    if let Some(context) = side.context(&create.context).await {
        message["contextId"] = context.into();
    }
    let mut params = json!({
        "message": message,
        "configuration": {"returnImmediately": true, "acceptedOutputModes": create.modes},
    });
    let mut metadata = create.metadata.clone();
    for (name, value) in
        [("priority", &create.priority), ("notBefore", &create.not_before), ("deadline", &create.deadline)]
    {
        if !value.is_null() {
            metadata[format!("baton/{name}")] = value.clone();
        }
    }
    if metadata != json!({}) {
        params["metadata"] = metadata;
    }
    send(side, create.agent, params, create.key.as_deref()).await
}

async fn create_by_mcp(side: &Side, create: &Create) -> Outcome {
    let mut arguments =
        json!({"agent": create.agent, "parts": create.parts, "message_id": create.message_id});
    let context = side.context(&create.context).await;
    let members = [
        ("context_id", json!(context)),
        ("priority", create.priority.clone()),
        ("not_before", create.not_before.clone()),
        ("deadline", create.deadline.clone()),
        ("idempotency_key", json!(create.key)),
    ];
    for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
        arguments[name] = value;
    }
    if create.metadata != json!({}) {
        arguments["metadata"] = create.metadata.clone();
    }
    if !create.modes.is_empty() {
        arguments["accepted_output_modes"] = json!(create.modes);
    }
    tool(side, "create_for", arguments).await
}

async fn more_by_a2a(side: &Side, more: &More) -> Outcome {
    let message = json!({
        "messageId": more.message_id, "role": "ROLE_USER", "parts": more.parts, "taskId": side.task(more.task),
    });
    let params = json!({"message": message, "configuration": {"returnImmediately": true}});
    send(side, "clerk", params, None).await
}

async fn more_by_mcp(side: &Side, more: &More) -> Outcome {
    let arguments = json!({
        "task_id": side.task(more.task), "agent": "clerk", "parts": more.parts, "message_id": more.message_id,
    });
    tool(side, "answer", arguments).await
}

#[tokio::test]
async fn whichever_door_it_comes_by() {
    let [a2a, mcp] = [node().await, node().await];
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut taken, mut refused) = (0, std::collections::BTreeMap::new());
    let (mut compared, mut differ) = (0, 0);
    for case in 0..CASES {
        let steps = generate::steps().new_tree(&mut runner).unwrap().current();
        let [mut left, mut right] = [Side::new(&a2a).await, Side::new(&mcp).await];
        for step in &steps {
            let (one, other) = match step {
                Step::Create(create) => {
                    (create_by_a2a(&left, create).await, create_by_mcp(&right, create).await)
                }
                Step::More(more) => (more_by_a2a(&left, more).await, more_by_mcp(&right, more).await),
                Step::Play(play) => {
                    left.play(play).await;
                    right.play(play).await;
                    continue;
                }
            };
            for (side, outcome) in [(&mut left, &one), (&mut right, &other)] {
                let id = outcome.as_ref().ok().and_then(|answer| answer["task"]["id"].as_str());
                if let Some(id) = id.filter(|id| !side.tasks.iter().any(|known| known == id)) {
                    side.tasks.push(id.to_owned());
                }
            }
            let normal = |side: &mut Side, outcome: Outcome| match outcome {
                Ok(answer) => Ok(side.normal.of(&answer.to_string())),
                Err(refusal) => Err(refusal),
            };
            let (one, other) = (normal(&mut left, one), normal(&mut right, other));
            match &one {
                Ok(_) => taken += 1,
                Err(why) => *refused.entry(why.reason.to_string()).or_insert(0) += 1,
            }
            let doubts = match step {
                Step::Create(create) => create.doubts(),
                // The task may be over besides, or not be there.
                Step::More(more) => 1 + more.doubts(),
                Step::Play(_) => 0,
            };
            if doubts > 1 && one.is_err() && other.is_err() {
                continue;
            }
            compared += usize::from(one.is_err());
            if one != other {
                eprintln!("case {case}: {step:#?}\nA2A: {one:#?}\nMCP: {other:#?}");
                differ += 1;
            }
        }
        assert_eq!(left.tasks.len(), right.tasks.len(), "case {case}");
        for n in 0..left.tasks.len() {
            let (one, other) = (left.views(&a2a, n).await, right.views(&mcp, n).await);
            assert_eq!(one, other, "case {case}: task {n} of {steps:#?}");
        }
        assert_eq!(left.lists().await, right.lists().await, "case {case}: {steps:#?}");
    }
    println!("taken in {taken}, refused {refused:?}, {compared} of them for one reason");
    assert_eq!(differ, 0, "requests that the doors do not agree on");
    // The requests are worth the while: of each kind there are some.
    assert!(taken > CASES && refused.len() >= 4 && compared > 20, "taken in {taken}, refused {refused:?}");
    a2a.finish().await;
    mcp.finish().await;
}

async fn node() -> TestNode {
    TestNode::with(|settings| {
        clerk(settings);
        settings.node.dev = false;
    })
    .await
}
