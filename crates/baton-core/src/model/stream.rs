//! One item of a stream or one webhook body (§3.2.3).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ArtifactUpdate, Message, StatusUpdate, TaskObject};

/// Exactly one of the four things that a stream carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamResponse {
    Task(TaskObject),
    Message(Arc<Message>),
    #[serde(alias = "status_update")]
    StatusUpdate(StatusUpdate),
    #[serde(alias = "artifact_update")]
    ArtifactUpdate(ArtifactUpdate),
}
