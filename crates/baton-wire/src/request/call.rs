//! One request of any operation: what every door reads, and what a client writes.

use baton_core::model::{TaskPushNotificationConfig, Violation};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageRequest, SubscribeToTaskRequest, push,
};
use crate::fault::Fault;
use crate::operation::{Operation, Route};
use crate::version::Version;
use crate::{query, read, v03};

/// An operation with its request.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    SendMessage(Box<SendMessageRequest>),
    SendStreamingMessage(Box<SendMessageRequest>),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Call {
    /// Reads the parameters of a JSON-RPC request, whichever its version; none are the same as `{}`.
    pub fn from_params(
        (operation, version): (Operation, Version),
        params: Option<&RawValue>,
    ) -> Result<Self, Fault> {
        if version == Version::V0_3 {
            return v03::read::from_params(operation, params);
        }
        let call = Self::read(operation, Source::Json(params.map_or("{}", RawValue::get)))?;
        call.check()?;
        Ok(call)
    }

    /// Reads a REST request: what the path names wins over the same field in the query or the body.
    ///
    /// GET and DELETE take their fields from the query, POST from the body; cancelling and subscribing need none.
    pub fn from_rest(route: Route, query: &str, body: &[u8]) -> Result<Self, Fault> {
        if route.version == Version::V0_3 {
            return v03::read::from_rest(route, query, body);
        }
        let source = match route.operation {
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::CreateTaskPushNotificationConfig => Source::Json(read::text(body)?),
            Operation::CancelTask | Operation::SubscribeToTask => {
                let blank = body.trim_ascii().is_empty();
                Source::Json(if blank { "{}" } else { read::text(body)? })
            }
            Operation::GetTask
            | Operation::ListTasks
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard => Source::Query(query),
        };
        let mut call = Self::read(route.operation, source)?;
        call.bind(route)?;
        call.check()?;
        Ok(call)
    }

    fn read(operation: Operation, source: Source<'_>) -> Result<Self, Fault> {
        Ok(match operation {
            Operation::SendMessage => Self::SendMessage(source.read()?),
            Operation::SendStreamingMessage => Self::SendStreamingMessage(source.read()?),
            Operation::GetTask => Self::GetTask(source.read()?),
            Operation::ListTasks => Self::ListTasks(source.read()?),
            Operation::CancelTask => Self::CancelTask(source.read()?),
            Operation::SubscribeToTask => Self::SubscribeToTask(source.read()?),
            Operation::CreateTaskPushNotificationConfig => {
                Self::CreateTaskPushNotificationConfig(source.read()?)
            }
            Operation::GetTaskPushNotificationConfig => Self::GetTaskPushNotificationConfig(source.read()?),
            Operation::ListTaskPushNotificationConfigs => {
                Self::ListTaskPushNotificationConfigs(source.read()?)
            }
            Operation::DeleteTaskPushNotificationConfig => {
                Self::DeleteTaskPushNotificationConfig(source.read()?)
            }
            Operation::GetExtendedAgentCard => Self::GetExtendedAgentCard(source.read()?),
        })
    }

    /// Puts in what the path names. Another tenant in the body is a contradiction.
    fn bind(&mut self, route: Route) -> Result<(), Violation> {
        if let Some(tenant) = route.tenant {
            if self.tenant().is_some_and(|inside| inside != tenant) {
                return Err(Violation::new("tenant", "is not the tenant that the path names"));
            }
            *self.tenant_mut() = Some(tenant);
        }
        let (task_id, config_id) = (route.task_id.unwrap_or_default(), route.config_id.unwrap_or_default());
        match self {
            Self::GetTask(request) => request.id = task_id,
            Self::CancelTask(request) => request.id = task_id,
            Self::SubscribeToTask(request) => request.id = task_id,
            Self::CreateTaskPushNotificationConfig(config) => config.task_id = Some(task_id),
            Self::ListTaskPushNotificationConfigs(request) => request.task_id = task_id,
            Self::GetTaskPushNotificationConfig(request) => {
                (request.task_id, request.id) = (task_id, config_id);
            }
            Self::DeleteTaskPushNotificationConfig(request) => {
                (request.task_id, request.id) = (task_id, config_id);
            }
            Self::SendMessage(_)
            | Self::SendStreamingMessage(_)
            | Self::ListTasks(_)
            | Self::GetExtendedAgentCard(_) => {}
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => request.check(),
            Self::GetTask(request) => request.check(),
            Self::ListTasks(request) => request.check(),
            Self::CancelTask(request) => request.check(),
            Self::SubscribeToTask(request) => request.check(),
            Self::CreateTaskPushNotificationConfig(config) => push::check_create(config),
            Self::GetTaskPushNotificationConfig(request) => request.check(),
            Self::ListTaskPushNotificationConfigs(request) => request.check(),
            Self::DeleteTaskPushNotificationConfig(request) => request.check(),
            Self::GetExtendedAgentCard(_) => Ok(()),
        }
    }

    pub const fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::SubscribeToTask(_) => Operation::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => Operation::CreateTaskPushNotificationConfig,
            Self::GetTaskPushNotificationConfig(_) => Operation::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => Operation::DeleteTaskPushNotificationConfig,
            Self::GetExtendedAgentCard(_) => Operation::GetExtendedAgentCard,
        }
    }

    /// The tenant that the request names.
    pub fn tenant(&self) -> Option<&str> {
        let tenant = match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => &request.tenant,
            Self::GetTask(request) => &request.tenant,
            Self::ListTasks(request) => &request.tenant,
            Self::CancelTask(request) => &request.tenant,
            Self::SubscribeToTask(request) => &request.tenant,
            Self::CreateTaskPushNotificationConfig(config) => &config.tenant,
            Self::GetTaskPushNotificationConfig(request) => &request.tenant,
            Self::ListTaskPushNotificationConfigs(request) => &request.tenant,
            Self::DeleteTaskPushNotificationConfig(request) => &request.tenant,
            Self::GetExtendedAgentCard(request) => &request.tenant,
        };
        tenant.as_deref()
    }

    /// Where the tenant is kept: a client sets what the card's interface names.
    pub const fn tenant_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => &mut request.tenant,
            Self::GetTask(request) => &mut request.tenant,
            Self::ListTasks(request) => &mut request.tenant,
            Self::CancelTask(request) => &mut request.tenant,
            Self::SubscribeToTask(request) => &mut request.tenant,
            Self::CreateTaskPushNotificationConfig(config) => &mut config.tenant,
            Self::GetTaskPushNotificationConfig(request) => &mut request.tenant,
            Self::ListTaskPushNotificationConfigs(request) => &mut request.tenant,
            Self::DeleteTaskPushNotificationConfig(request) => &mut request.tenant,
            Self::GetExtendedAgentCard(request) => &mut request.tenant,
        }
    }
}

/// Where the fields of a request are.
#[derive(Clone, Copy)]
enum Source<'a> {
    Json(&'a str),
    Query(&'a str),
}

impl<'a> Source<'a> {
    fn read<T: Deserialize<'a>>(self) -> Result<T, Fault> {
        match self {
            Self::Json(text) => read::object(text),
            Self::Query(text) => query::object(text),
        }
    }
}
