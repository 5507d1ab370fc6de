//! Requests of 0.3. A task is named `tasks/{id}`, a configuration `tasks/{id}/pushNotificationConfigs/{id}`.

use baton_core::model::{Base64, Content, Message, Part, TaskPushNotificationConfig, Violation};
use bytes::Bytes;
use prost_types::Struct;

use super::super::frame::decode;
use super::super::value::{to_json, to_object};
use super::super::{Within, nonempty, role};
use super::pb;
use crate::fault::Fault;
use crate::operation::Operation;
use crate::request::{
    Call, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
use crate::v03::read::{DEFAULT_ID, read_authentication};
use crate::v03::unpack;

/// Reads the request of an operation.
pub fn read(operation: Operation, message: Bytes) -> Result<Call, Fault> {
    let call = match operation {
        Operation::SendMessage => Call::SendMessage(Box::new(send(decode(message)?)?)),
        Operation::SendStreamingMessage => Call::SendStreamingMessage(Box::new(send(decode(message)?)?)),
        Operation::GetTask => {
            let pb::GetTaskRequest { name, history_length } = decode(message)?;
            let history_length = Some(history_length).filter(|length| *length != 0);
            Call::GetTask(GetTaskRequest { tenant: None, id: task(&name)?, history_length })
        }
        Operation::ListTasks => Call::ListTasks(ListTasksRequest::default()),
        Operation::CancelTask => {
            let pb::CancelTaskRequest { name } = decode(message)?;
            Call::CancelTask(CancelTaskRequest { id: task(&name)?, ..CancelTaskRequest::default() })
        }
        Operation::SubscribeToTask => {
            let pb::TaskSubscriptionRequest { name } = decode(message)?;
            Call::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: task(&name)? })
        }
        Operation::CreateTaskPushNotificationConfig => {
            Call::CreateTaskPushNotificationConfig(create(decode(message)?)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            let pb::GetTaskPushNotificationConfigRequest { name } = decode(message)?;
            let (task_id, id) = config_of(&name)?;
            Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                tenant: None,
                task_id,
                id,
            })
        }
        Operation::ListTaskPushNotificationConfigs => {
            let pb::ListTaskPushNotificationConfigRequest { parent, page_size, page_token } =
                decode(message)?;
            Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: parent_task(&parent)?,
                page_size: Some(page_size).filter(|size| *size != 0),
                page_token: nonempty(page_token),
            })
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let pb::DeleteTaskPushNotificationConfigRequest { name } = decode(message)?;
            let (task_id, id) = config_of(&name)?;
            let tenant = None;
            Call::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                tenant,
                task_id,
                id,
            })
        }
        Operation::GetExtendedAgentCard => {
            let pb::GetAgentCardRequest {} = decode(message)?;
            Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
    };
    call.check()?;
    Ok(call)
}

/// `tasks/{id}`.
fn task(name: &str) -> Result<String, Violation> {
    named_task(name).ok_or_else(|| Violation::new("name", "is 'tasks/' and the id of a task"))
}

fn parent_task(parent: &str) -> Result<String, Violation> {
    named_task(parent).ok_or_else(|| Violation::new("parent", "is 'tasks/' and the id of a task"))
}

fn named_task(name: &str) -> Option<String> {
    let id = name.strip_prefix("tasks/")?;
    (!id.is_empty() && !id.contains('/')).then(|| id.to_owned())
}

/// `tasks/{id}/pushNotificationConfigs/{id}`. A client that knows no id leaves the last one empty, or writes `None`.
fn config_of(name: &str) -> Result<(String, String), Violation> {
    let wrong = || Violation::new("name", "is 'tasks/{id}/pushNotificationConfigs/{id}'");
    let (task, id) = name.split_once("/pushNotificationConfigs").ok_or_else(wrong)?;
    let task = named_task(task).ok_or_else(wrong)?;
    match id.strip_prefix('/') {
        Some(id) if id.contains('/') => Err(wrong()),
        Some("" | "None") => Ok((task, DEFAULT_ID.to_owned())),
        Some(id) => Ok((task, id.to_owned())),
        None if id.is_empty() => Ok((task, DEFAULT_ID.to_owned())),
        None => Err(wrong()),
    }
}

