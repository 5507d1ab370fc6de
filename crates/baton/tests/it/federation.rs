//! The A2A client against servers that are not ours.

use std::time::Duration;

use baton::federation::{Client, Error, Limits, Options, Token};
use baton_core::model::{Message, Role, StreamResponse};
use baton_wire::client::Binding;
use baton_wire::request::SendMessageRequest;
use baton_wire::response::SendMessageResponse;
use http::Response;
use serde_json::{Value, json};

use crate::script::{self, Server, card, nothing, ok, piece, result, sse, status_update, task};

const JSONRPC: &[(&str, &str)] = &[("JSONRPC", "1.0")];

fn hello() -> SendMessageRequest {
    SendMessageRequest { message: Message::text(Role::User, "m1", "hello"), ..SendMessageRequest::default() }
}

async fn connect(url: &str) -> Result<Client, Error> {
    Client::connect(url, &Options::default()).await
}

/// A server whose only card is at `path`.
async fn with_card(path: &'static str, make: fn(&str) -> Value) -> Server {
    Server::start(
        move |url, asked, _| {
            if asked.line == format!("GET {path}") { ok(&make(url)) } else { nothing() }
        },
    )
    .await
}

#[tokio::test]
async fn cards_are_found_below_at_and_above_what_is_named() {
    let at = |url: &str| card(&format!("{url}/a2a/x"), JSONRPC, true);
    for (path, named) in [
        ("/a2a/x/.well-known/agent-card.json", "/a2a/x"),
        ("/a2a/x/.well-known/agent-card.json", "/a2a/x/"),
        ("/a2a/x/.well-known/agent.json", "/a2a/x"),
        ("/.well-known/agent-card.json", ""),
        ("/.well-known/agent-card.json", "/.well-known/agent-card.json"),
        ("/.well-known/agent.json", "/"),
        ("/cards/x", "/cards/x"),
        ("/.well-known/agent-card.json", "/a2a/x"),
        ("/.well-known/agent.json", "/a2a"),
    ] {
        let server = with_card(path, at).await;
        let client = connect(&format!("{}{named}", server.url)).await;
        assert_eq!(client.expect(named).card().name, "scripted", "{named} by {path}");
    }
}

#[tokio::test]
async fn the_card_of_the_origin_is_not_taken_for_another_agent() {
    let server =
        with_card("/.well-known/agent-card.json", |url| card(&format!("{url}/a2a/x"), JSONRPC, true)).await;
    let why = connect(&format!("{}/a2a/y", server.url)).await.unwrap_err();
    assert!(matches!(&why, Error::Refused { error, .. } if error.http_status == 404), "{why}");
}

#[tokio::test]
async fn the_first_interface_that_is_spoken_is_used() {
    let choose = async |make: fn(&str) -> Value| {
        let server = with_card("/.well-known/agent-card.json", make).await;
        connect(&server.url).await.map(|client| client.interface().binding).map_err(|why| why.to_string())
    };
    let both =
        choose(|url| card(url, &[("GRPC", "1.0"), ("HTTP+JSON", "1.0.1"), ("JSONRPC", "1.0")], true)).await;
    assert_eq!(both, Ok(Binding::Rest));
    let old_and_new = choose(|url| card(url, &[("JSONRPC", "0.3"), ("JSONRPC", "1.0")], true)).await;
    assert_eq!(old_and_new, Ok(Binding::JsonRpc));
    let grpc = choose(|url| card(url, &[("GRPC", "1.0")], true)).await.unwrap_err();
    assert!(grpc.contains("GRPC 1.0") && grpc.contains("HTTP+JSON"), "{grpc}");
    let old = choose(|url| json!({"name": "old", "url": url, "protocolVersion": "0.3.0"})).await.unwrap_err();
    assert!(old.contains("A2A 0.3 only"), "{old}");
}

