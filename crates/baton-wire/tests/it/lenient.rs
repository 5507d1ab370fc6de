//! What ProtoJSON lets a writer choose between is all taken, and what is carried is carried exactly.

use baton_core::model::{Content, Role, TaskState};
use baton_core::time::Timestamp;
use baton_wire::request::{Call, ListTasksRequest};
use http::Method;

use crate::{from_jsonrpc, from_rest, send};

#[test]
fn snake_case_numbers_text_null_and_unknown_members() {
    let odd = r#"{
        "tenant": null,
        "unknown": {"deep": [[[[1e999]]]]},
        "message": {
            "message_id": "m", "context_id": "", "task_id": null, "role": 1,
            "parts": [{"raw": "-_8", "media_type": "a/b", "x": 1}], "extensions": null
        },
        "configuration": {"history_length": "3", "return_immediately": true, "accepted_output_modes": null},
        "metadata": null
    }"#;
    let plain = r#"{
        "message": {
            "messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "+/8=", "mediaType": "a/b"}]
        },
        "configuration": {"historyLength": 3.0, "returnImmediately": true}
    }"#;
    let request = send(odd).unwrap();
    assert_eq!(request, send(plain).unwrap());
    assert_eq!(request.message.role, Role::User);
    assert_eq!(request.configuration.history_length, Some(3));
}

#[test]
fn data_and_metadata_are_carried_exactly() {
    let data = r#"{"a":[42,42.0,9007199254740993,1e400,-0.0],"a":null,"\u0000":"\u2028 \ud83d\ude00"}"#;
    let params = format!(
        r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"data":{data}}},{{"data":null}}],"metadata":{data}}},"metadata":{data}}}"#
    );
    let request = send(&params).unwrap();
    let Content::Data(json) = &request.message.parts[0].content else { panic!() };
    assert_eq!(json.as_str(), data);
    assert_eq!(request.message.metadata.as_ref().unwrap().as_str(), data);
    assert_eq!(request.metadata.as_ref().unwrap().as_str(), data);
    let Content::Data(json) = &request.message.parts[1].content else { panic!() };
    assert_eq!(json.as_str(), "null");
}

#[test]
fn text_keeps_every_character() {
    let text = r"\u0000\u2028\u001f\ud83d\ude00é\/";
    let params = format!(r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"text":"{text}"}}]}}}}"#);
    let request = send(&params).unwrap();
    assert_eq!(request.message.parts[0].as_text(), Some("\0\u{2028}\u{1f}😀é/"));
}

#[test]
fn a_query_in_every_spelling() {
    let expected = ListTasksRequest {
        context_id: Some("a b&c".to_owned()),
        status: Some(TaskState::Working),
        page_size: Some(2),
        page_token: Some("x=y".to_owned()),
        history_length: Some(0),
        status_timestamp_after: Some(Timestamp::from_millis(7)),
        include_artifacts: true,
        tenant: None,
    };
    for query in [
        "contextId=a%20b%26c&status=TASK_STATE_WORKING&pageSize=2&pageToken=x%3Dy&historyLength=0\
         &statusTimestampAfter=1970-01-01T00:00:00.007Z&includeArtifacts=true",
        "context_id=a+b%26c&status=2&page_size=2&page_token=x=y&history_length=0&tenant=&unknown=1&unknown=2\
         &status_timestamp_after=1970-01-01T01%3A00%3A00.007%2B01%3A00&&include_artifacts=true&A2A-Version=1.0",
    ] {
        let call = from_rest(&Method::GET, &format!("tasks?{query}"), "").unwrap();
        assert_eq!(call, Call::ListTasks(expected.clone()));
    }
    for query in ["", "status=&pageSize=&historyLength", "status=TASK_STATE_UNSPECIFIED", "status=0"] {
        let call = from_rest(&Method::GET, &format!("tasks?{query}"), "").unwrap();
        assert_eq!(call, Call::ListTasks(ListTasksRequest::default()), "{query}");
    }
}

#[test]
fn the_path_wins_over_the_body_and_a_body_may_be_missing() {
    let read = |method, target, body| from_rest(&method, target, body).unwrap();
    for body in ["", "{}", r#"{"id":"other"}"#] {
        let Call::CancelTask(request) = read(Method::POST, "tasks/7:cancel", body) else { panic!() };
        assert_eq!(request.id, "7");
    }
    for method in [Method::GET, Method::POST] {
        let Call::SubscribeToTask(request) = read(method, "e/tasks/7:subscribe", "") else { panic!() };
        assert_eq!((request.id.as_str(), request.tenant.as_deref()), ("7", Some("e")));
    }
    let Call::GetTask(request) = read(Method::GET, "tasks/7?id=8&historyLength=2", "ignored") else {
        panic!()
    };
    assert_eq!((request.id.as_str(), request.history_length), ("7", Some(2)));
}

#[test]
fn zero_is_unset_where_the_definition_has_no_presence() {
    let body = br#"{"jsonrpc":"2.0","method":"ListTaskPushNotificationConfigs","params":{"taskId":"t","pageSize":0}}"#;
    assert!(from_jsonrpc(body).is_ok());
}

#[test]
fn depth_is_counted_from_the_start_of_the_body() {
    let nested = |levels: usize| {
        let data = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"message":{{"messageId":"m","role":1,"parts":[{{"data":{data}}}]}}}}"#)
    };
    let read = |levels| from_rest(&Method::POST, "message:send", &nested(levels));
    assert!(read(96).is_ok());
    assert_eq!(read(97).unwrap_err().message(), "Invalid JSON payload: nested deeper than 100 levels");
}
