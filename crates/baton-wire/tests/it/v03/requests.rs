//! Requests, as the specification has them and as the official clients send them.

use baton_core::model::{Content, Role};
use baton_wire::request::Call;
use http::Method;
use serde_json::json;

use crate::{from_jsonrpc, from_rest};

#[expect(
    clippy::needless_pass_by_value,
    reason = "what is made for one call reads better without an ampersand"
)]
fn rpc(method: &str, params: serde_json::Value) -> Call {
    let body = json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params});
    from_jsonrpc(body.to_string().as_bytes()).unwrap_or_else(|fault| panic!("{method} {params}: {fault:?}"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "what is made for one call reads better without an ampersand"
)]
fn rest(method: Method, target: &str, body: &str) -> Call {
    from_rest(&method, target, body).unwrap_or_else(|fault| panic!("{target} {body}: {fault:?}"))
}

fn shown(calls: impl IntoIterator<Item = Call>) -> String {
    calls.into_iter().map(|call| format!("{call:#?}\n\n")).collect()
}

fn message(text: &str) -> serde_json::Value {
    json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]})
}

#[test]
fn every_method_of_json_rpc() {
    let configuration = json!({
        "acceptedOutputModes": ["text/plain"], "historyLength": 0, "blocking": false,
        "pushNotificationConfig": {"url": "https://example.com/hook", "token": "t",
            "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "c"}},
    });
    let config = json!({"id": "c", "url": "https://example.com/hook"});
    insta::assert_snapshot!(shown([
        rpc(
            "message/send",
            json!({"message": message("x"), "configuration": configuration, "metadata": {"n": 3}})
        ),
        rpc("message/stream", json!({"message": message("x")})),
        rpc("tasks/get", json!({"id": "t", "historyLength": 2, "metadata": {}})),
        rpc("tasks/cancel", json!({"id": "t", "metadata": {"why": "so"}})),
        rpc("tasks/resubscribe", json!({"id": "t"})),
        rpc("tasks/list", json!({"contextId": "c", "status": "input-required", "pageSize": 5})),
        rpc("tasks/pushNotificationConfig/set", json!({"taskId": "t", "pushNotificationConfig": config})),
        rpc(
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "t", "pushNotificationConfig": {"url": "u"}})
        ),
        rpc("tasks/pushNotificationConfig/get", json!({"id": "t"})),
        rpc("tasks/pushNotificationConfig/get", json!({"id": "t", "pushNotificationConfigId": "c"})),
        rpc("tasks/pushNotificationConfig/list", json!({"id": "t"})),
        rpc("tasks/pushNotificationConfig/delete", json!({"id": "t", "pushNotificationConfigId": "c"})),
        rpc("agent/getAuthenticatedExtendedCard", json!({})),
    ]));
}

#[test]
fn every_path_of_rest() {
    let send = r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]},
        "configuration":{"blocking":true,"historyLength":3,"pushNotification":{"url":"https://example.com/hook"}}}"#;
    let python = r#"{"parent":"tasks/t","configId":"c","config":{"name":"tasks/t/pushNotificationConfigs/c",
        "pushNotificationConfig":{"id":"c","url":"https://example.com/hook"}}}"#;
    let python_without_id = r#"{"parent":"tasks/t","config":{"name":"tasks/t/pushNotificationConfigs/None",
        "pushNotificationConfig":{"url":"https://example.com/hook"}}}"#;
    let kit = r#"{"parent":"tasks/t","config_id":"c","config":{"name":"tasks/t/pushNotificationConfigs/c",
        "push_notification_config":{"id":"c","url":"https://example.com/hook","token":"","authentication":{}}}}"#;
    let javascript = r#"{"name":"tasks/t/pushNotificationConfigs/c",
        "pushNotificationConfig":{"id":"c","url":"https://example.com/hook","token":"t"}}"#;
    let configs = "/v1/tasks/t/pushNotificationConfigs";
    insta::assert_snapshot!(shown([
        rest(Method::POST, "/v1/message:send", send),
        rest(Method::POST, "/v1/message:stream", send),
        rest(Method::GET, "/v1/tasks/t?history_length=2", ""),
        rest(Method::GET, "/v1/tasks/t?historyLength=0", ""),
        rest(Method::GET, "/v1/tasks?status=TASK_STATE_CANCELLED&page_size=7", ""),
        rest(Method::POST, "/v1/tasks/t:cancel", r#"{"name":"tasks/t"}"#),
        rest(Method::POST, "/v1/tasks/t:cancel", ""),
        rest(Method::GET, "/v1/tasks/t:subscribe", ""),
        rest(Method::POST, "/v1/tasks/t:subscribe", ""),
        rest(Method::POST, configs, python),
        rest(Method::POST, configs, python_without_id),
        rest(Method::POST, configs, kit),
        rest(Method::POST, configs, javascript),
        rest(Method::GET, &format!("{configs}/c%2F1"), ""),
        rest(Method::GET, configs, ""),
        rest(Method::DELETE, &format!("{configs}/c"), ""),
        rest(Method::GET, "/v1/card", ""),
    ]));
}

