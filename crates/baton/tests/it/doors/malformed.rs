//! What is no request: the fault's JSON, nothing stored, nothing secret logged.

use baton_wire::fault::Kind;
use serde_json::json;

use crate::harness::{Door, TestNode, User, logs};

/// A body in place of a message, wrapped as the binding has it; `%` stands for the whole SendMessage request.
async fn send_raw(user: &User, params: &[u8]) -> crate::harness::Answer {
    let (below, mut body) = match user.door {
        Door::Rest => ("/message:send", Vec::new()),
        Door::Rpc | Door::Grpc => {
            ("", br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":"#.to_vec())
        }
    };
    body.extend_from_slice(params);
    if user.door == Door::Rpc {
        body.push(b'}');
    }
    user.ask(user.raw("POST", below, body)).await
}

fn with_text(text: &str) -> Vec<u8> {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":{text}}}]}}}}"#)
        .into_bytes()
}

fn with_data(data: &str) -> Vec<u8> {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{data}}}]}}}}"#)
        .into_bytes()
}

#[tokio::test]
async fn what_cannot_be_read_is_a_parse_error() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let mut not_utf8 = with_text("\"x\"");
        not_utf8.insert(65, 0xff);
        let bodies = [
            b"{".to_vec(),
            b"{\"message\":".to_vec(),
            b"nonsense".to_vec(),
            b"{'message':{}}".to_vec(),
            b"{\"a\":1,}".to_vec(),
            b"\0\0\0\0".to_vec(),
            not_utf8,
            with_data(&deep(101)),
            "[".repeat(1_000_000).into_bytes(),
            with_text("\"a\nb\""),
            with_data("01"),
            with_data("NaN"),
        ];
        for body in bodies {
            let start = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let answer = send_raw(&user, &body).await;
            answer.refused(Kind::Parse);
            assert!(answer.body.len() < 2_000, "{start}");
        }
        let blank =
            user.ask(user.raw("POST", if user.door == Door::Rest { "/message:send" } else { "" }, " ")).await;
        blank.refused(Kind::Parse);
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

#[tokio::test]
async fn what_is_json_and_no_request_names_the_field() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let message = |members: &str| format!(r#"{{"message":{{{members}}}}}"#).into_bytes();
        let cases: [(Vec<u8>, &str); 16] = [
            (b"{}".to_vec(), "message"),
            (b"{\"message\":null}".to_vec(), "message"),
            (b"{\"message\":[]}".to_vec(), "message"),
            (b"{\"message\":\"x\"}".to_vec(), "message"),
            (message(r#""role":"ROLE_USER","parts":[{"text":"x"}]"#), "message.messageId"),
            (message(r#""messageId":"m","parts":[{"text":"x"}]"#), "message.role"),
            (message(r#""messageId":"m","role":"ROLE_KING","parts":[{"text":"x"}]"#), "message.role"),
            (message(r#""messageId":7,"role":"ROLE_USER","parts":[{"text":"x"}]"#), "message.messageId"),
            (message(r#""messageId":"m","role":"ROLE_USER","parts":[{}]"#), "message.parts[0]"),
            (
                message(r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x","url":"y"}]"#),
                "message.parts[0]",
            ),
            (
                message(r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"%%"}]"#),
                "message.parts[1].raw",
            ),
            (
                message(r#""messageId":"m","messageId":"n","role":"ROLE_USER","parts":[{"text":"x"}]"#),
                "message.messageId",
            ),
            (
                message(r#""messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"x"}]"#),
                "message.messageId",
            ),
            (
                message(r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":[]"#),
                "message.metadata",
            ),
            (with_text(r#""\ud83d""#), "message.parts[0].text"),
            (with_data(r#"["\udc00"]"#), "message.parts[0].data"),
        ];
        for (body, field) in cases {
            let answer = send_raw(&user, &body).await;
            let found = answer.invalid();
            assert_eq!(found, field, "{}", String::from_utf8_lossy(&body));
        }
        let wrong =
            json!({"message": crate::harness::message("x"), "configuration": {"historyLength": "ten"}});
        assert_eq!(
            send_raw(&user, wrong.to_string().as_bytes()).await.invalid(),
            "configuration.historyLength"
        );
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

#[tokio::test]
async fn odd_but_valid_content_comes_back_as_it_was() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        for data in [
            "1e400",
            "-0",
            "9007199254740993",
            "123456789012345678901234567890",
            "0.1000000000000000055",
            r#""\u0000""#,
            r#"["\ud83d\ude00"]"#,
            "null",
        ] {
            let answer = send_raw(&user, &with_data(data)).await;
            assert!(answer.text().contains(&format!(r#""data":{data}"#)), "{data}: {}", answer.text());
        }
        let deep = "[".repeat(90) + &"]".repeat(90);
        send_raw(&user, &with_data(&deep)).await.ok();
        let nul = send_raw(&user, &with_text(r#""a\u0000b""#)).await.ok();
        assert_eq!(nul["task"]["artifacts"][0]["parts"][0]["text"], "a\0b");
        let id = nul["task"]["id"].as_str().unwrap();
        assert_eq!(user.get(id).await, nul["task"]);
    }
    node.finish().await;
}

#[tokio::test]
async fn what_is_no_json_rpc_is_an_invalid_request() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    for (body, kind) in [
        ("[]", Kind::InvalidRequest),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]"#, Kind::InvalidRequest),
        ("1", Kind::InvalidRequest),
        ("{}", Kind::InvalidRequest),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ListTasks"}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ListTasks"}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ListTasks"}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}"#, Kind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":[]}"#, Kind::InvalidParams),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Nonsense"}"#, Kind::MethodNotFound),
    ] {
        let answer = user.ask(user.raw("POST", "", body)).await;
        answer.refused(kind);
    }
    node.finish().await;
}

#[tokio::test]
async fn nothing_secret_is_logged() {
    let node = TestNode::closed().await;
    let holder = node.holder("script").await;
    let word = "xyzzy-in-a-message";
    for user in holder.json_doors() {
        user.to("echo").send(word).await;
        let (answer, attempt) = tokio::join!(user.try_send(crate::harness::message(word)), async {
            let attempt = node.attempt("script").await;
            attempt.progress(word).await;
            attempt.write("out", word).await;
            attempt.ask(word).await;
            attempt
        });
        answer.ok();
        attempt.fail(word).await;
        send_raw(&user, format!(r#"{{"message":{{"messageId":"{word}""#).as_bytes())
            .await
            .refused(Kind::Parse);
        send_raw(&user, format!(r#"{{"message":{{"role":"{word}"}}}}"#).as_bytes()).await.invalid();
        let wrong = format!("Bearer bt_{}", "secret-xyzzy".repeat(4));
        User::new(node.url(), "echo", None)
            .with("authorization", &wrong)
            .try_send(crate::harness::message(word))
            .await;
    }
    let token = holder.token().to_owned();
    node.finish().await;
    let logged = logs::logged();
    assert!(logged.contains("draining"), "something is logged");
    for secret in [word, &token, "secret-xyzzy"] {
        let line = logged.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} is logged: {line:?}");
    }
}
