//! Every limit at its edge.

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use bytes::Bytes;
use serde_json::json;

use crate::harness::{Door, TestNode, User, message};

/// A send whose body has exactly so many bytes.
fn send_of(user: &User, bytes: usize) -> Bytes {
    let body = |text: &str| match user.door {
        Door::Rest => {
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}}).to_string()
        }
        Door::Rpc | Door::Grpc => json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}}})
        .to_string(),
    };
    let body = body(&"x".repeat(bytes - body("").len()));
    assert_eq!(body.len(), bytes);
    body.into()
}

/// Report 25.
#[tokio::test]
async fn a_body_may_have_ten_mebibytes_and_no_byte_more() {
    const MOST: usize = 10 * 1024 * 1024;
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let below = if user.door == Door::Rest { "/message:send" } else { "" };
        let answer = user.ask(user.raw("POST", below, send_of(&user, MOST))).await;
        assert_eq!(answer.ok()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        let answer = user.ask(user.raw("POST", below, send_of(&user, MOST + 1))).await;
        answer.refused(Kind::TooLarge);
        let listed = user.list(json!({"historyLength": 0})).await;
        assert_eq!(listed["totalSize"], user.door as u64 + 1);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_message_may_have_256_parts() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        for (parts, good) in [(256, true), (257, false), (0, false)] {
            let mut said = message("x");
            said["parts"] = vec![json!({"text": "x"}); parts].into();
            let answer = user.try_send(said).await;
            if good {
                assert_eq!(answer.ok()["task"]["artifacts"][0]["parts"].as_array().unwrap().len(), parts);
            } else {
                assert_eq!(answer.invalid(), "message.parts");
            }
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn ids_have_their_lengths() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        for (context, good) in [
            ("c".repeat(128), true),
            ("c".repeat(129), false),
            ("ü".repeat(64), true),
            ("ü".repeat(65), false),
            ("a\0b".into(), false),
            ("a\nb".into(), false),
        ] {
            let mut said = message("x");
            said["contextId"] = context.as_str().into();
            let answer = user.try_send(said).await;
            if good {
                assert_eq!(answer.ok()["task"]["contextId"], context);
            } else {
                assert_eq!(answer.invalid(), "message.contextId");
            }
        }
        for (id, good) in [("m".repeat(1024), true), ("m".repeat(1025), false), (String::new(), false)] {
            let mut said = message("x");
            said["messageId"] = id.as_str().into();
            let answer = user.try_send(said).await;
            if good {
                assert_eq!(answer.ok()["task"]["history"][0]["messageId"], id);
            } else {
                assert_eq!(answer.invalid(), "message.messageId");
            }
        }
        let mut said = message("x");
        said["role"] = "ROLE_AGENT".into();
        assert_eq!(user.try_send(said).await.invalid(), "message.role");
    }
    node.finish().await;
}

/// A stream over the limit is refused before its message is taken.
#[tokio::test]
async fn streams_are_counted_by_grant() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.limits.streams_per_grant = 3;
    })
    .await;
    let (holder, other) = (node.holder("script").await, node.holder("script").await);
    for user in holder.doors() {
        let id = user.hand_in("x").await;
        let attempt = node.attempt("script").await;
        let mut open = vec![user.stream("y").await];
        let second = node.attempt("script").await;
        open.push(user.subscribe(&id).await);
        open.push(user.over(Door::Rpc).subscribe(&id).await);
        let before = user.list(json!({})).await["totalSize"].clone();
        user.subscribe_in_vain(&id).await.refused(Kind::RateLimited);
        let more = user.open(Operation::SendStreamingMessage, json!({"message": message("z")})).await;
        more.unwrap_err().refused(Kind::RateLimited);
        assert_eq!(user.list(json!({})).await["totalSize"], before, "nothing was taken");
        assert!(node.is_idle("script"));
        drop(other.over(user.door).stream("theirs").await);
        node.attempt("script").await.complete().await;

        // A place is free again when a stream is over, however it ends, and is not lost by a refusal.
        open.pop();
        crate::harness::until("the place is free", async || {
            user.open(Operation::SubscribeToTask, json!({"id": id}))
                .await
                .map(|stream| open.push(stream))
                .is_ok()
        })
        .await;
        attempt.complete().await;
        second.complete().await;
        for stream in open {
            stream.lines().await;
        }
        for _ in 0..5 {
            user.subscribe_in_vain(&id).await.refused(Kind::UnsupportedOperation);
        }
    }
    node.finish().await;
}

