//! A call as a REST request: method, path and query below the interface's URL, body (§11.3, §11.5).

use baton_core::model::{TaskPushNotificationConfig, TaskState};
use bytes::Bytes;
use http::Method;

use crate::query::percent_encode;
use crate::request::{
    Call, CancelTaskRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    SendMessageRequest,
};
use crate::response::encode;

/// One HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestRequest {
    pub method: Method,
    /// Path and query, percent-encoded, with a leading slash: to be put after the interface's URL.
    pub target: String,
    pub body: Option<Bytes>,
}

impl RestRequest {
    pub fn new(call: &Call) -> Self {
        let target = match call.tenant() {
            Some(tenant) => Target::default().segment(tenant),
            None => Target::default(),
        };
        match call {
            Call::SendMessage(request) => send(target.literal("/message:send"), request),
            Call::SendStreamingMessage(request) => send(target.literal("/message:stream"), request),
            Call::GetTask(request) => get_task(target, request),
            Call::ListTasks(request) => list_tasks(target, request),
            Call::CancelTask(request) => cancel(target, request),
            Call::SubscribeToTask(request) => {
                post(target.task(&request.id).literal(":subscribe"), Bytes::from_static(b"{}"))
            }
            Call::CreateTaskPushNotificationConfig(config) => create_config(target, config),
            Call::GetTaskPushNotificationConfig(request) => {
                get(target.configs(&request.task_id).segment(&request.id))
            }
            Call::ListTaskPushNotificationConfigs(request) => list_configs(target, request),
            Call::DeleteTaskPushNotificationConfig(request) => {
                bare(Method::DELETE, target.configs(&request.task_id).segment(&request.id))
            }
            Call::GetExtendedAgentCard(_) => get(target.literal("/extendedAgentCard")),
        }
    }
}

// What the path names does not stand in the body or the query again.

fn send(target: Target, request: &SendMessageRequest) -> RestRequest {
    if request.tenant.is_none() {
        return post(target, encode(request));
    }
    post(target, encode(&SendMessageRequest { tenant: None, ..request.clone() }))
}

fn get_task(target: Target, request: &GetTaskRequest) -> RestRequest {
    get(target.task(&request.id).number("historyLength", request.history_length))
}

fn list_tasks(target: Target, request: &ListTasksRequest) -> RestRequest {
    let artifacts = request.include_artifacts.then_some("true");
    let after = request.status_timestamp_after.map(|at| at.to_string());
    get(target
        .literal("/tasks")
        .parameter("contextId", request.context_id.as_deref())
        .parameter("status", request.status.map(TaskState::as_str))
        .number("pageSize", request.page_size)
        .parameter("pageToken", request.page_token.as_deref())
        .number("historyLength", request.history_length)
        .parameter("statusTimestampAfter", after.as_deref())
        .parameter("includeArtifacts", artifacts))
}

fn cancel(target: Target, request: &CancelTaskRequest) -> RestRequest {
    let metadata = request.metadata.clone();
    let body = CancelTaskRequest { tenant: None, id: String::new(), metadata };
    post(target.task(&request.id).literal(":cancel"), encode(&body))
}

fn create_config(target: Target, config: &TaskPushNotificationConfig) -> RestRequest {
    let task_id = config.task_id.as_deref().unwrap_or_default();
    let body = TaskPushNotificationConfig { tenant: None, task_id: None, ..config.clone() };
    post(target.configs(task_id), encode(&body))
}

fn list_configs(target: Target, request: &ListTaskPushNotificationConfigsRequest) -> RestRequest {
    get(target
        .configs(&request.task_id)
        .number("pageSize", request.page_size)
        .parameter("pageToken", request.page_token.as_deref()))
}

fn get(target: Target) -> RestRequest {
    bare(Method::GET, target)
}

fn bare(method: Method, target: Target) -> RestRequest {
    RestRequest { method, target: target.0, body: None }
}

fn post(target: Target, body: Bytes) -> RestRequest {
    RestRequest { method: Method::POST, target: target.0, body: Some(body) }
}

/// A path and query under construction.
#[derive(Default)]
struct Target(String);

impl Target {
    fn literal(mut self, text: &str) -> Self {
        self.0.push_str(text);
        self
    }

    fn segment(mut self, text: &str) -> Self {
        self.0.push('/');
        percent_encode(&mut self.0, text);
        self
    }

    fn task(self, id: &str) -> Self {
        self.literal("/tasks").segment(id)
    }

    fn configs(self, task_id: &str) -> Self {
        self.task(task_id).literal("/pushNotificationConfigs")
    }

    fn parameter(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.contains('?') { '&' } else { '?' });
            self.0.push_str(name);
            self.0.push('=');
            percent_encode(&mut self.0, value);
        }
        self
    }

    fn number(self, name: &str, value: Option<i32>) -> Self {
        self.parameter(name, value.map(|number| number.to_string()).as_deref())
    }
}