#[tokio::test]
async fn a_tenant_is_said_in_either_binding() {
    for (binding, line) in [("JSONRPC", "POST /a SendMessage"), ("HTTP+JSON", "POST /a/t%2F1/message:send")] {
        let server = Server::start(move |url, asked, _| {
            if asked.line.starts_with("GET") {
                let mut card = card(&format!("{url}/a"), &[(binding, "1.0")], false);
                card["supportedInterfaces"][0]["tenant"] = json!("t/1");
                return ok(&card);
            }
            let answer = task("COMPLETED", &json!([]));
            if binding == "JSONRPC" { result(asked, &answer) } else { ok(&answer) }
        })
        .await;
        let answer = connect(&server.url).await.unwrap().send(hello()).await.unwrap();
        assert!(matches!(answer, SendMessageResponse::Task(task) if task.id == "t1"));
        let asked = server.asked_for("POST");
        assert_eq!(asked[0].line, line);
        assert_eq!(asked[0].header("a2a-version"), Some("1.0"));
        let tenant = asked[0].json()["params"]["tenant"].clone();
        assert_eq!(tenant, if binding == "JSONRPC" { json!("t/1") } else { Value::Null });
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::start(|_, asked, _| {
        let elsewhere = Response::builder().status(307).header("location", "http://elsewhere.example/");
        if asked.line == "GET /elsewhere" {
            nothing()
        } else {
            elsewhere.body(axum::body::Body::empty()).unwrap()
        }
    })
    .await;
    let why = connect(&server.url).await.unwrap_err();
    assert!(why.to_string().contains("redirects to http://elsewhere.example/"), "{why}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_token_stays_at_the_origin_it_was_given_for() {
    let other = Server::start(|_, asked, _| result(asked, &task("COMPLETED", &json!([])))).await;
    let elsewhere = other.url.clone();
    let first = Server::start(move |url, asked, _| match asked.line.as_str() {
        "GET /away/.well-known/agent-card.json" => ok(&card(&elsewhere, JSONRPC, false)),
        "GET /home/.well-known/agent-card.json" => {
            ok(&card(&url.replace("127.0.0.1", "localhost"), JSONRPC, false))
        }
        _ => result(asked, &task("COMPLETED", &json!([]))),
    })
    .await;
    let options = Options { token: Some(Token::parse("s3cret\n").unwrap()), ..Options::default() };
    assert!(!format!("{options:?}").contains("s3cret"));
    for (path, withheld) in [("away", true), ("home", false)] {
        let client = Client::connect(&format!("{}/{path}", first.url), &options).await.unwrap();
        assert_eq!(client.withholds_token(), withheld);
        client.send(hello()).await.unwrap();
    }
    assert!(first.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer s3cret")));
    assert_eq!(first.asked_for("POST").len(), 1);
    assert!(other.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn streams_are_read_as_the_standard_says() {
    let server = Server::start(|url, asked, _| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, &[("HTTP+JSON", "1.0")], true));
        }
        let text = json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact":
            {"artifactId": "a", "parts": [{"text": "grün"}]}}})
        .to_string();
        let (first, second) = text.split_at(text.find(",\"contextId\"").unwrap_or(20) + 1);
        let whole = format!("\u{feff}: hello\r\nretry: 50\r\nid: 7\r\ndata: {first}\r\ndata: {second}\r\n\r\n: and\r\rdata: {}\r\r", status_update("COMPLETED"));
        // Every byte by itself, so that every line end and every letter is cut.
        sse(whole.bytes().map(|byte| vec![byte]).collect(), false)
    })
    .await;
    let mut events = connect(&server.url).await.unwrap().stream(hello()).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.id.as_deref(), Some("7"));
    let StreamResponse::ArtifactUpdate(update) = first.response else { panic!("{first:?}") };
    assert_eq!(update.artifact.parts[0].as_text(), Some("grün"));
    assert!(matches!(events.next().await.unwrap().unwrap().response, StreamResponse::StatusUpdate(_)));
    assert_eq!(events.next().await.unwrap(), None);
    assert_eq!(events.retry(), Some(Duration::from_millis(50)));
}

#[tokio::test]
async fn what_is_too_large_or_too_slow_is_given_up_with_a_reason() {
    let server = Server::start(|url, asked, _| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, JSONRPC, true));
        }
        if asked.line.ends_with("SendStreamingMessage") {
            return sse(script::events(&[(None, piece(&"x".repeat(5_000), false))]), false);
        }
        result(asked, &task("COMPLETED", &json!([script::artifact(&"x".repeat(5_000))])))
    })
    .await;
    let limits = Limits { answer: 4_096, event: 4_096, ..Limits::default() };
    let client = Client::connect(&server.url, &Options { limits, ..Options::default() }).await.unwrap();
    let why = client.send(hello()).await.unwrap_err();
    assert!(why.to_string().contains("larger than 4096 bytes"), "{why}");
    let why = client.stream(hello()).await.unwrap().next().await.unwrap_err();
    assert!(why.to_string().contains("larger than 4096 bytes"), "{why}");
}

#[tokio::test]
async fn silence_counts_as_a_broken_stream() {
    let server = Server::start(|url, asked, _| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, JSONRPC, true));
        }
        let body =
            axum::body::Body::from_stream(futures_util::stream::pending::<std::io::Result<bytes::Bytes>>());
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    })
    .await;
    let limits = Limits { silence: Duration::from_millis(50), ..Limits::default() };
    let client = Client::connect(&server.url, &Options { limits, ..Options::default() }).await.unwrap();
    let why = client.stream(hello()).await.unwrap().next().await.unwrap_err();
    assert!(why.is_transient() && why.to_string().contains("silent"), "{why}");
}

#[tokio::test]
async fn one_answer_in_place_of_a_stream_is_a_short_stream() {
    let server = Server::start(|url, asked, _| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, JSONRPC, true));
        }
        result(asked, &task("COMPLETED", &json!([])))
    })
    .await;
    let mut events = connect(&server.url).await.unwrap().stream(hello()).await.unwrap();
    assert!(matches!(events.next().await.unwrap().unwrap().response, StreamResponse::Task(_)));
    assert_eq!(events.next().await.unwrap(), None);
}

#[tokio::test]
async fn behind_a_unix_socket_everything_is_at_that_socket() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a2a.sock");
    let server = Server::start_unix(&path, |url, asked, _| match asked.line.as_str() {
        "GET /a2a/x/.well-known/agent-card.json" => ok(&card(&format!("{url}/a2a/x"), JSONRPC, false)),
        "POST /a2a/x SendMessage" => result(asked, &task("COMPLETED", &json!([]))),
        _ => nothing(),
    });
    let client = connect(&format!("unix://{}:/a2a/x", path.display())).await.unwrap();
    client.send(hello()).await.unwrap();
    assert_eq!(server.asked_for("POST").len(), 1);
}
