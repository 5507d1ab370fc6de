//! Answers in 0.3.

use baton_core::model::{
    Artifact, Content, Message, Part, StreamResponse, TaskObject, TaskPushNotificationConfig, TaskState,
    TaskStatus,
};
use prost_types::value::Kind;
use prost_types::{Struct, Value};

use super::super::value::{from_json, from_object};
use super::super::{from_timestamp, numbered};
use super::pb;
use crate::response::{ListTaskPushNotificationConfigsResponse, SendMessageResponse};
use crate::v03::pack;

/// One item of a stream, with the number of its event. It is the final one where the stream ends with it: at the task's
/// end, or at a question where `until_input` says that the stream stops there.
pub fn stream_item(event: u64, item: &StreamResponse, until_input: bool) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let mut payload = match item {
        StreamResponse::Task(shown) => Payload::Task(task(shown)),
        StreamResponse::Message(said) => Payload::Msg(message(said)),
        StreamResponse::StatusUpdate(update) => {
            let state = update.status.state;
            Payload::StatusUpdate(pb::TaskStatusUpdateEvent {
                task_id: update.task_id.clone(),
                context_id: update.context_id.clone(),
                status: Some(status(&update.status)),
                r#final: state.is_terminal() || (until_input && state == TaskState::InputRequired),
                metadata: update.metadata.as_ref().map(from_object),
            })
        }
        StreamResponse::ArtifactUpdate(update) => Payload::ArtifactUpdate(pb::TaskArtifactUpdateEvent {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            artifact: Some(artifact(&update.artifact)),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_ref().map(from_object),
        }),
    };
    numbered(
        event,
        match &mut payload {
            Payload::Task(task) => &mut task.metadata,
            Payload::Msg(message) => &mut message.metadata,
            Payload::StatusUpdate(update) => &mut update.metadata,
            Payload::ArtifactUpdate(update) => &mut update.metadata,
        },
    );
    pb::StreamResponse { payload: Some(payload) }
}

/// What SendMessage answers.
pub fn sent(sent: &SendMessageResponse) -> pb::SendMessageResponse {
    use pb::send_message_response::Payload;
    let payload = match sent {
        SendMessageResponse::Task(shown) => Payload::Task(task(shown)),
        SendMessageResponse::Message(said) => Payload::Msg(message(said)),
    };
    pb::SendMessageResponse { payload: Some(payload) }
}

pub fn task(task: &TaskObject) -> pb::Task {
    pb::Task {
        id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        status: Some(status(&task.status)),
        artifacts: task.artifacts.iter().flatten().map(|of| artifact(of)).collect(),
        history: task.history.iter().map(|said| message(said)).collect(),
        metadata: task.metadata.as_ref().map(from_object),
    }
}

/// States have the same numbers in both versions.
fn status(status: &TaskStatus) -> pb::TaskStatus {
    pb::TaskStatus {
        state: status.state.number(),
        update: status.message.as_deref().map(message),
        timestamp: status.timestamp.map(from_timestamp),
    }
}

fn message(message: &Message) -> pb::Message {
    pb::Message {
        message_id: message.message_id.clone(),
        context_id: message.context_id.clone().unwrap_or_default(),
        task_id: message.task_id.clone().unwrap_or_default(),
        role: message.role.number(),
        content: message.parts.iter().map(part).collect(),
        metadata: message.metadata.as_ref().map(from_object),
        extensions: message.extensions.clone(),
    }
}

fn artifact(artifact: &Artifact) -> pb::Artifact {
    pb::Artifact {
        artifact_id: artifact.artifact_id.clone(),
        name: artifact.name.clone().unwrap_or_default(),
        description: artifact.description.clone().unwrap_or_default(),
        parts: artifact.parts.iter().map(part).collect(),
        metadata: artifact.metadata.as_ref().map(from_object),
        extensions: artifact.extensions.clone(),
    }
}

fn part(part: &Part) -> pb::Part {
    use pb::file_part::File;
    use pb::part::Part as Sent;
    let file = |file| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (mime_type, name) = (text(&part.media_type), text(&part.filename));
        Some(Sent::File(pb::FilePart { file: Some(file), mime_type, name }))
    };
    let content = match &part.content {
        Content::Text(text) => Some(Sent::Text(text.clone())),
        Content::Raw(base64) => file(File::FileWithBytes(base64.decode().into())),
        Content::Url(url) => file(File::FileWithUri(url.clone())),
        Content::Data(json) => {
            let (json, metadata) = pack(json, part.metadata.as_ref());
            let data = Some(structure(from_json(&json)));
            let part = Some(Sent::Data(pb::DataPart { data }));
            return pb::Part { part, metadata: metadata.as_deref().map(from_object) };
        }
        Content::Missing => None,
    };
    pb::Part { part: content, metadata: part.metadata.as_ref().map(from_object) }
}

/// The members of a value that is an object, as packed data always is.
fn structure(value: Value) -> Struct {
    match value.kind {
        Some(Kind::StructValue(fields)) => fields,
        _ => Struct::default(),
    }
}

/// One webhook of a task.
pub fn config(config: &TaskPushNotificationConfig) -> pb::TaskPushNotificationConfig {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (task_id, id) = (text(&config.task_id), text(&config.id));
    pb::TaskPushNotificationConfig {
        name: format!("tasks/{task_id}/pushNotificationConfigs/{id}"),
        push_notification_config: Some(pb::PushNotificationConfig {
            id,
            url: text(&config.url),
            token: text(&config.token),
            authentication: config.authentication.as_ref().map(|authentication| pb::AuthenticationInfo {
                schemes: vec![authentication.scheme.clone()],
                credentials: text(&authentication.credentials),
            }),
        }),
    }
}

pub fn configs(page: &ListTaskPushNotificationConfigsResponse) -> pb::ListTaskPushNotificationConfigResponse {
    pb::ListTaskPushNotificationConfigResponse {
        configs: page.configs.iter().map(config).collect(),
        next_page_token: page.next_page_token.clone(),
    }
}
