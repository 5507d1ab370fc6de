//! What is wrong, where, in the words of the request's spelling.

use std::fmt::Write as _;

use baton_wire::fault::Kind;
use http::Method;
use serde_json::{Value, json};

use crate::{from_jsonrpc, from_rest, violation};

fn message(part: &Value) -> Value {
    json!({"message": {"messageId": "m", "role": "user", "parts": [part]}})
}

#[test]
fn json_rpc() {
    let text = json!({"kind": "text", "text": "x"});
    let set = |config: Value| json!({"taskId": "t", "pushNotificationConfig": config});
    let with =
        |configuration: Value| json!({"message": message(&text)["message"], "configuration": configuration});
    let send = "message/send";
    let get = "tasks/get";
    let push = "tasks/pushNotificationConfig/set";
    let mut out = String::new();
    for (method, params) in [
        (send, json!({})),
        (send, json!({"message": {}})),
        (send, json!({"message": []})),
        (send, json!({"message": {"role": "user", "parts": [text]}})),
        (send, json!({"message": {"messageId": "m", "parts": [text]}})),
        (send, json!({"message": {"messageId": "m", "role": "robot", "parts": [text]}})),
        (send, json!({"message": {"kind": "task", "messageId": "m", "role": "user", "parts": [text]}})),
        (send, json!({"message": {"messageId": "m", "role": "user", "parts": []}})),
        (send, json!({"message": {"messageId": "m", "role": "user", "parts": "x"}})),
        (send, message(&json!({}))),
        (send, message(&json!({"text": "x"}))),
        (send, message(&json!({"type": "text", "text": "x"}))),
        (send, message(&json!({"kind": "text"}))),
        (send, message(&json!({"kind": "video", "text": "x"}))),
        (send, message(&json!({"kind": "file", "text": "x"}))),
        (send, message(&json!({"kind": "text", "text": 3}))),
        (send, message(&json!({"kind": "text", "text": "x", "data": {}}))),
        (send, message(&json!({"kind": "data", "data": [1]}))),
        (send, message(&json!({"kind": "file", "file": {}}))),
        (send, message(&json!({"kind": "file", "file": {"bytes": "%", "mimeType": "x/y"}}))),
        (send, message(&json!({"kind": "file", "file": {"bytes": "YQ==", "uri": "u"}}))),
        (send, with(json!({"historyLength": -1}))),
        (send, with(json!({"blocking": "yes"}))),
        (send, with(json!({"pushNotificationConfig": {}}))),
        (get, json!({})),
        (get, json!({"id": ""})),
        (get, json!({"id": 7})),
        (get, json!({"id": "t", "historyLength": -1})),
        (get, json!({"id": "t", "historyLength": 1.5})),
        ("tasks/cancel", json!({})),
        ("tasks/resubscribe", json!({})),
        ("tasks/list", json!({"status": "running"})),
        ("tasks/list", json!({"pageSize": 101})),
        (push, json!({"pushNotificationConfig": {"url": "u"}})),
        (push, json!({"taskId": "t"})),
        (push, set(json!({"id": "c"}))),
        (push, set(json!({"url": "u", "authentication": {"schemes": [], "credentials": "c"}}))),
        ("tasks/pushNotificationConfig/get", json!({})),
        ("tasks/pushNotificationConfig/delete", json!({"id": "t"})),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let fault = from_jsonrpc(body.as_bytes()).expect_err(&body);
        writeln!(out, "{method} {params}\n    {}", violation(&fault)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn rest() {
    let mut out = String::new();
    for (method, target, body) in [
        (Method::POST, "v1/message:send", r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[]}}"#),
        (
            Method::POST,
            "v1/message:send",
            r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{}]}}"#,
        ),
        (
            Method::POST,
            "v1/message:send",
            r#"{"message":{"messageId":"m","role":1,"content":[{"data":[]}]}}"#,
        ),
        (
            Method::POST,
            "v1/message:send",
            r#"{"message":{"messageId":"m","role":1,"content":[{"data":{"data":3}}]}}"#,
        ),
        (
            Method::POST,
            "v1/message:send",
            r#"{"message":{"messageId":"m","content":[{"file":{"fileWithUri":""}}]}}"#,
        ),
        (Method::GET, "v1/tasks/t?historyLength=-1", ""),
        (Method::GET, "v1/tasks?status=RUNNING", ""),
        (Method::POST, "v1/tasks/t/pushNotificationConfigs", "{}"),
        (Method::POST, "v1/tasks/t/pushNotificationConfigs", r#"{"config":{"pushNotificationConfig":{}}}"#),
    ] {
        let fault = from_rest(&method, target, body).expect_err(target);
        writeln!(out, "{method} {target} {body}\n    {}", violation(&fault)).unwrap();
    }
    insta::assert_snapshot!(out);
    for body in ["", "{", "nonsense"] {
        let fault = from_rest(&Method::POST, "v1/message:send", body).unwrap_err();
        assert_eq!(fault.kind, Kind::Parse, "{body}");
    }
}
