//! The arguments of workers' verbs, as tools over MCP and as bodies over HTTP take them.

use baton_core::model::Part;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use utoipa::ToSchema;

/// Claim one task by its id.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkClaim)]
pub struct Claim {
    /// The agent whose task it is; worked out where it is left out.
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    /// How long you may be silent before the task is given to another, 60 to 86400; the agent's own where it is left out.
    #[serde(default)]
    pub lease_seconds: Option<u64>,
}

/// Claim the tasks whose turn it is: those of the highest priority first, and of them the oldest.
#[derive(Clone, Debug, Default, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = WorkClaimNext)]
pub struct ClaimNext {
    /// The agent whose tasks you work on; can be left out where your grant reaches one only.
    pub agent: Option<String>,
    /// How many at most, 1 to 64; one where it is left out.
    pub max: Option<usize>,
    /// How long you may be silent before a task is given to another, 60 to 86400; the agent's own where it is left out.
    pub lease_seconds: Option<u64>,
    /// How long to wait for a task where there is none yet, 0 to 50; not at all where it is left out.
    pub wait_seconds: Option<u64>,
}

/// Say that you are alive: the lease begins anew.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkHeartbeat)]
pub struct Heartbeat {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    /// As the claim answered it.
    pub lease_token: String,
    /// 60 to 86400; the agent's own where it is left out.
    #[serde(default)]
    pub lease_seconds: Option<u64>,
    /// The `seq` that you were answered last: what the owner said after it comes back as `messages`.
    #[serde(default)]
    pub after_seq: Option<u64>,
}

/// Say how it goes, or give a piece of the result. The lease begins anew.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkProgress)]
pub struct Progress {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    pub lease_token: String,
    /// What the owner reads as the status.
    #[serde(default)]
    pub message: Option<String>,
    /// A piece of an artifact, as A2A parts such as {"text": "…"}.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    pub parts: Option<Vec<Part>>,
    /// The artifact that the parts belong to; `result` where it is left out.
    #[serde(default)]
    pub artifact_id: Option<String>,
    /// The artifact's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The parts come behind those that the artifact has; otherwise they replace them.
    #[serde(default)]
    pub append: bool,
    /// The artifact is complete with them.
    #[serde(default)]
    pub last_chunk: bool,
    /// The `seq` that you were answered last: what the owner said after it comes back as `messages`.
    #[serde(default)]
    pub after_seq: Option<u64>,
}

/// Ask the owner of the task, and keep it: the answer comes with a later heartbeat.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkAsk)]
pub struct Ask {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    pub lease_token: String,
    pub question: String,
    /// `input` (the default), or `auth` where the owner has to authorize something.
    #[serde(default)]
    pub kind: Option<Kind>,
    #[serde(default)]
    pub after_seq: Option<u64>,
}

/// What the owner is asked for.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = WorkAskKind)]
pub enum Kind {
    #[default]
    Input,
    Auth,
}

/// The task is done.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkComplete)]
pub struct Complete {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    pub lease_token: String,
    /// The result as text; becomes an artifact.
    #[serde(default)]
    pub result: Option<String>,
    /// The result as A2A parts such as {"text": "…"} or {"data": {…}}, in place of `result`; becomes an artifact.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    pub parts: Option<Vec<Part>>,
    /// The artifact's id; `result` where it is left out.
    #[serde(default)]
    pub artifact_id: Option<String>,
    /// The artifact's name.
    #[serde(default)]
    pub name: Option<String>,
    /// A last word beside the result.
    #[serde(default)]
    pub message: Option<String>,
}

/// The task could not be done.
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkFail)]
pub struct Fail {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    pub lease_token: String,
    /// Why; the owner reads it, and so does whoever tries next.
    #[serde(default)]
    pub reason: Option<String>,
    /// Another try may go well: the task waits and is handed out again, until its attempts are used up.
    #[serde(default)]
    pub retryable: bool,
}

/// Give the task back: unharmed for another worker (`release`), or for good (`reject`).
#[derive(Clone, Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkGive)]
pub struct Give {
    #[serde(default)]
    pub agent: Option<String>,
    pub task_id: String,
    pub lease_token: String,
    /// Why; whoever claims the task next is told, and of a rejected one its owner.
    #[serde(default)]
    pub reason: Option<String>,
}