fn send(request: pb::SendMessageRequest) -> Result<SendMessageRequest, Violation> {
    let pb::SendMessageRequest { request: said, configuration, metadata } = request;
    Ok(SendMessageRequest {
        tenant: None,
        message: said.map(message).transpose().within("message")?.unwrap_or_default(),
        configuration: configured(configuration.unwrap_or_default()).within("configuration")?,
        metadata: to_object(metadata.as_ref()).within("metadata")?,
    })
}

/// What is not set is false: only a client that asks for it is kept waiting.
fn configured(configuration: pb::SendMessageConfiguration) -> Result<SendMessageConfiguration, Violation> {
    let push = configuration.push_notification.map(|inner| config(inner, None)).transpose();
    Ok(SendMessageConfiguration {
        accepted_output_modes: configuration.accepted_output_modes,
        task_push_notification_config: push.within("pushNotification")?,
        history_length: Some(configuration.history_length).filter(|length| *length != 0),
        return_immediately: !configuration.blocking,
    })
}

fn message(message: pb::Message) -> Result<Message, Violation> {
    let parts = message.content.into_iter().enumerate();
    let parts = parts.map(|(at, content)| part(content).within(&format!("parts[{at}]")));
    Ok(Message {
        message_id: message.message_id,
        context_id: nonempty(message.context_id),
        task_id: nonempty(message.task_id),
        role: role(message.role).within("role")?,
        parts: parts.collect::<Result<_, _>>()?,
        metadata: to_object(message.metadata.as_ref()).within("metadata")?,
        extensions: message.extensions,
        reference_task_ids: Vec::new(),
    })
}

/// The bytes of a file are handed on as they come: the Python library puts base64 text into them, the JavaScript
/// library the bytes themselves, and each reads back what it wrote.
fn part(part: pb::Part) -> Result<Part, Violation> {
    use pb::file_part::File;
    use pb::part::Part as Sent;
    let metadata = to_object(part.metadata.as_ref()).within("metadata")?;
    let (content, media_type, filename) = match part.part {
        Some(Sent::Text(text)) => (Content::Text(text), None, None),
        Some(Sent::File(pb::FilePart { file, mime_type, name })) => {
            let content = match file {
                Some(File::FileWithUri(uri)) => Content::Url(uri),
                Some(File::FileWithBytes(bytes)) => Content::Raw(Base64::encode(&bytes)),
                None => Content::Missing,
            };
            (content, nonempty(mime_type), nonempty(name))
        }
        Some(Sent::Data(pb::DataPart { data })) => {
            let kind = prost_types::value::Kind::StructValue(data.unwrap_or_else(Struct::default));
            let value = prost_types::Value { kind: Some(kind) };
            let (data, metadata) = unpack(to_json(&value).within("data")?, metadata);
            return Ok(Part { metadata, ..Part::data(data) });
        }
        None => (Content::Missing, None, None),
    };
    Ok(Part { content, metadata, filename, media_type })
}

fn create(
    request: pb::CreateTaskPushNotificationConfigRequest,
) -> Result<TaskPushNotificationConfig, Violation> {
    let pb::CreateTaskPushNotificationConfigRequest { parent, config_id, config: wrapped } = request;
    let task_id = parent_task(&parent)?;
    let inner = wrapped.and_then(|wrapped| wrapped.push_notification_config);
    let inner = inner.ok_or_else(|| {
        Violation::new("config.pushNotificationConfig", "is required: where notifications go")
    })?;
    let made = config(inner, nonempty(config_id)).within("config.pushNotificationConfig")?;
    Ok(TaskPushNotificationConfig { task_id: Some(task_id), ..made })
}

/// A configuration, under the id that the request gives it beside, if it has none itself.
fn config(
    config: pb::PushNotificationConfig,
    id: Option<String>,
) -> Result<TaskPushNotificationConfig, Violation> {
    let authentication = config.authentication.unwrap_or_default();
    let authentication = read_authentication(authentication.schemes, nonempty(authentication.credentials))?;
    let read = TaskPushNotificationConfig {
        tenant: None,
        id: nonempty(config.id).or(id).or_else(|| Some(DEFAULT_ID.to_owned())),
        task_id: None,
        url: nonempty(config.url),
        token: nonempty(config.token),
        authentication,
    };
    read.check()?;
    Ok(read)
}
