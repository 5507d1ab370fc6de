//! Every wrong field is named by its path, from every source alike.

use std::fmt::Write as _;

use baton_wire::fault::Kind;
use http::Method;

use crate::{from_jsonrpc, from_rest, send, violation};

const MESSAGE: &str = r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]"#;

#[test]
fn send_message() {
    let with = |rest: &str| format!(r#"{{"message":{{{MESSAGE}}},{rest}}}"#);
    let parts = |parts: &str| format!(r#"{{"message":{{"messageId":"m","role":1,"parts":{parts}}}}}"#);
    let cases = [
        "{}".to_owned(),
        r#"{"message":null}"#.to_owned(),
        r#"{"message":{}}"#.to_owned(),
        r#"{"message":"hello"}"#.to_owned(),
        r#"{"message":["m",null,null,1,[{"text":"x"}]]}"#.to_owned(),
        r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":7,"role":"ROLE_USER","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":3,"parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","message_id":"n","role":1,"parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":1,"context_id":5,"parts":[{"text":"x"}]}}"#.to_owned(),
        r#"{"message":{"messageId":"m","role":1,"reference_task_ids":["a",1],"parts":[{"text":"x"}]}}"#
            .to_owned(),
        r#"{"message":{"messageId":"m","role":1,"metadata":[],"parts":[{"text":"x"}]}}"#.to_owned(),
        parts("null"),
        parts("[]"),
        parts("{}"),
        parts("[{}]"),
        parts("[null]"),
        parts(r#"[["x"]]"#),
        parts(r#"[{"text":"x"},{"text":"y","url":"https://z"}]"#),
        parts(r#"[{"text":5}]"#),
        parts(r#"[{"raw":"!"}]"#),
        parts(r#"[{"url":""}]"#),
        parts(r#"[{"text":"\ud83d"}]"#),
        parts(r#"[{"data":["\udc00"]}]"#),
        parts(r#"[{"text":"x","media_type":[]}]"#),
        parts(r#"[{"text":"x","metadata":3}]"#),
        with(r#""message":{}"#),
        with(r#""metadata":"x""#),
        with(r#""tenant":1"#),
        with(r#""configuration":[]"#),
        with(r#""configuration":{"historyLength":-1}"#),
        with(r#""configuration":{"history_length":1.5}"#),
        with(r#""configuration":{"historyLength":2147483648}"#),
        with(r#""configuration":{"historyLength":1e400}"#),
        with(r#""configuration":{"historyLength":"many"}"#),
        with(r#""configuration":{"returnImmediately":1}"#),
        with(r#""configuration":{"acceptedOutputModes":"text/plain"}"#),
        with(r#""configuration":{"acceptedOutputModes":[null]}"#),
        with(r#""configuration":{"taskPushNotificationConfig":{}}"#),
        with(r#""configuration":{"taskPushNotificationConfig":{"url":"https://x","authentication":{}}}"#),
        with(r#""configuration":{"task_push_notification_config":{"url":5}}"#),
    ];
    let mut out = String::new();
    for params in cases {
        let fault = send(&params).expect_err(&params);
        let by_rest = from_rest(&Method::POST, "message:send", &params).unwrap_err();
        assert_eq!(violation(&fault), violation(&by_rest));
        writeln!(out, "{params}\n    {}", violation(&fault)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn from_json_and_from_a_query_alike() {
    let cases = [
        (r#"{"pageSize":0}"#, "pageSize=0"),
        (r#"{"pageSize":101}"#, "page_size=101"),
        (r#"{"page_size":"x"}"#, "pageSize=x"),
        (r#"{"historyLength":-1}"#, "historyLength=-1"),
        (r#"{"status":"TASK_STATE_RUNNING"}"#, "status=TASK_STATE_RUNNING"),
        (r#"{"statusTimestampAfter":"yesterday"}"#, "statusTimestampAfter=yesterday"),
        (r#"{"includeArtifacts":"yes"}"#, "includeArtifacts=yes"),
        (r#"{"pageSize":1,"page_size":2}"#, "pageSize=1&page_size=2"),
        (r#"{"contextId":"a","contextId":"a"}"#, "contextId=a&contextId=a"),
    ];
    let mut out = String::new();
    for (params, query) in cases {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{params}}}"#);
        let from_json = violation(&from_jsonrpc(body.as_bytes()).expect_err(params));
        let from_query = violation(&from_rest(&Method::GET, &format!("tasks?{query}"), "").expect_err(query));
        assert_eq!(from_json, from_query);
        writeln!(out, "{query}\n    {from_query}").unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_query_must_be_encoded() {
    for (query, field) in [("contextId=%zz", "contextId"), ("contextId=%ff", "contextId"), ("%f=1", "%f")] {
        let fault = from_rest(&Method::GET, &format!("tasks?{query}"), "").unwrap_err();
        assert_eq!(violation(&fault), format!("{field}: is not percent-encoded UTF-8"));
    }
}

#[test]
fn ids_are_required() {
    for (method, field) in [
        ("GetTask", "id"),
        ("CancelTask", "id"),
        ("SubscribeToTask", "id"),
        ("CreateTaskPushNotificationConfig", "taskId"),
        ("GetTaskPushNotificationConfig", "taskId"),
        ("ListTaskPushNotificationConfigs", "taskId"),
        ("DeleteTaskPushNotificationConfig", "taskId"),
    ] {
        for params in [String::new(), format!(r#","params":{{"{field}":""}}"#)] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
            let fault = from_jsonrpc(body.as_bytes()).unwrap_err();
            assert_eq!(violation(&fault), format!("{field}: is required"), "{method}");
        }
    }
    let body =
        br#"{"jsonrpc":"2.0","id":1,"method":"GetTaskPushNotificationConfig","params":{"task_id":"t"}}"#;
    assert_eq!(violation(&from_jsonrpc(body).unwrap_err()), "id: is required");
}

#[test]
fn a_rest_body_is_json_or_a_parse_fault() {
    for body in ["", " ", "{", "x", "{}{}"] {
        let fault = from_rest(&Method::POST, "message:send", body).unwrap_err();
        assert_eq!(fault.kind, Kind::Parse, "{body}");
    }
    for body in ["[]", "3", "null", "\"x\""] {
        let fault = from_rest(&Method::POST, "message:send", body).unwrap_err();
        assert_eq!(violation(&fault), ": expected a JSON object", "{body}");
        assert_eq!(fault.message(), "Invalid parameters: expected a JSON object");
    }
    assert_eq!(from_rest(&Method::POST, "tasks/7:cancel", "{").unwrap_err().kind, Kind::Parse);
}

#[test]
fn an_endless_wrong_value_is_not_repeated_whole() {
    let long = "x".repeat(100_000);
    let fault = send(&format!(r#"{{"message":{{"role":"{long}"}}}}"#)).unwrap_err();
    assert!(fault.to_rest().len() < 2000);
    let fault = send(&format!(r#"{{"message":{{{MESSAGE},"metadata":{{"{long}":1}},"contextId":[]}}}}"#))
        .unwrap_err();
    assert_eq!(violation(&fault).split(':').next(), Some("message.contextId"));
}

#[test]
fn another_tenant_than_the_paths_is_a_contradiction() {
    let body = format!(r#"{{"tenant":"b","message":{{{MESSAGE}}}}}"#);
    let fault = from_rest(&Method::POST, "a/message:send", &body).unwrap_err();
    assert_eq!(violation(&fault), "tenant: is not the tenant that the path names");
    let call = from_rest(&Method::POST, "b/message:send", &body).unwrap();
    assert_eq!(call.tenant(), Some("b"));
}
