//! Every operation as it goes over the wire, written by the client's side and read back by the server's.

use std::fmt::Write as _;
use std::sync::Arc;

use baton_core::json::{Json, Object};
use baton_core::model::{
    Artifact, AuthenticationInfo, Message, Part, Role, StreamResponse, TaskObject,
    TaskPushNotificationConfig, TaskState, TaskStatus,
};
use baton_core::time::Timestamp;
use baton_wire::client::{self, Binding, RestRequest};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::request::{
    Call, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
};
use baton_wire::response::{
    Empty, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse, encode,
};

use crate::{from_jsonrpc, from_rest};

const TASK: &str = "0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f";

pub fn message() -> Message {
    let mut message = Message::text(Role::User, "m-1", "Grüße\u{2028}\0");
    message.parts.push(Part::data(Json::parse("[42, 42.0, 9007199254740993]").unwrap()));
    message.context_id = Some("ctx".to_owned());
    message
}

pub fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: Some("c/1".to_owned()),
        task_id: Some(TASK.to_owned()),
        url: Some("https://example.com/hook".to_owned()),
        token: Some("t".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("secret".to_owned()),
        }),
        ..TaskPushNotificationConfig::default()
    }
}

pub fn calls() -> Vec<Call> {
    let (id, task_id) = (TASK.to_owned(), TASK.to_owned());
    let sent = SendMessageRequest {
        message: message(),
        configuration: SendMessageConfiguration {
            accepted_output_modes: vec!["text/plain".to_owned()],
            task_push_notification_config: Some(TaskPushNotificationConfig { task_id: None, ..config() }),
            history_length: Some(0),
            return_immediately: true,
        },
        metadata: Some(Object::parse(r#"{"n": 3.0}"#).unwrap()),
        tenant: None,
    };
    let plain =
        SendMessageRequest { message: message(), tenant: Some("my tenant".to_owned()), ..Default::default() };
    let listed = ListTasksRequest {
        context_id: Some("a b&c".to_owned()),
        status: Some(TaskState::InputRequired),
        page_size: Some(10),
        page_token: Some("p+/=".to_owned()),
        history_length: Some(1),
        status_timestamp_after: Some(Timestamp::from_millis(1_761_648_000_007)),
        include_artifacts: true,
        tenant: None,
    };
    vec![
        Call::SendMessage(Box::new(sent)),
        Call::SendStreamingMessage(Box::new(plain)),
        Call::GetTask(GetTaskRequest { id: id.clone(), history_length: Some(3), tenant: None }),
        Call::GetTask(GetTaskRequest { id: "ü/:cancel".to_owned(), ..Default::default() }),
        Call::ListTasks(listed),
        Call::ListTasks(ListTasksRequest { tenant: Some("echo".to_owned()), ..Default::default() }),
        Call::CancelTask(CancelTaskRequest {
            id: id.clone(),
            metadata: Some(Object::parse("{}").unwrap()),
            tenant: Some("echo".to_owned()),
        }),
        Call::SubscribeToTask(SubscribeToTaskRequest { id, tenant: None }),
        Call::CreateTaskPushNotificationConfig(config()),
        Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
            task_id: task_id.clone(),
            id: "c/1".to_owned(),
            tenant: None,
        }),
        Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
            task_id: task_id.clone(),
            page_size: Some(5),
            ..Default::default()
        }),
        Call::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
            task_id,
            id: "c/1".to_owned(),
            tenant: None,
        }),
        Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()),
    ]
}

#[test]
fn requests_both_ways() {
    let mut out = String::new();
    for call in calls() {
        let body = client::jsonrpc_request(&Id::number(1), &call);
        assert_eq!(from_jsonrpc(&body).unwrap(), call);
        writeln!(out, "{}", std::str::from_utf8(&body).unwrap()).unwrap();

        let RestRequest { method, target, body } = RestRequest::new(&call);
        let body = body.unwrap_or_default();
        let body = std::str::from_utf8(&body).unwrap();
        assert_eq!(from_rest(&method, &target, body).unwrap(), call);
        writeln!(out, "{method} {target} {body}\n").unwrap();
    }
    insta::assert_snapshot!(out);
}

pub fn task() -> TaskObject {
    let artifact =
        Artifact { artifact_id: "a".to_owned(), parts: vec![Part::text("done")], ..Artifact::default() };
    TaskObject {
        id: TASK.to_owned(),
        context_id: Some("ctx".to_owned()),
        status: TaskStatus {
            state: TaskState::Completed,
            message: None,
            timestamp: Some(Timestamp::from_millis(1_761_648_000_007)),
        },
        artifacts: Some(vec![Arc::new(artifact)]),
        history: vec![Arc::new(message())],
        metadata: None,
    }
}

/// Writes an answer in both bindings, reads it back from both, and gives the JSON-RPC text.
fn answer<T>(value: &T) -> String
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let rest = encode(value);
    assert_eq!(client::read_rest::<T>(200, &rest).unwrap(), *value);
    let rpc = jsonrpc::result(&Id::number(1), value);
    assert_eq!(client::read_jsonrpc::<T>(200, &rpc).unwrap(), *value);
    format!("{}\n", std::str::from_utf8(&rpc).unwrap())
}

#[test]
fn answers_both_ways() {
    let page = ListTasksResponse {
        tasks: vec![TaskObject { artifacts: None, history: Vec::new(), ..task() }],
        next_page_token: "next".to_owned(),
        page_size: 1,
        total_size: 2,
    };
    let configs =
        ListTaskPushNotificationConfigsResponse { configs: vec![config()], next_page_token: String::new() };
    insta::assert_snapshot!(
        [
            answer(&SendMessageResponse::Task(task())),
            answer(&SendMessageResponse::Message(Arc::new(message()))),
            answer(&task()),
            answer(&ListTasksResponse { page_size: 50, ..Default::default() }),
            answer(&page),
            answer(&config()),
            answer(&configs),
            answer(&Empty {}),
        ]
        .concat()
    );
}

#[test]
fn stream_items_both_ways() {
    let item = StreamResponse::Task(task());
    let bare = encode(&item);
    let wrapped = jsonrpc::result(&Id::number(1), &item);
    let read =
        |binding, data: &[u8]| client::read_event(binding, std::str::from_utf8(data).unwrap()).unwrap();
    assert_eq!(read(Binding::Rest, &bare), item);
    assert_eq!(read(Binding::JsonRpc, &wrapped), item);
}
