//! Answers of other servers, in all the forms they take.

use baton_core::model::{AgentCard, StreamResponse, TaskObject};
use baton_wire::client::{Binding, Failure, RemoteError, read_event, read_jsonrpc, read_rest};
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::response::{Empty, SendMessageResponse};

fn remote<T: std::fmt::Debug>(answer: Result<T, Failure>) -> RemoteError {
    match answer {
        Err(Failure::Remote(remote)) => *remote,
        other => panic!("{other:?}"),
    }
}

fn unreadable<T: std::fmt::Debug>(answer: Result<T, Failure>) -> String {
    match answer {
        Err(Failure::Unreadable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn our_own_faults_come_back_in_both_bindings() {
    for kind in Kind::ALL {
        let fault = Fault::new(kind).with_metadata("taskId", "7");
        let http = fault.http_status().as_u16();
        let by_rest = remote(read_rest::<TaskObject>(http, &fault.to_rest()));
        let http = fault.jsonrpc_http_status().as_u16();
        let by_rpc = remote(read_jsonrpc::<TaskObject>(http, &jsonrpc::error(&Id::NULL, &fault)));
        for error in [by_rest, by_rpc] {
            assert_eq!(error.kind, Some(kind));
            assert_eq!(error.message, kind.row().text);
            assert_eq!(error.metadata, [("taskId".to_owned(), "7".to_owned())]);
        }
    }
}

#[test]
fn violations_come_back() {
    let fault = Fault::from(baton_core::model::Violation::new("message.parts", "is required"));
    let error = remote(read_rest::<TaskObject>(400, &fault.to_rest()));
    assert_eq!(error.violations, fault.violations);
}

#[test]
fn errors_of_other_servers() {
    let rpc = |http, body: &str| remote(read_jsonrpc::<TaskObject>(http, body.as_bytes()));
    let rest = |http, body: &str| remote(read_rest::<TaskObject>(http, body.as_bytes()));
    let cases = [
        (
            rpc(200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"gone"}}"#),
            Some(Kind::TaskNotFound),
        ),
        (
            rpc(
                404,
                r#"{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32601,"message":"gone","data":"x"}}"#,
            ),
            Some(Kind::MethodNotFound),
        ),
        (
            rpc(200, r#"{"error":{"code":-32002,"message":"gone","data":{"a":[1]}}}"#),
            Some(Kind::TaskNotCancelable),
        ),
        (rpc(200, r#"{"error":{"code":-32055,"message":"gone","data":[null,{"@type":5},"x"]}}"#), None),
        (rpc(200, r#"{"error":"gone"}"#), None),
        (rpc(401, r#"{"message":"gone"}"#), Some(Kind::Unauthenticated)),
        (rpc(403, "gone"), Some(Kind::PermissionDenied)),
        (rest(503, "gone"), Some(Kind::Unavailable)),
        (rest(429, r#"{"detail":"gone"}"#), Some(Kind::RateLimited)),
        (rest(400, r#"{"type":"about:blank","title":"gone","status":400}"#), None),
        (rest(404, r#"{"code":-32001,"message":"gone"}"#), Some(Kind::TaskNotFound)),
        (
            rest(
                400,
                r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE"}]}}"#,
            ),
            Some(Kind::TaskNotCancelable),
        ),
    ];
    for (error, kind) in cases {
        assert_eq!((error.message.as_str(), error.kind), ("gone", kind), "{error:?}");
    }
    assert_eq!(rest(502, "").message, "HTTP status 502 without a body");
    assert!(rest(502, &"x".repeat(100_000)).message.len() < 300);
}

#[test]
fn lenient_answers() {
    let task = r#"{"id":"7","contextId":"c","status":{"state":3,"timestamp":"2025-01-01T00:00:00Z"},"extra":[1],"history":null}"#;
    let rpc = format!(r#"{{"jsonrpc":"2.0","id":1,"error":null,"result":{{"task":{task},"extra":1}}}}"#);
    assert!(matches!(read_jsonrpc(200, rpc.as_bytes()), Ok(SendMessageResponse::Task(_))));
    let event = read_event(Binding::JsonRpc, &rpc).unwrap();
    assert!(matches!(event, StreamResponse::Task(task) if task.status.state.is_terminal()));
    for body in ["", "{}", "null", " "] {
        assert_eq!(read_rest(200, body.as_bytes()), Ok(Empty {}));
    }
    for body in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"result":null}"#] {
        assert_eq!(read_jsonrpc(200, body.as_bytes()), Ok(Empty {}));
    }
    let card = r#"{"name":"n","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
    let card: AgentCard = read_rest(200, card.as_bytes()).unwrap();
    assert_eq!(Binding::from_name(&card.supported_interfaces[0].protocol_binding), Some(Binding::JsonRpc));
}

#[test]
fn what_cannot_be_read_says_where() {
    let state = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"7","status":{"state":"DONE"}}}}"#;
    let rest = |body: &str| unreadable(read_rest::<SendMessageResponse>(200, body.as_bytes()));
    insta::assert_snapshot!(
        [
            unreadable(read_jsonrpc::<SendMessageResponse>(200, state.as_bytes())),
            unreadable(read_jsonrpc::<SendMessageResponse>(200, b"<html>")),
            unreadable(read_jsonrpc::<SendMessageResponse>(200, b"{}")),
            unreadable(read_jsonrpc::<TaskObject>(200, br#"{"jsonrpc":"2.0","id":1,"result":null}"#)),
            unreadable(read_event(Binding::JsonRpc, "{}")),
            unreadable(read_event(Binding::Rest, "{}")),
            unreadable(read_event(Binding::Rest, "x")),
            rest("<html>"),
            rest(r#"{"kind":"task","id":"7"}"#),
            rest(r#"{"task":{"status":[]},"message":{"messageId":"m"}}"#),
        ]
        .join("\n")
    );
}

#[test]
fn an_error_event_is_the_other_sides_error() {
    let fault = Fault::new(Kind::Internal);
    let bare = String::from_utf8(fault.to_rest().to_vec()).unwrap();
    let wrapped = String::from_utf8(jsonrpc::error(&Id::NULL, &fault).to_vec()).unwrap();
    assert_eq!(remote(read_event(Binding::Rest, &bare)).kind, Some(Kind::Internal));
    assert_eq!(remote(read_event(Binding::JsonRpc, &wrapped)).kind, Some(Kind::Internal));
}
