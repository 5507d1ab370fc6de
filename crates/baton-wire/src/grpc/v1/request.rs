//! Requests: messages of the definition into the one model, with the violations of the JSON reader.

use baton_core::model::{
    AuthenticationInfo, Base64, Content, Message, Part, TaskPushNotificationConfig, TaskState, Violation,
};
use bytes::Bytes;

use super::super::frame::decode;
use super::super::value::{to_json, to_object};
use super::super::{Within, nonempty, role, state, to_timestamp};
use super::pb;
use crate::fault::Fault;
use crate::operation::Operation;
use crate::request::{
    Call, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};

/// Reads the request of an operation.
pub fn read(operation: Operation, message: Bytes) -> Result<Call, Fault> {
    let call = match operation {
        Operation::SendMessage => Call::SendMessage(Box::new(send(decode(message)?)?)),
        Operation::SendStreamingMessage => Call::SendStreamingMessage(Box::new(send(decode(message)?)?)),
        Operation::GetTask => Call::GetTask(get(decode(message)?)),
        Operation::ListTasks => Call::ListTasks(list(decode(message)?)?),
        Operation::CancelTask => Call::CancelTask(cancel(decode(message)?)?),
        Operation::SubscribeToTask => Call::SubscribeToTask(subscribe(decode(message)?)),
        Operation::CreateTaskPushNotificationConfig => {
            Call::CreateTaskPushNotificationConfig(config(decode(message)?))
        }
        Operation::GetTaskPushNotificationConfig => {
            Call::GetTaskPushNotificationConfig(get_config(decode(message)?))
        }
        Operation::ListTaskPushNotificationConfigs => {
            Call::ListTaskPushNotificationConfigs(list_configs(decode(message)?))
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Call::DeleteTaskPushNotificationConfig(delete_config(decode(message)?))
        }
        Operation::GetExtendedAgentCard => {
            let pb::GetExtendedAgentCardRequest { tenant } = decode(message)?;
            Call::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant: nonempty(tenant) })
        }
    };
    call.check()?;
    Ok(call)
}

fn send(request: pb::SendMessageRequest) -> Result<SendMessageRequest, Violation> {
    let pb::SendMessageRequest { tenant, message: said, configuration, metadata } = request;
    Ok(SendMessageRequest {
        tenant: nonempty(tenant),
        message: said.map(message).transpose().within("message")?.unwrap_or_default(),
        configuration: configuration.map(configured).unwrap_or_default(),
        metadata: to_object(metadata.as_ref()).within("metadata")?,
    })
}

fn configured(configuration: pb::SendMessageConfiguration) -> SendMessageConfiguration {
    SendMessageConfiguration {
        accepted_output_modes: configuration.accepted_output_modes,
        task_push_notification_config: configuration.task_push_notification_config.map(config),
        history_length: configuration.history_length,
        return_immediately: configuration.return_immediately,
    }
}

fn message(message: pb::Message) -> Result<Message, Violation> {
    let parts = message.parts.into_iter().enumerate();
    let parts = parts.map(|(at, content)| part(content).within(&format!("parts[{at}]")));
    Ok(Message {
        message_id: message.message_id,
        context_id: nonempty(message.context_id),
        task_id: nonempty(message.task_id),
        role: role(message.role).within("role")?,
        parts: parts.collect::<Result<_, _>>()?,
        metadata: to_object(message.metadata.as_ref()).within("metadata")?,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    })
}

fn part(part: pb::Part) -> Result<Part, Violation> {
    use pb::part::Content as Sent;
    Ok(Part {
        content: match part.content {
            Some(Sent::Text(text)) => Content::Text(text),
            Some(Sent::Raw(bytes)) => Content::Raw(Base64::encode(&bytes)),
            Some(Sent::Url(url)) => Content::Url(url),
            Some(Sent::Data(value)) => Content::Data(to_json(&value).within("data")?),
            None => Content::Missing,
        },
        metadata: to_object(part.metadata.as_ref()).within("metadata")?,
        filename: nonempty(part.filename),
        media_type: nonempty(part.media_type),
    })
}

fn get(request: pb::GetTaskRequest) -> GetTaskRequest {
    let pb::GetTaskRequest { tenant, id, history_length } = request;
    GetTaskRequest { tenant: nonempty(tenant), id, history_length }
}

fn list(request: pb::ListTasksRequest) -> Result<ListTasksRequest, Violation> {
    let since = request.status_timestamp_after.map(to_timestamp).transpose();
    let status = state(request.status).within("status")?;
    Ok(ListTasksRequest {
        tenant: nonempty(request.tenant),
        context_id: nonempty(request.context_id),
        status: Some(status).filter(|status| *status != TaskState::Unspecified),
        page_size: request.page_size,
        page_token: nonempty(request.page_token),
        history_length: request.history_length,
        status_timestamp_after: since.within("statusTimestampAfter")?,
        include_artifacts: request.include_artifacts.unwrap_or_default(),
    })
}

fn cancel(request: pb::CancelTaskRequest) -> Result<CancelTaskRequest, Violation> {
    let metadata = to_object(request.metadata.as_ref()).within("metadata")?;
    Ok(CancelTaskRequest { tenant: nonempty(request.tenant), id: request.id, metadata })
}

fn subscribe(request: pb::SubscribeToTaskRequest) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { tenant: nonempty(request.tenant), id: request.id }
}

fn config(config: pb::TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: nonempty(config.tenant),
        id: nonempty(config.id),
        task_id: nonempty(config.task_id),
        url: nonempty(config.url),
        token: nonempty(config.token),
        authentication: config.authentication.map(|pb::AuthenticationInfo { scheme, credentials }| {
            AuthenticationInfo { scheme, credentials: nonempty(credentials) }
        }),
    }
}

fn get_config(request: pb::GetTaskPushNotificationConfigRequest) -> GetTaskPushNotificationConfigRequest {
    let pb::GetTaskPushNotificationConfigRequest { tenant, task_id, id } = request;
    GetTaskPushNotificationConfigRequest { tenant: nonempty(tenant), task_id, id }
}

fn list_configs(
    request: pb::ListTaskPushNotificationConfigsRequest,
) -> ListTaskPushNotificationConfigsRequest {
    ListTaskPushNotificationConfigsRequest {
        tenant: nonempty(request.tenant),
        task_id: request.task_id,
        page_size: Some(request.page_size).filter(|size| *size != 0),
        page_token: nonempty(request.page_token),
    }
}

fn delete_config(
    request: pb::DeleteTaskPushNotificationConfigRequest,
) -> DeleteTaskPushNotificationConfigRequest {
    let pb::DeleteTaskPushNotificationConfigRequest { tenant, task_id, id } = request;
    DeleteTaskPushNotificationConfigRequest { tenant: nonempty(tenant), task_id, id }
}