/// Whether a send waits.
fn blocks(call: &Call) -> bool {
    match call {
        Call::SendMessage(request) => !request.configuration.return_immediately,
        other => panic!("{other:?}"),
    }
}

/// Report 6: nothing said waits over JSON-RPC, where absence can be told, and does not over REST, where it cannot.
#[test]
fn an_absent_blocking_is_what_the_binding_says() {
    for (configuration, over_rpc, over_rest) in [
        (json!(null), true, false),
        (json!({}), true, false),
        (json!({"blocking": null}), true, false),
        (json!({"blocking": true}), true, true),
        (json!({"blocking": false}), false, false),
    ] {
        let params = json!({"message": message("x"), "configuration": configuration});
        assert_eq!(blocks(&rpc("message/send", params.clone())), over_rpc, "{configuration}");
        let by_rest = rest(Method::POST, "v1/message:send", &params.to_string());
        assert_eq!(blocks(&by_rest), over_rest, "{configuration}");
    }
}

fn contents(call: Call) -> Vec<Content> {
    match call {
        Call::SendMessage(request) => request.message.parts.into_iter().map(|part| part.content).collect(),
        other => panic!("{other:?}"),
    }
}

/// Base64 is handed on as it came; the kit writes both members of a file; data is nested in REST only, and only where
/// the part has no kind.
#[test]
fn files_and_data() {
    let over_rpc = |part: serde_json::Value| {
        contents(rpc("message/send", json!({"message": {"messageId": "m", "role": "user", "parts": [part]}})))
    };
    let over_rest = |part: serde_json::Value| {
        let body = json!({"message": {"message_id": "m", "role": "ROLE_USER", "content": [part]}});
        contents(rest(Method::POST, "v1/message:send", &body.to_string()))
    };
    let raw = |contents: Vec<Content>| match &contents[..] {
        [Content::Raw(base64)] => base64.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    let data = |contents: Vec<Content>| match &contents[..] {
        [Content::Data(json)] => json.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(raw(over_rpc(json!({"kind": "file", "file": {"bytes": "YUdrPQ=="}}))), "YUdrPQ==");
    assert_eq!(raw(over_rest(json!({"file": {"fileWithBytes": "YUdrPQ=="}}))), "YUdrPQ==");
    assert_eq!(raw(over_rest(json!({"file": {"file_with_bytes": "aGk=", "file_with_uri": ""}}))), "aGk=");
    assert_eq!(data(over_rpc(json!({"kind": "data", "data": {"data": {"a": 1}}}))), r#"{"data":{"a":1}}"#);
    assert_eq!(data(over_rest(json!({"data": {"data": {"a": 1}}}))), r#"{"a":1}"#);
    assert_eq!(data(over_rest(json!({"kind": "data", "data": {"data": {"a": 1}}}))), r#"{"data":{"a":1}}"#);
    assert_eq!(data(over_rest(json!({"data": {}}))), "{}");
    let marked = json!({"kind": "data", "data": {"value": [3, 3.5]}, "metadata": {"data_part_compat": true}});
    assert_eq!(data(over_rpc(marked)), "[3,3.5]");
    let unmarked = json!({"kind": "data", "data": {"value": [3]}, "metadata": {"data_part_compat": false}});
    assert_eq!(data(over_rpc(unmarked)), r#"{"value":[3]}"#);
}

#[test]
fn both_spellings_of_a_role() {
    for role in ["user", "ROLE_USER"] {
        let params =
            json!({"message": {"messageId": "m", "role": role, "parts": [{"kind": "text", "text": "x"}]}});
        for call in
            [rpc("message/send", params.clone()), rest(Method::POST, "v1/message:send", &params.to_string())]
        {
            let Call::SendMessage(request) = call else { panic!("{call:?}") };
            assert_eq!(request.message.role, Role::User);
        }
    }
}
