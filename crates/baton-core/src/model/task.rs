//! A task as A2A shows it (§4.1.1–§4.1.3, §4.2.1). What Baton keeps of a task is [`crate::task::Task`]; this is its
//! projection.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lenient::{default_on_null, nonempty, proto_enum};
use super::{Artifact, Message};
use crate::json::Object;
use crate::time::Timestamp;

/// Where a task stands (§4.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskState {
    #[default]
    Unspecified,
    Submitted,
    Working,
    Completed,
    Failed,
    Canceled,
    InputRequired,
    Rejected,
    AuthRequired,
}

proto_enum!(TaskState, "a TaskState such as TASK_STATE_WORKING", {
    Unspecified = 0 => "TASK_STATE_UNSPECIFIED",
    Submitted = 1 => "TASK_STATE_SUBMITTED",
    Working = 2 => "TASK_STATE_WORKING",
    Completed = 3 => "TASK_STATE_COMPLETED",
    Failed = 4 => "TASK_STATE_FAILED",
    Canceled = 5 => "TASK_STATE_CANCELED",
    InputRequired = 6 => "TASK_STATE_INPUT_REQUIRED",
    Rejected = 7 => "TASK_STATE_REJECTED",
    AuthRequired = 8 => "TASK_STATE_AUTH_REQUIRED",
});

impl TaskState {
    /// Nothing happens to the task any more.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// The task is shown, and not over.
    pub const fn is_open(self) -> bool {
        !self.is_terminal() && !matches!(self, Self::Unspecified)
    }

    /// The task waits for its owner.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// A state, what was said with it, and since when it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatus {
    pub state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// The Task object of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskObject {
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
    #[serde(alias = "context_id", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub status: TaskStatus,
    /// `None` where artifacts were not asked for: the member is left out altogether (§3.1.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// A change of a task's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusUpdate {
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    pub task_id: String,
    #[serde(alias = "context_id", deserialize_with = "default_on_null")]
    pub context_id: String,
    #[serde(deserialize_with = "default_on_null")]
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}
