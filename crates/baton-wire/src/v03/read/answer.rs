//! Answers and events, for a reader who is the client.

use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::{
    ArtifactUpdate, StatusUpdate, StreamResponse, TaskObject, TaskPushNotificationConfig, TaskState,
    TaskStatus, Violation, boolean, default_on_null, nonempty, object,
};
use baton_core::time::Timestamp;
use serde::Deserialize;

use super::super::{Spelling, names};
use super::each;
use super::message::{LooseArtifact, LooseMessage, check_kind};
use super::push::LooseCreate;
use crate::fault::Fault;
use crate::read;
use crate::response::SendMessageResponse;

/// Reads a task of either spelling.
pub fn read_task(spelling: Spelling, json: &str) -> Result<TaskObject, Fault> {
    Ok(read::object::<LooseTask>(json)?.read(spelling)?)
}

/// Reads what SendMessage answers.
pub fn read_answer(spelling: Spelling, json: &str) -> Result<SendMessageResponse, Fault> {
    match read_event(spelling, json)? {
        StreamResponse::Task(task) => Ok(SendMessageResponse::Task(task)),
        StreamResponse::Message(message) => Ok(SendMessageResponse::Message(message)),
        StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
            Err(Violation::new("", "expected a task or a message").into())
        }
    }
}

/// Reads one item of a stream.
pub fn read_event(spelling: Spelling, json: &str) -> Result<StreamResponse, Fault> {
    match spelling {
        Spelling::JsonRpc => {
            #[derive(Deserialize)]
            struct Kind {
                kind: String,
            }
            let Kind { kind } = read::object(json)?;
            Ok(match kind.as_str() {
                "task" => StreamResponse::Task(read::object::<LooseTask>(json)?.read(spelling)?),
                "message" => {
                    StreamResponse::Message(Arc::new(read::object::<LooseMessage>(json)?.read(spelling)?))
                }
                "status-update" => {
                    StreamResponse::StatusUpdate(read::object::<LooseStatus>(json)?.read(spelling)?)
                }
                "artifact-update" => {
                    StreamResponse::ArtifactUpdate(read::object::<LoosePiece>(json)?.read(spelling)?)
                }
                _ => return Err(Violation::new("kind", "is not of 0.3").into()),
            })
        }
        Spelling::Rest | Spelling::RestSnakeCase => {
            let LooseEvent { task, message, status_update, artifact_update } = read::object(json)?;
            match (task, message, status_update, artifact_update) {
                (Some(task), None, None, None) => Ok(StreamResponse::Task(task.read(spelling)?)),
                (None, Some(message), None, None) => {
                    Ok(StreamResponse::Message(Arc::new(message.read(spelling)?)))
                }
                (None, None, Some(update), None) => Ok(StreamResponse::StatusUpdate(update.read(spelling)?)),
                (None, None, None, Some(update)) => {
                    Ok(StreamResponse::ArtifactUpdate(update.read(spelling)?))
                }
                (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => Err(Violation::new(
                    "",
                    "expected exactly one of 'task', 'message', 'statusUpdate' and 'artifactUpdate'",
                )
                .into()),
            }
        }
    }
}

/// Reads a configuration as it is answered.
pub fn read_push_config(spelling: Spelling, json: &str) -> Result<TaskPushNotificationConfig, Fault> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Named {
        #[serde(deserialize_with = "nonempty")]
        name: Option<String>,
    }
    let config = read::object::<LooseCreate>(json)?.read()?;
    if spelling == Spelling::JsonRpc {
        return Ok(config);
    }
    let Named { name } = read::object(json)?;
    let task = name.as_deref().and_then(|name| name.strip_prefix("tasks/")?.split('/').next());
    let task_id =
        task.ok_or_else(|| Violation::new("name", "must begin with tasks/ and the id of a task"))?;
    Ok(TaskPushNotificationConfig { task_id: Some(task_id.to_owned()), ..config })
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseEvent {
    #[serde(deserialize_with = "object")]
    task: Option<LooseTask>,
    #[serde(alias = "msg", deserialize_with = "object")]
    message: Option<LooseMessage>,
    #[serde(alias = "status_update", deserialize_with = "object")]
    status_update: Option<LooseStatus>,
    #[serde(alias = "artifact_update", deserialize_with = "object")]
    artifact_update: Option<LoosePiece>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseTask {
    #[serde(deserialize_with = "nonempty")]
    kind: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    id: String,
    #[serde(alias = "context_id", deserialize_with = "nonempty")]
    context_id: Option<String>,
    #[serde(deserialize_with = "object")]
    status: Option<LooseTaskStatus>,
    artifacts: Option<Vec<LooseArtifact>>,
    #[serde(deserialize_with = "default_on_null")]
    history: Vec<LooseMessage>,
    metadata: Option<Object>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LooseTaskStatus {
    #[serde(deserialize_with = "names::read_state")]
    state: TaskState,
    #[serde(alias = "update", deserialize_with = "object")]
    message: Option<LooseMessage>,
    timestamp: Option<Timestamp>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseStatus {
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    task_id: String,
    #[serde(alias = "context_id", deserialize_with = "default_on_null")]
    context_id: String,
    #[serde(deserialize_with = "object")]
    status: Option<LooseTaskStatus>,
    metadata: Option<Object>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LoosePiece {
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    task_id: String,
    #[serde(alias = "context_id", deserialize_with = "default_on_null")]
    context_id: String,
    #[serde(deserialize_with = "object")]
    artifact: Option<LooseArtifact>,
    #[serde(deserialize_with = "boolean")]
    append: bool,
    #[serde(alias = "last_chunk", deserialize_with = "boolean")]
    last_chunk: bool,
    metadata: Option<Object>,
}

impl LooseTask {
    fn read(self, spelling: Spelling) -> Result<TaskObject, Violation> {
        check_kind(self.kind.as_deref(), "task")?;
        let artifact = |artifact: LooseArtifact| artifact.read(spelling).map(Arc::new);
        Ok(TaskObject {
            id: self.id,
            context_id: self.context_id,
            status: read_status(self.status, spelling)?,
            artifacts: self.artifacts.map(|artifacts| each("artifacts", artifacts, artifact)).transpose()?,
            history: each("history", self.history, |message| message.read(spelling).map(Arc::new))?,
            metadata: self.metadata,
        })
    }
}

impl LooseStatus {
    fn read(self, spelling: Spelling) -> Result<StatusUpdate, Violation> {
        Ok(StatusUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            status: read_status(self.status, spelling)?,
            metadata: self.metadata,
        })
    }
}

impl LoosePiece {
    fn read(self, spelling: Spelling) -> Result<ArtifactUpdate, Violation> {
        let artifact = self.artifact.unwrap_or_default().read(spelling);
        Ok(ArtifactUpdate {
            task_id: self.task_id,
            context_id: self.context_id,
            artifact: Arc::new(artifact.map_err(|violation| violation.within("artifact"))?),
            append: self.append,
            last_chunk: self.last_chunk,
            metadata: self.metadata,
        })
    }
}

fn read_status(loose: Option<LooseTaskStatus>, spelling: Spelling) -> Result<TaskStatus, Violation> {
    let LooseTaskStatus { state, message, timestamp } = loose.unwrap_or_default();
    // The protocol buffers of one library always have a message; one with nothing in it is none.
    let message = message.filter(|message| !message.is_empty());
    let message = message.map(|message| message.read(spelling).map(Arc::new)).transpose();
    Ok(TaskStatus {
        state,
        message: message.map_err(|violation| violation.within("status.message"))?,
        timestamp,
    })
}
