//! gRPC: each message against ProtoJSON as another implementation reads and writes it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use baton_core::json::{Json, Object};
use baton_core::model::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill, ArtifactUpdate,
    Message, Part, SecurityRequirement, StatusUpdate, StreamResponse, StringList, Violation,
};
use baton_wire::client;
use baton_wire::fault::{Fault, Kind};
use baton_wire::grpc::generated::DESCRIPTORS;
use baton_wire::grpc::generated::rpc::{BadRequest, ErrorInfo, RetryInfo};
use baton_wire::grpc::v1::{self, pb};
use baton_wire::grpc::{EVENT_ID, frame};
use baton_wire::jsonrpc::Id;
use baton_wire::operation::Operation;
use baton_wire::request::Call;
use baton_wire::response::{ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse};
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};

use crate::golden::{calls, config, message, task};

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap());

/// A message of the definition from its ProtoJSON.
fn from_json(name: &str, json: Value) -> Bytes {
    let kind = POOL.get_message_by_name(&format!("lf.a2a.v1.{name}")).unwrap();
    DynamicMessage::deserialize(kind, json).unwrap().encode_to_vec().into()
}

/// The ProtoJSON of a message.
fn to_json(name: &str, message: &impl prost::Message) -> Value {
    let kind = POOL.get_message_by_name(&format!("lf.a2a.v1.{name}")).unwrap();
    let message = DynamicMessage::decode(kind, &*message.encode_to_vec()).unwrap();
    doubles(serde_json::to_value(message).unwrap())
}

/// Every number as the double that a Value holds.
fn doubles(json: Value) -> Value {
    match json {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, doubles(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => json,
    }
}

/// The same but for the last bit of a number: `serde_json` does not read every one exactly.
fn near(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * 1e-15
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| near(a, b)))
        }
        _ => a == b,
    }
}

/// The parameters of a call as JSON.
fn params(call: &Call) -> Value {
    let body = client::jsonrpc_request(&Id::number(1), call);
    serde_json::from_slice::<Value>(&body).unwrap()["params"].take()
}

fn input(operation: Operation) -> String {
    let service = POOL.get_service_by_name(v1::SERVICE).unwrap();
    let method = service.methods().find(|method| method.name() == operation.method()).unwrap();
    method.input().name().to_owned()
}

#[test]
fn every_request_is_read_as_its_json_is() {
    for call in calls() {
        let (operation, sent) = (call.operation(), params(&call));
        let read = v1::read(operation, from_json(&input(operation), sent.clone())).unwrap();
        assert_eq!(read.operation(), operation);
        assert_eq!(doubles(params(&read)), doubles(sent));
    }
}

/// The message and its answer in JSON are the same, down to each member.
fn same(name: &str, message: &impl prost::Message, model: &impl serde::Serialize) {
    assert_eq!(to_json(name, message), doubles(serde_json::to_value(model).unwrap()), "{name}");
}

#[test]
fn every_answer_is_written_as_its_json_is() {
    let page = ListTasksResponse {
        tasks: vec![task()],
        next_page_token: "next".to_owned(),
        page_size: 1,
        total_size: 2,
    };
    let configs =
        ListTaskPushNotificationConfigsResponse { configs: vec![config()], next_page_token: "n".to_owned() };
    let sent = [SendMessageResponse::Task(task()), SendMessageResponse::Message(message().into())];
    for sent in &sent {
        same("SendMessageResponse", &pb::SendMessageResponse::from(sent), sent);
    }
    same("Task", &pb::Task::from(&task()), &task());
    same("ListTasksResponse", &pb::ListTasksResponse::from(&page), &page);
    same("TaskPushNotificationConfig", &pb::TaskPushNotificationConfig::from(&config()), &config());
    same(
        "ListTaskPushNotificationConfigsResponse",
        &pb::ListTaskPushNotificationConfigsResponse::from(&configs),
        &configs,
    );
    same("AgentCard", &pb::AgentCard::from(&card()), &card());
}

