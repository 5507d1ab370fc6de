//! Answers: the one model as messages of the definition.

use baton_core::model::{
    Artifact, ArtifactUpdate, Content, Message, Part, StatusUpdate, StreamResponse, TaskObject,
    TaskPushNotificationConfig, TaskStatus,
};

use super::super::value::{from_json, from_object};
use super::super::{from_timestamp, numbered};
use super::pb;
use crate::response::{ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse};

/// One item of a stream, with the number of its event.
pub fn stream_item(event: u64, item: &StreamResponse) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let mut payload = match item {
        StreamResponse::Task(task) => Payload::Task(task.into()),
        StreamResponse::Message(message) => Payload::Message((&**message).into()),
        StreamResponse::StatusUpdate(update) => Payload::StatusUpdate(update.into()),
        StreamResponse::ArtifactUpdate(update) => Payload::ArtifactUpdate(update.into()),
    };
    numbered(
        event,
        match &mut payload {
            Payload::Task(task) => &mut task.metadata,
            Payload::Message(message) => &mut message.metadata,
            Payload::StatusUpdate(update) => &mut update.metadata,
            Payload::ArtifactUpdate(update) => &mut update.metadata,
        },
    );
    pb::StreamResponse { payload: Some(payload) }
}

impl From<&SendMessageResponse> for pb::SendMessageResponse {
    fn from(sent: &SendMessageResponse) -> Self {
        use pb::send_message_response::Payload;
        let payload = match sent {
            SendMessageResponse::Task(task) => Payload::Task(task.into()),
            SendMessageResponse::Message(message) => Payload::Message((&**message).into()),
        };
        Self { payload: Some(payload) }
    }
}

impl From<&TaskObject> for pb::Task {
    fn from(task: &TaskObject) -> Self {
        Self {
            id: task.id.clone(),
            context_id: task.context_id.clone().unwrap_or_default(),
            status: Some((&task.status).into()),
            artifacts: task.artifacts.iter().flatten().map(|artifact| (&**artifact).into()).collect(),
            history: task.history.iter().map(|message| (&**message).into()).collect(),
            metadata: task.metadata.as_ref().map(from_object),
        }
    }
}

impl From<&TaskStatus> for pb::TaskStatus {
    fn from(status: &TaskStatus) -> Self {
        Self {
            state: status.state.number(),
            message: status.message.as_deref().map(Into::into),
            timestamp: status.timestamp.map(from_timestamp),
        }
    }
}

impl From<&Message> for pb::Message {
    fn from(message: &Message) -> Self {
        Self {
            message_id: message.message_id.clone(),
            context_id: message.context_id.clone().unwrap_or_default(),
            task_id: message.task_id.clone().unwrap_or_default(),
            role: message.role.number(),
            parts: message.parts.iter().map(Into::into).collect(),
            metadata: message.metadata.as_ref().map(from_object),
            extensions: message.extensions.clone(),
            reference_task_ids: message.reference_task_ids.clone(),
        }
    }
}

impl From<&Part> for pb::Part {
    fn from(part: &Part) -> Self {
        use pb::part::Content as Sent;
        Self {
            content: match &part.content {
                Content::Text(text) => Some(Sent::Text(text.clone())),
                Content::Raw(base64) => Some(Sent::Raw(base64.decode().into())),
                Content::Url(url) => Some(Sent::Url(url.clone())),
                Content::Data(json) => Some(Sent::Data(from_json(json))),
                Content::Missing => None,
            },
            metadata: part.metadata.as_ref().map(from_object),
            filename: part.filename.clone().unwrap_or_default(),
            media_type: part.media_type.clone().unwrap_or_default(),
        }
    }
}

impl From<&Artifact> for pb::Artifact {
    fn from(artifact: &Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id.clone(),
            name: artifact.name.clone().unwrap_or_default(),
            description: artifact.description.clone().unwrap_or_default(),
            parts: artifact.parts.iter().map(Into::into).collect(),
            metadata: artifact.metadata.as_ref().map(from_object),
            extensions: artifact.extensions.clone(),
        }
    }
}

impl From<&StatusUpdate> for pb::TaskStatusUpdateEvent {
    fn from(update: &StatusUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            status: Some((&update.status).into()),
            metadata: update.metadata.as_ref().map(from_object),
        }
    }
}

impl From<&ArtifactUpdate> for pb::TaskArtifactUpdateEvent {
    fn from(update: &ArtifactUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            artifact: Some((&*update.artifact).into()),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_ref().map(from_object),
        }
    }
}

impl From<&ListTasksResponse> for pb::ListTasksResponse {
    fn from(page: &ListTasksResponse) -> Self {
        Self {
            tasks: page.tasks.iter().map(Into::into).collect(),
            next_page_token: page.next_page_token.clone(),
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}

impl From<&TaskPushNotificationConfig> for pb::TaskPushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            tenant: text(&config.tenant),
            id: text(&config.id),
            task_id: text(&config.task_id),
            url: text(&config.url),
            token: text(&config.token),
            authentication: config.authentication.as_ref().map(|authentication| pb::AuthenticationInfo {
                scheme: authentication.scheme.clone(),
                credentials: text(&authentication.credentials),
            }),
        }
    }
}

impl From<&ListTaskPushNotificationConfigsResponse> for pb::ListTaskPushNotificationConfigsResponse {
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(Into::into).collect(),
            next_page_token: page.next_page_token.clone(),
        }
    }
}