/// A page of tasks shows at most a thousand messages of each.
#[tokio::test]
async fn history_returned_has_a_limit() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let id = user.hand_in("go").await;
    let attempt = node.attempt("script").await;
    for _ in 0..11 {
        let facts = (0..100)
            .map(|_| {
                let words = baton_core::model::Message::text(baton_core::model::Role::Agent, "", "x");
                baton::runner::Fact::Progress(words)
            })
            .collect();
        attempt.report(facts).await.unwrap();
    }
    for user in user.doors() {
        assert_eq!(user.get(&id).await["history"].as_array().unwrap().len(), 1000);
    }
    attempt.complete().await;
    node.finish().await;
}

/// A client that writes all of its body before it reads hears why, not that its connection broke.
#[tokio::test]
async fn a_body_over_the_limit_is_answered_whoever_listens() {
    use std::io::{Read as _, Write as _};
    let node = TestNode::start().await;
    let at = node.url().trim_start_matches("http://").to_owned();
    let send = move |size: usize, chunked: bool| {
        let mut stream = std::net::TcpStream::connect(&at).unwrap();
        stream.set_read_timeout(Some(crate::harness::PATIENCE)).unwrap();
        let length =
            if chunked { "transfer-encoding: chunked".into() } else { format!("content-length: {size}") };
        let head = format!(
            "POST /a2a/echo/message:send HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\n{length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        if chunked {
            stream.write_all(format!("{size:x}\r\n").as_bytes()).unwrap();
        }
        stream.write_all(&vec![b' '; size]).unwrap();
        if chunked {
            stream.write_all(b"\r\n0\r\n\r\n").unwrap();
        }
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..read]).into_owned()
    };
    for (size, chunked) in [(11, false), (40, false), (11, true), (40, true)] {
        let send = send.clone();
        let answer = tokio::task::spawn_blocking(move || send(size * 1024 * 1024, chunked)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{size} {chunked}: {answer}");
        assert!(answer.contains("\"TOO_LARGE\""), "{answer}");
    }
    node.finish().await;
}

/// A request that is refused before its body has come is answered, and the connection is good for the next one.
#[tokio::test]
async fn what_nobody_reads_breaks_no_connection() {
    use std::io::{Read as _, Write as _};
    let node = TestNode::closed().await;
    let at = node.url().trim_start_matches("http://").to_owned();
    let refused = move |line: &str, size: usize| {
        let mut stream = std::net::TcpStream::connect(&at).unwrap();
        stream.set_read_timeout(Some(crate::harness::PATIENCE)).unwrap();
        let mut said = Vec::new();
        for (line, size) in [(line, size), ("GET /healthz", 0)] {
            let head = format!(
                "{line} HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\n\
                authorization: Bearer bt_wrong\r\ncontent-length: {size}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            // More than the sockets hold: the node knows what it will say long before all of it is written.
            stream.write_all(&vec![b' '; size]).unwrap();
            let mut answer = vec![0; 4_096];
            let read = stream.read(&mut answer).unwrap();
            said.push(String::from_utf8_lossy(&answer[..read]).chars().skip(9).take(3).collect::<String>());
        }
        said
    };
    for (line, status) in [
        ("POST /a2a/echo", "401"),
        ("POST /a2a/echo/message:send", "401"),
        ("POST /console/control/freeze", "403"),
        ("PUT /healthz", "405"),
        ("POST /nowhere", "404"),
        ("POST /api/v1/grants", "403"),
    ] {
        for size in [2, 24 * 1024 * 1024] {
            let refused = refused.clone();
            let said = tokio::task::spawn_blocking(move || refused(line, size)).await.unwrap();
            assert_eq!(said, [status, "200"], "{line} {size}");
        }
    }
    node.finish().await;
}