#[test]
fn every_item_of_a_stream_has_its_number_and_is_written_as_its_json_is() {
    let of = ("t".to_owned(), "c".to_owned());
    let update = StatusUpdate {
        task_id: of.0.clone(),
        context_id: of.1.clone(),
        status: task().status,
        metadata: Some(Object::parse(r#"{"k":"v"}"#).unwrap()),
    };
    let written = ArtifactUpdate {
        task_id: of.0,
        context_id: of.1,
        artifact: task().artifacts.unwrap()[0].clone(),
        append: true,
        last_chunk: true,
        metadata: None,
    };
    for item in [
        StreamResponse::Task(task()),
        StreamResponse::Message(message().into()),
        StreamResponse::StatusUpdate(update),
        StreamResponse::ArtifactUpdate(written),
    ] {
        let mut json = to_json("StreamResponse", &v1::stream_item(7, &item));
        let said = json.as_object_mut().unwrap().values_mut().next().unwrap();
        assert_eq!(said["metadata"].as_object_mut().unwrap().remove(EVENT_ID), Some(json!(7.0)));
        if said["metadata"] == json!({}) {
            said.as_object_mut().unwrap().remove("metadata");
        }
        assert_eq!(json, doubles(serde_json::to_value(&item).unwrap()));
    }
}

fn card() -> AgentCard {
    let schemes = [
        ("key", r#"{"apiKeySecurityScheme":{"description":"d","location":"header","name":"X-Key"}}"#),
        ("http", r#"{"httpAuthSecurityScheme":{"scheme":"Bearer","bearerFormat":"opaque"}}"#),
        ("mtls", r#"{"mtlsSecurityScheme":{"description":"d"}}"#),
        ("oidc", r#"{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://a.example"}}"#),
        ("code", OAUTH_CODE),
        ("client", OAUTH_CLIENT),
        ("device", OAUTH_DEVICE),
    ];
    let schemes = schemes.map(|(name, scheme)| (name.to_owned(), serde_json::from_str(scheme).unwrap()));
    let scopes = BTreeMap::from([("http".to_owned(), StringList { list: vec!["read".to_owned()] })]);
    let requirement = SecurityRequirement { schemes: scopes };
    let signature = r#"{"protected":"e30","signature":"c2ln","header":{"kid":"k"}}"#;
    AgentCard {
        name: "n".to_owned(),
        description: "d".to_owned(),
        supported_interfaces: vec![AgentInterface {
            url: "a.example:443".to_owned(),
            protocol_binding: "GRPC".to_owned(),
            tenant: Some("echo".to_owned()),
            protocol_version: "1.0".to_owned(),
        }],
        provider: Some(AgentProvider { url: "https://p".to_owned(), organization: "o".to_owned() }),
        version: "1".to_owned(),
        documentation_url: Some("https://d".to_owned()),
        capabilities: AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(false),
            extensions: vec![AgentExtension {
                uri: "urn:x".to_owned(),
                description: Some("x".to_owned()),
                required: true,
                params: Some(Object::parse(r#"{"n":1}"#).unwrap()),
            }],
            extended_agent_card: Some(false),
        },
        security_schemes: schemes.into(),
        security_requirements: vec![requirement.clone()],
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![AgentSkill {
            id: "s".to_owned(),
            name: "S".to_owned(),
            description: "d".to_owned(),
            tags: vec!["t".to_owned()],
            examples: vec!["e".to_owned()],
            input_modes: vec!["a/b".to_owned()],
            output_modes: vec!["c/d".to_owned()],
            security_requirements: vec![requirement],
        }],
        signatures: vec![serde_json::from_str(signature).unwrap()],
        icon_url: Some("https://i".to_owned()),
    }
}

const OAUTH_CODE: &str = concat!(
    r#"{"oauth2SecurityScheme":{"description":"d","oauth2MetadataUrl":"https://m","flows":{"authorizationCode":"#,
    r#"{"authorizationUrl":"https://a","tokenUrl":"https://t","refreshUrl":"https://r","scopes":{"s":"S"},"pkceRequired":true}}}}"#
);
const OAUTH_CLIENT: &str =
    r#"{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"https://t","scopes":{"s":"S"}}}}}"#;
const OAUTH_DEVICE: &str = r#"{"oauth2SecurityScheme":{"flows":{"deviceCode":{"deviceAuthorizationUrl":"https://d","tokenUrl":"https://t","scopes":{"s":"S"}}}}}"#;

#[test]
fn a_fault_is_a_status_with_details() {
    let fault = Fault::task_not_found("made up");
    let status = fault.to_grpc();
    assert_eq!((status.code, &*status.message), (5, "Task not found"));
    let info = ErrorInfo::decode(&*status.details[0].value).unwrap();
    assert_eq!((&*info.reason, &*info.domain), ("TASK_NOT_FOUND", "a2a-protocol.org"));
    assert_eq!(info.metadata["taskId"], "made up");
    assert_eq!(status.details.len(), 1);

    let fault = Fault::from(Violation::new("message.parts", "at least one part is required"));
    let status = fault.to_grpc();
    assert_eq!(status.details[1].type_url, "type.googleapis.com/google.rpc.BadRequest");
    let wrong = BadRequest::decode(&*status.details[1].value).unwrap().field_violations.remove(0);
    assert_eq!((&*wrong.field, &*wrong.description), ("message.parts", "at least one part is required"));

    let fault = Fault::new(Kind::Unavailable).with_retry_after(std::time::Duration::from_millis(1500));
    let wait = RetryInfo::decode(&*fault.to_grpc().details[1].value).unwrap().retry_delay.unwrap();
    assert_eq!(wait.seconds, 2, "who waits that long is not early");
}

#[test]
fn frames_are_read_back_and_broken_ones_refused() {
    let written = frame::write(&pb::GetTaskRequest { id: "x".to_owned(), ..Default::default() });
    assert_eq!(frame::read(written.clone()).unwrap(), written[frame::PREFIX..]);
    for cut in 0..written.len() {
        assert_eq!(frame::read(written.slice(..cut)).unwrap_err().kind, Kind::InvalidRequest, "{cut}");
    }
}

#[test]
fn a_value_is_never_nested_too_deeply() {
    // A struct, a member and its value are three levels to a parser of protocol buffers, which stops at a hundred.
    let nested = |levels: usize| {
        let data = Json::parse(&("[".repeat(levels) + &"]".repeat(levels))).unwrap();
        let said = Message { parts: vec![Part::data(data)], ..message() };
        let sent = pb::SendMessageRequest { message: Some((&said).into()), ..Default::default() };
        sent.encode_to_vec().into()
    };
    assert!(v1::read(Operation::SendMessage, nested(30)).is_ok());
    assert_eq!(v1::read(Operation::SendMessage, nested(100)).unwrap_err().kind, Kind::Parse);
}

proptest! {
    #[test]
    fn any_data_comes_back_as_doubles(data in crate::properties::json()) {
        let mut said = message();
        said.parts = vec![Part::data(data)];
        let sent = pb::SendMessageRequest { message: Some((&said).into()), ..Default::default() };
        let read = v1::read(Operation::SendMessage, sent.encode_to_vec().into()).unwrap();
        let json = serde_json::to_value(&said).unwrap();
        prop_assert!(near(&params(&read)["message"], &json), "{json} became {read:?}");
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        _ = frame::read(bytes.clone().into());
        for operation in Operation::ALL {
            _ = v1::read(operation, bytes.clone().into());
        }
    }
}
