//! Requests: JSON-RPC's parameters, and REST's path, query and body.

use baton_core::json::Object;
use baton_core::model::{TaskState, Violation, default_on_null, nonempty, object, optional_integer};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::super::{Spelling, names};
use super::message::LooseMessage;
use super::push::{DEFAULT_ID, LooseConfig, LooseCreate};
use super::required;
use crate::fault::Fault;
use crate::operation::{Operation, Route};
use crate::request::{
    self, Call, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
use crate::{query, read};

/// Reads the parameters of a JSON-RPC request; none are the same as `{}`.
pub fn from_params(operation: Operation, params: Option<&RawValue>) -> Result<Call, Fault> {
    let text = params.map_or("{}", RawValue::get);
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => send(operation, Spelling::JsonRpc, text),
        Operation::CreateTaskPushNotificationConfig => {
            let loose: LooseCreate = read::object(text)?;
            required("taskId", loose.task_id.as_deref().unwrap_or_default())?;
            Ok(Call::CreateTaskPushNotificationConfig(loose.read()?))
        }
        Operation::ListTasks => Ok(Call::ListTasks(read::object::<LooseList>(text)?.read()?)),
        Operation::GetExtendedAgentCard => {
            Ok(Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()))
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => {
            let loose: LooseId = read::object(text)?;
            required("id", &loose.id)?;
            Ok(about(operation, loose)?)
        }
    }
}

/// Reads a REST request: the path names the task and the configuration, whatever the body says of them.
pub fn from_rest(route: Route, query: &str, body: &[u8]) -> Result<Call, Fault> {
    let Route { operation, task_id, config_id, .. } = route;
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            send(operation, Spelling::Rest, read::text(body)?)
        }
        Operation::CreateTaskPushNotificationConfig => {
            let mut loose: LooseCreate = read::object(read::text(body)?)?;
            loose.task_id = task_id;
            Ok(Call::CreateTaskPushNotificationConfig(loose.read()?))
        }
        Operation::ListTasks => Ok(Call::ListTasks(query::object::<LooseList>(query)?.read()?)),
        Operation::GetExtendedAgentCard => {
            Ok(Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()))
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => {
            // What these two take in a body is what the path says; there may be none at all.
            let posted = matches!(operation, Operation::CancelTask | Operation::SubscribeToTask);
            let loose: LooseId = if posted && !body.trim_ascii().is_empty() {
                read::object(read::text(body)?)?
            } else {
                query::object(query)?
            };
            let id = task_id.unwrap_or_default();
            Ok(about(operation, LooseId { id, push_notification_config_id: config_id, ..loose })?)
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LooseSend {
    /// The protocol buffers call it `request` and spell it `message`.
    #[serde(alias = "request", deserialize_with = "object")]
    message: Option<LooseMessage>,
    #[serde(deserialize_with = "object")]
    configuration: Option<LooseConfiguration>,
    metadata: Option<Object>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseConfiguration {
    #[serde(alias = "accepted_output_modes", deserialize_with = "default_on_null")]
    accepted_output_modes: Vec<String>,
    /// The first name is JSON-RPC's, the others are REST's.
    #[serde(
        alias = "push_notification_config",
        alias = "pushNotification",
        alias = "push_notification",
        deserialize_with = "object"
    )]
    push_notification_config: Option<LooseConfig>,
    #[serde(alias = "history_length", deserialize_with = "optional_integer")]
    history_length: Option<i32>,
    blocking: Option<bool>,
}

fn send(operation: Operation, spelling: Spelling, text: &str) -> Result<Call, Fault> {
    let loose: LooseSend = read::object(text)?;
    let message = loose.message.filter(|message| !message.is_empty());
    let message = message
        .ok_or_else(|| Violation::new("message", "is required: messageId, role and parts"))?
        .read(spelling)
        .and_then(|message| match message.check() {
            Ok(()) => Ok(message),
            Err(violation) => Err(as_spelled(violation, spelling)),
        })
        .map_err(|violation| violation.within("message"))?;
    let configuration = loose.configuration.unwrap_or_default();
    let configuration =
        configuration.read(spelling).map_err(|violation| violation.within("configuration"))?;
    let request =
        Box::new(SendMessageRequest { tenant: None, message, configuration, metadata: loose.metadata });
    Ok(if operation.is_streaming() {
        Call::SendStreamingMessage(request)
    } else {
        Call::SendMessage(request)
    })
}

