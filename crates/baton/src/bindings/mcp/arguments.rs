//! The arguments of the tools for those who hand work in; those of workers are in `bindings/work`.

use baton_core::json::Object;
use baton_core::model::{Part, TaskState};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

type AnyObject = serde_json::Map<String, serde_json::Value>;

/// Hand work to an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFor {
    /// The agent that is to do it.
    pub agent: String,
    /// What is to be done, as text.
    #[serde(default)]
    pub text: Option<String>,
    /// The same as A2A parts such as {"text": "…"} or {"data": {…}}, in place of `text`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<AnyObject>>")]
    pub parts: Option<Vec<Part>>,
    /// The conversation that it belongs to.
    #[serde(default)]
    pub context_id: Option<String>,
    /// An id for the message; one is made where it is left out.
    #[serde(default)]
    pub message_id: Option<String>,
    /// More about the request, for the agent.
    #[serde(default)]
    #[schemars(with = "Option<AnyObject>")]
    pub metadata: Option<Object>,
    /// -100 to 100; the higher are worked on first.
    #[serde(default)]
    pub priority: Option<i16>,
    /// A time (RFC 3339) before which nobody begins.
    #[serde(default)]
    pub not_before: Option<String>,
    /// A time (RFC 3339) by which it must be over.
    #[serde(default)]
    pub deadline: Option<String>,
    /// The same key with the same message gives the same task, for 24 hours.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// Media types that you take as a result.
    #[serde(default)]
    pub accepted_output_modes: Vec<String>,
    /// How long to wait for the end or a question, in seconds up to 600; not at all where it is left out.
    #[serde(default)]
    pub wait_seconds: Option<u64>,
}

/// Look at a task of yours, or at one that you work on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTask {
    pub task_id: String,
    /// The agent whose task it is; worked out where it is left out.
    #[serde(default)]
    pub agent: Option<String>,
    /// The newest messages, so many of them; all where it is left out.
    #[serde(default)]
    pub history_length: Option<usize>,
}

/// List your tasks with an agent, the newest status first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTasks {
    /// Can be left out where your grant reaches one agent only.
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub context_id: Option<String>,
    /// An A2A state such as TASK_STATE_WORKING.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub state: Option<TaskState>,
    /// 1 to 100; 50 where it is left out.
    #[serde(default)]
    pub page_size: Option<usize>,
    /// As the page before answered it.
    #[serde(default)]
    pub page_token: Option<String>,
}

/// Answer a task's question, or say more to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub task_id: String,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub text: Option<String>,
    /// The same as A2A parts, in place of `text`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<AnyObject>>")]
    pub parts: Option<Vec<Part>>,
    #[serde(default)]
    pub message_id: Option<String>,
    /// How long to wait for the end or the next question, in seconds up to 600; not at all where it is left out.
    #[serde(default)]
    pub wait_seconds: Option<u64>,
}

/// End a task of yours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    pub task_id: String,
    #[serde(default)]
    pub agent: Option<String>,
}
