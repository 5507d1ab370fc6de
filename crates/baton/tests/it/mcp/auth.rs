//! Who is let in, whose a session is, and what ends it.

use std::time::Duration;

use baton_store::Verb;
use baton_wire::fault::Kind;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::{Client, Ear, REVISION, only};
use crate::harness::{Answer, Door, TestNode, User, request};
use crate::work::clerk;

/// A closed node with the agent `clerk`.
async fn closed() -> TestNode {
    TestNode::with(|settings| {
        clerk(settings);
        settings.node.dev = false;
    })
    .await
}

async fn change(node: &TestNode, grant: &str, what: &str) {
    node.operator("POST", &format!("/api/v1/grants/{grant}/{what}"), None).await.json();
}

/// Ways to come without anything that opens.
#[tokio::test]
async fn nobody_is_told_where_to_ask() {
    let node = closed().await;
    let stranger = User::new(node.url(), "clerk", None);
    let wrong = User::new(node.url(), "clerk", Some("bt_nothing"));
    for (user, error) in [(&stranger, false), (&wrong, true)] {
        let client = Client::without_session(user);
        let get = client.user.ask(client.request("GET", String::new(), None)).await;
        for answer in [client.initialize(REVISION, json!({})).await, get] {
            assert_eq!(answer.status, 401, "{answer:?}");
            let how = answer.header("www-authenticate").unwrap();
            assert!(how.starts_with("Bearer realm=\"baton\""), "{how}");
            assert_eq!(how.contains("error=\"invalid_token\""), error, "{how}");
            let at =
                how.split("resource_metadata=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            assert!(at.ends_with("/.well-known/oauth-protected-resource/mcp"), "{how}");
            let found = user.bare().ask(request("GET", at, &[], "")).await;
            assert_eq!(found.status, 200, "{found:?}");
            assert!(found.json()["resource"].as_str().unwrap().ends_with("/mcp"), "{found:?}");
        }
    }
    node.finish().await;
}

/// A session answers to whom it belongs; to all others it is none.
#[tokio::test]
async fn a_session_of_somebody_else_is_none() {
    let node = closed().await;
    let (_, ada) = node.grant(&["clerk"], &Verb::ALL).await;
    let (_, bob) = node.grant(&["clerk"], &Verb::ALL).await;
    let mine = Client::new(&ada).await;
    let id = mine.session.clone().unwrap();
    let theirs = Client { session: Some(id.clone()), ..Client::without_session(&bob) };
    let none = Client { session: Some(id.replace(|_: char| true, "a")), ..Client::without_session(&bob) };
    let (theirs, none) = tokio::join!(every_way(&theirs), every_way(&none));
    for (theirs, none) in theirs.into_iter().zip(none) {
        assert_eq!((theirs.status, none.status), (404, 404), "{theirs:?}");
        assert_eq!(
            (theirs.text(), &theirs.headers["content-length"]),
            (none.text(), &none.headers["content-length"])
        );
    }
    // Nothing of it has touched the session.
    assert!(mine.tools().await.contains(&"claim".to_owned()));
    assert_eq!(mine.end().await, 204);
    assert_eq!(mine.try_ask("tools/list", "{}").await.status, 404);
    assert_eq!(mine.end().await, 404);
    node.finish().await;
}

async fn every_way(client: &Client) -> [Answer; 3] {
    let list = client.try_ask("tools/list", "{}").await;
    let get = client.user.ask(client.request("GET", String::new(), None)).await;
    [list, get, client.user.ask(client.request("DELETE", String::new(), None)).await]
}

/// What a grant is let in by ends, and with it its sessions, whatever they are about: at once.
#[tokio::test]
async fn a_session_ends_with_its_grant() {
    let node = closed().await;
    for how in ["revoke", "pause", "expire"] {
        let body = json!({"label": how, "agents": ["clerk"], "verbs": Verb::ALL, "expires": "1h"});
        let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
        let (grant, user) =
            (made["id"].as_str().unwrap(), User::new(node.url(), "clerk", made["token"].as_str()));
        let client = Client::new(&user).await;
        client.subscribe("baton://queues/clerk").await;
        let ear = client.listen().await;
        let (_, other) = node.grant(&["clerk"], &Verb::ALL).await;
        let other = Client::new(&other).await;
        let mut others = other.listen().await;
        let refused = match how {
            "revoke" => {
                node.revoke(grant).await;
                401
            }
            "pause" => {
                change(&node, grant, "pause").await;
                403
            }
            _ => {
                node.clock.advance(Duration::from_hours(1));
                401
            }
        };
        ear.ends().await;
        assert_eq!(client.try_ask("tools/list", "{}").await.status, refused, "{how}");
        if how == "pause" {
            // It is let in again, and begins anew.
            change(&node, grant, "resume").await;
            assert_eq!(client.try_ask("tools/list", "{}").await.status, 404);
            assert_eq!(Client::new(&user).await.end().await, 204);
        }
        // A session of somebody else goes on.
        other.subscribe("baton://queues/clerk").await;
        let owner = node.grant(&["clerk"], &[Verb::Send]).await.1;
        owner.hand_in("go").await;
        assert_eq!(others.rings().await, "baton://queues/clerk");
        assert_eq!(other.end().await, 204);
    }
    node.finish().await;
}

/// What it was let in by is over, and the grant is not: what is open ends, and the session goes on with what opens now.
#[tokio::test]
async fn a_session_outlives_a_token() {
    let node = closed().await;
    let (grant, old) = node.grant(&["clerk"], &Verb::ALL).await;
    let mut client = Client::new(&old).await;
    client.subscribe("baton://queues/clerk").await;
    let ear = client.listen().await;
    let path = format!("/api/v1/grants/{grant}/rotate");
    let rotated = node.operator("POST", &path, Some(&json!({"overlap": "0s"}))).await.json();
    ear.ends().await;
    assert_eq!(client.try_ask("tools/list", "{}").await.status, 401);
    client.user = User::new(node.url(), "clerk", rotated["token"].as_str()).over(Door::Rest);
    assert_eq!(client.tools().await.len(), 14);
    let mut ear = client.listen().await;
    client.user.hand_in("go").await;
    assert_eq!(ear.rings().await, "baton://queues/clerk");
    assert_eq!(client.end().await, 204);
    node.finish().await;
}

/// So many sessions of one grant, and not one more; calls without a session are none.
#[tokio::test]
async fn sessions_are_bounded() {
    let node = closed().await;
    let (_, user) = node.grant(&["clerk"], &Verb::ALL).await;
    let mut sessions = Vec::new();
    for _ in 0..256 {
        sessions.push(Client::new(&user).await);
    }
    let answer = Client::without_session(&user).initialize(REVISION, json!({})).await;
    let error = answer.refused(Kind::RateLimited);
    assert!(error["message"].as_str().unwrap().contains("sessions"), "{error}");
    assert!(stateless(&user, "tools/list").await["tools"].is_array());
    // Another grant has sessions of its own; and one that ends makes room.
    let (_, other) = node.grant(&["clerk"], &Verb::ALL).await;
    assert_eq!(Client::new(&other).await.end().await, 204);
    assert_eq!(sessions.pop().unwrap().end().await, 204);
    assert_eq!(Client::new(&user).await.end().await, 204);
    node.finish().await;
}

/// A call of the revision that has no sessions: its result.
async fn stateless(user: &User, method: &str) -> Value {
    let user = user.over(Door::Rest);
    let mut answer = only(&user.ask(stateless_request(&user, method, json!({}))).await);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}

/// The same where the answer is a stream.
pub async fn stateless_stream(user: &User, method: &str, params: Value) -> Ear {
    let user = user.over(Door::Rest);
    Ear::new(user.open_raw(stateless_request(&user, method, params)).await).unwrap()
}

fn stateless_request(user: &User, method: &str, mut params: Value) -> Request<Full<Bytes>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let client = Client::without_session(user);
    let mut request = client.request("POST", body.to_string(), Some("2026-07-28"));
    request.headers_mut().insert("mcp-method", method.parse().unwrap());
    request
}