/// What is wrong with a message, in the names of the request.
fn as_spelled(violation: Violation, spelling: Spelling) -> Violation {
    match (spelling, violation.field.as_str()) {
        (Spelling::JsonRpc, "role") => Violation::new("role", "is required: 'user' or 'agent'"),
        (Spelling::Rest | Spelling::RestSnakeCase, field) if field.starts_with("parts") => {
            Violation { field: field.replacen("parts", "content", 1), ..violation }
        }
        (Spelling::JsonRpc | Spelling::Rest | Spelling::RestSnakeCase, _) => violation,
    }
}

impl LooseConfiguration {
    fn read(self, spelling: Spelling) -> Result<SendMessageConfiguration, Violation> {
        request::history_length(self.history_length)?;
        let push = match self.push_notification_config {
            Some(config) => {
                let named = |violation: Violation| violation.within("pushNotificationConfig");
                Some(config.read_inline().map_err(named)?)
            }
            None => None,
        };
        // JSON-RPC waits unless it is told not to. REST is proto3, where no answer is the answer no, and where a history
        // of zero messages is the unlimited one.
        let (blocking, history_length) = match spelling {
            Spelling::JsonRpc => (self.blocking.unwrap_or(true), self.history_length),
            Spelling::Rest | Spelling::RestSnakeCase => {
                (self.blocking.unwrap_or(false), self.history_length.filter(|length| *length != 0))
            }
        };
        Ok(SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            task_push_notification_config: push,
            history_length,
            return_immediately: !blocking,
        })
    }
}

/// What names a task, or a configuration of one.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseId {
    #[serde(deserialize_with = "default_on_null")]
    id: String,
    #[serde(alias = "push_notification_config_id", deserialize_with = "nonempty")]
    push_notification_config_id: Option<String>,
    #[serde(alias = "history_length", deserialize_with = "optional_integer")]
    history_length: Option<i32>,
    metadata: Option<Object>,
    #[serde(alias = "page_size", deserialize_with = "optional_integer")]
    page_size: Option<i32>,
    #[serde(alias = "page_token", deserialize_with = "nonempty")]
    page_token: Option<String>,
}

/// The operations that are about one task.
fn about(operation: Operation, loose: LooseId) -> Result<Call, Violation> {
    let LooseId { id, push_notification_config_id: config, history_length, metadata, page_size, page_token } =
        loose;
    Ok(match operation {
        Operation::CancelTask => Call::CancelTask(CancelTaskRequest { tenant: None, id, metadata }),
        Operation::SubscribeToTask => Call::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id }),
        Operation::GetTaskPushNotificationConfig => {
            let config = config.unwrap_or_else(|| DEFAULT_ID.to_owned());
            let request = GetTaskPushNotificationConfigRequest { tenant: None, task_id: id, id: config };
            Call::GetTaskPushNotificationConfig(request)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let config = config.unwrap_or_default();
            required("pushNotificationConfigId", &config)?;
            let request = DeleteTaskPushNotificationConfigRequest { tenant: None, task_id: id, id: config };
            Call::DeleteTaskPushNotificationConfig(request)
        }
        Operation::ListTaskPushNotificationConfigs => {
            request::page_size(page_size.filter(|size| *size != 0))?;
            Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: id,
                page_size,
                page_token,
            })
        }
        Operation::GetTask
        | Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::ListTasks
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => {
            request::history_length(history_length)?;
            Call::GetTask(GetTaskRequest { tenant: None, id, history_length })
        }
    })
}

/// 0.3 has the operation without its parameters: these are those of 1.0.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseList {
    #[serde(alias = "context_id", deserialize_with = "nonempty")]
    context_id: Option<String>,
    #[serde(deserialize_with = "specified")]
    status: Option<TaskState>,
    #[serde(alias = "page_size", deserialize_with = "optional_integer")]
    page_size: Option<i32>,
    #[serde(alias = "page_token", deserialize_with = "nonempty")]
    page_token: Option<String>,
    #[serde(alias = "history_length", deserialize_with = "optional_integer")]
    history_length: Option<i32>,
    #[serde(alias = "include_artifacts", deserialize_with = "baton_core::model::boolean")]
    include_artifacts: bool,
}

impl LooseList {
    fn read(self) -> Result<ListTasksRequest, Violation> {
        request::page_size(self.page_size)?;
        request::history_length(self.history_length)?;
        Ok(ListTasksRequest {
            tenant: None,
            context_id: self.context_id,
            status: self.status,
            page_size: self.page_size,
            page_token: self.page_token,
            history_length: self.history_length,
            status_timestamp_after: None,
            include_artifacts: self.include_artifacts,
        })
    }
}

fn specified<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskState>, D::Error> {
    names::read_state(deserializer).map(|state| Some(state).filter(|state| *state != TaskState::Unspecified))
}
