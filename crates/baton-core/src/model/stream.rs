//! One item of a stream or one webhook body (§3.2.3).

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::lenient::object;
use super::{ArtifactUpdate, Message, StatusUpdate, TaskObject};

/// Exactly one of the four things that a stream carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamResponse {
    Task(TaskObject),
    Message(Arc<Message>),
    StatusUpdate(StatusUpdate),
    ArtifactUpdate(ArtifactUpdate),
}

/// What may be written, before the `oneof` is checked: members unknown to this version are ignored.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Loose {
    #[serde(deserialize_with = "object")]
    task: Option<TaskObject>,
    #[serde(deserialize_with = "object")]
    message: Option<Message>,
    #[serde(alias = "status_update", deserialize_with = "object")]
    status_update: Option<StatusUpdate>,
    #[serde(alias = "artifact_update", deserialize_with = "object")]
    artifact_update: Option<ArtifactUpdate>,
}

impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let loose = object(deserializer)?.unwrap_or_default();
        match loose {
            Loose { task: Some(task), message: None, status_update: None, artifact_update: None } => {
                Ok(Self::Task(task))
            }
            Loose { task: None, message: Some(message), status_update: None, artifact_update: None } => {
                Ok(Self::Message(Arc::new(message)))
            }
            Loose { task: None, message: None, status_update: Some(update), artifact_update: None } => {
                Ok(Self::StatusUpdate(update))
            }
            Loose { task: None, message: None, status_update: None, artifact_update: Some(update) } => {
                Ok(Self::ArtifactUpdate(update))
            }
            Loose { .. } => Err(de::Error::custom(
                "expected exactly one of 'task', 'message', 'statusUpdate' and 'artifactUpdate'",
            )),
        }
    }
}