/// Every revision that clients speak, and the nearest where one speaks another.
#[tokio::test]
async fn every_revision() {
    let node = closed().await;
    let (_, user) = node.grant(&["clerk"], &Verb::ALL).await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-12-31"] {
        let (client, said) = Client::begin(&user, revision, json!({})).await;
        let spoken = if revision == "1999-12-31" { REVISION } else { revision };
        assert_eq!(
            (&said["protocolVersion"], &said["serverInfo"]["name"]),
            (&json!(spoken), &json!("baton"))
        );
        assert!(said["capabilities"]["resources"]["subscribe"].as_bool().unwrap(), "{said}");
        assert_eq!(client.tools().await.len(), 14);
        client.listen().await;
        assert_eq!(client.end().await, 204);
    }
    let said = stateless(&user, "server/discover").await;
    assert!(said["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{said}");
    assert_eq!(stateless(&user, "tools/list").await["tools"].as_array().unwrap().len(), 14);
    let client = Client::new(&user).await;
    let odd = client.user.ask(client.request("GET", String::new(), Some("1999-12-31"))).await;
    assert_eq!(odd.status, 400, "{odd:?}");
    assert_eq!(client.end().await, 204);
    node.finish().await;
}

/// In dev mode whoever is on this machine is let in, but no page that its browser shows.
#[tokio::test]
async fn in_dev_mode_pages_are_kept_out() {
    let node = TestNode::with(clerk).await;
    let client = Client::new(&node.anyone("clerk")).await;
    let host = node.url().trim_start_matches("http://").to_owned();
    let port = host.rsplit(':').next().unwrap();
    for (name, value, status) in [
        ("origin", "https://evil.example".to_owned(), 403),
        ("origin", "http://127.0.0.1:3000".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        ("host", format!("evil.example:{port}"), 403),
        ("host", format!("localhost:{port}"), 200),
        ("origin", format!("http://{host}"), 200),
    ] {
        for method in ["POST", "GET", "OPTIONS", "DELETE"] {
            let delete = method == "DELETE" && status == 200;
            if delete {
                continue;
            }
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
            let body = if method == "POST" { body } else { "" };
            let mut request = client.request(method, body.to_owned(), Some(REVISION));
            request.headers_mut().insert(name, value.parse().unwrap());
            let response = client.user.open_raw(request).await;
            let wanted = if (method, status) == ("OPTIONS", 200) { 204 } else { status };
            assert_eq!(response.status(), wanted, "{method} {name}: {value}");
            let open = response.headers().get("access-control-allow-origin");
            assert_eq!(open.is_some(), status == 200 && name == "origin", "{method} {name}: {value}");
        }
    }
    assert_eq!(client.end().await, 204);
    node.finish().await;
}

/// Out of dev mode nothing but credentials opens, which no page of others has: pages that bring their own may read.
#[tokio::test]
async fn pages_with_credentials_of_their_own() {
    let node = closed().await;
    let (_, user) = node.grant(&["clerk"], &Verb::ALL).await;
    let page = ("origin", "https://inspector.example");
    let mut asked = request("OPTIONS", &user.at_origin("/mcp"), &[page], "");
    asked.headers_mut().insert("access-control-request-method", "POST".parse().unwrap());
    let first = user.bare().ask(asked).await;
    assert_eq!((first.status, first.header("access-control-allow-origin")), (204, Some("*")), "{first:?}");
    assert_eq!(first.header("access-control-allow-credentials"), None);
    let allowed = first.header("access-control-allow-headers").unwrap();
    for header in ["authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"]
    {
        assert!(allowed.split(", ").any(|name| name == header), "{allowed}");
    }
    for (user, status) in [(&user.bare(), 401), (&user, 200)] {
        let client = Client::without_session(user);
        let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "", "version": ""}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let mut request = client.request("POST", body.to_string(), None);
        request.headers_mut().insert(page.0, page.1.parse().unwrap());
        let answer = client.user.ask(request).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (status, Some("*")));
        let read = answer.header("access-control-expose-headers").unwrap();
        assert!(read.contains("mcp-session-id") && read.contains("www-authenticate"), "{read}");
    }
    node.finish().await;
}
