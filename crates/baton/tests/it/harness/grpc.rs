//! gRPC as another implementation speaks it: ProtoJSON to messages and back by their descriptors, without any of the
//! node's own conversions.

use std::sync::LazyLock;

use baton_wire::grpc::generated::DESCRIPTORS;
use baton_wire::grpc::{EVENT_ID, frame};
use baton_wire::operation::Operation;
use bytes::{Buf as _, Bytes};
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MethodDescriptor};
use serde_json::{Map, Value, json};

use super::soon;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap());

/// A method of the service of A2A 1.0.
pub fn method(operation: Operation) -> MethodDescriptor {
    method_of("lf.a2a.v1.A2AService", operation.method())
}

pub fn method_of(service: &str, name: &str) -> MethodDescriptor {
    let service = POOL.get_service_by_name(service).unwrap();
    let method = service.methods().find(|method| method.name() == name);
    method.unwrap_or_else(|| panic!("no method {name}"))
}

pub fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// A request in its frame.
pub fn request(method: &MethodDescriptor, params: Value) -> Bytes {
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(method.input(), params, &options);
    frame::write(&message.unwrap_or_else(|why| panic!("{}: {why}", method.full_name())))
}

/// What a call came to: the JSON of its message, or `{"error": …}` as REST would say it.
pub async fn whole(path: &str, body: Incoming, headers: &mut HeaderMap) -> Value {
    let collected = soon(body.collect()).await.expect("the answer comes whole");
    headers.extend(collected.trailers().cloned().unwrap_or_default());
    let mut body = collected.to_bytes();
    if let Some(error) = error(headers) {
        assert!(body.is_empty(), "a message and an error: {error}");
        return json!({"error": error});
    }
    let message = take(&mut body).expect("a call that went well has a message");
    assert!(body.is_empty(), "an answer is one message");
    to_json(path, message)
}

/// The message at the start of what was read, if it is whole.
pub fn take(read: &mut Bytes) -> Option<Bytes> {
    let length = u32::from_be_bytes(read.get(1..frame::PREFIX)?.try_into().unwrap()) as usize;
    if read.len() < frame::PREFIX + length {
        return None;
    }
    assert_eq!(read.get_u8(), 0, "nothing is compressed");
    read.advance(4);
    Some(read.split_to(length))
}

pub fn to_json(path: &str, message: Bytes) -> Value {
    let (service, name) = path.trim_start_matches('/').split_once('/').unwrap();
    let method = method_of(service, name);
    let message = DynamicMessage::decode(method.output(), message).unwrap();
    assert_eq!(message.unknown_fields().count(), 0, "{message:?}");
    let mut json = serde_json::to_value(message).unwrap();
    whole_numbers(&mut json);
    // ProtoJSON leaves out what is empty; the JSON of the other doors always has these.
    let always = match method.output().name() {
        "ListTasksResponse" => json!({"tasks": [], "nextPageToken": "", "totalSize": 0}),
        "ListTaskPushNotificationConfigsResponse" => json!({"configs": [], "nextPageToken": ""}),
        _ => json!({}),
    };
    for (name, empty) in always.as_object().unwrap() {
        json.as_object_mut().unwrap().entry(name).or_insert_with(|| empty.clone());
    }
    json
}

/// Takes the number of the event out of an item of a stream.
pub fn event(item: &mut Value) -> u64 {
    let said = item.as_object_mut().unwrap().values_mut().next().expect("an item is one of four");
    let metadata = said["metadata"].as_object_mut().expect("an item has its number");
    let number = metadata.remove(EVENT_ID).and_then(|number| number.as_u64()).unwrap();
    if metadata.is_empty() {
        said.as_object_mut().unwrap().remove("metadata");
    }
    number
}

/// A double of `google.protobuf.Value` that is whole is written as a whole number.
fn whole_numbers(json: &mut Value) {
    match json {
        Value::Number(number) if number.is_f64() => {
            let double = number.as_f64().unwrap();
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            if double.fract() == 0.0 && double.abs() < 9e15 {
                *number = (double as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The status of a call that did not go well, as the JSON of `google.rpc.Status`.
pub fn error(headers: &HeaderMap) -> Option<Value> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    let code: i32 = text("grpc-status")?.parse().unwrap();
    if code == 0 {
        return None;
    }
    let status = tonic::Status::from_header_map(headers).unwrap();
    let details = baton_wire::grpc::generated::rpc::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, &*details.message), (code, status.message()), "one status, not two");
    let details: Vec<_> = details.details.iter().map(detail).collect();
    Some(json!({"code": code, "message": status.message(), "details": details}))
}

fn detail(any: &prost_types::Any) -> Value {
    use baton_wire::grpc::generated::rpc::{BadRequest, ErrorInfo, RetryInfo};
    let mut detail = Map::from_iter([("@type".to_owned(), json!(any.type_url))]);
    match any.type_url.rsplit('/').next().unwrap() {
        "google.rpc.ErrorInfo" => {
            let info = ErrorInfo::decode(&*any.value).unwrap();
            detail.insert("reason".to_owned(), json!(info.reason));
            detail.insert("domain".to_owned(), json!(info.domain));
            if !info.metadata.is_empty() {
                detail.insert("metadata".to_owned(), json!(info.metadata));
            }
        }
        "google.rpc.BadRequest" => {
            let violations = BadRequest::decode(&*any.value).unwrap().field_violations;
            let violations = violations.iter();
            let violations = violations.map(|v| json!({"field": v.field, "description": v.description}));
            detail.insert("fieldViolations".to_owned(), violations.collect());
        }
        "google.rpc.RetryInfo" => {
            let wait = RetryInfo::decode(&*any.value).unwrap().retry_delay.unwrap();
            detail.insert("retryDelay".to_owned(), json!(format!("{}s", wait.seconds)));
        }
        other => panic!("a detail that no client knows: {other}"),
    }
    Value::Object(detail)
}

/// Whether a response is the beginning of a stream, and not a refusal.
pub fn is_stream(response: &Response<Incoming>) -> bool {
    !response.headers().contains_key("grpc-status")
}
