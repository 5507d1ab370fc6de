//! The asking side against a node that lies: where secrets go, and what is believed.

use std::sync::{Arc, Mutex};

use axum::response::Response;
use baton::service::friends::code;
use baton_core::ident::AgentName;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::node;
use crate::harness::{Answer, TestNode};
use crate::script::{self, Asked, Server};

const SECRET: &str = "fr_of-another-kind";

/// What a lying node does otherwise than a good one.
#[derive(Clone, Debug, Default)]
struct Lies {
    /// Where its card sends requests.
    endpoint: Option<String>,
    /// The id and the code in its answer.
    id: Option<&'static str>,
    code: Option<&'static str>,
    /// How the request stands.
    state: &'static str,
    /// The token, and where the agents of the grant are.
    token: &'static str,
    agent: Option<String>,
    /// What its agent answers.
    refuses: bool,
    /// Nobody is there but a proxy, which says 404.
    away: bool,
    /// Where its agent's card sends calls, and which token is right then.
    calls: Option<String>,
}

type Told = Arc<Mutex<Lies>>;

async fn other(lies: Lies) -> (Server, Told) {
    let told = Arc::new(Mutex::new(lies));
    let known = Arc::clone(&told);
    let server = Server::start(move |url, asked, _| answer(&known.lock().unwrap(), url, asked)).await;
    (server, told)
}

fn answer(lies: &Lies, url: &str, asked: &Asked) -> Response {
    let path = asked.line.split(' ').nth(1).unwrap();
    let endpoint = lies.endpoint.clone().unwrap_or_else(|| format!("{url}/friend-requests"));
    match path {
        _ if lies.away => script::status(404, &json!("nothing here")),
        "/agent/.well-known/agent-card.json" if lies.calls.is_some() => {
            script::ok(&script::card(lies.calls.as_deref().unwrap(), &[("HTTP+JSON", "1.0")], false))
        }
        "/.well-known/agent-card.json" | "/agent/.well-known/agent-card.json" => {
            let mut card = script::card(&format!("{url}/agent"), &[("HTTP+JSON", "1.0")], false);
            card["capabilities"]["extensions"] = json!([{
                "uri": "urn:x-baton:friend-request:v1", "params": {"url": endpoint, "agent": "echo"},
            }]);
            script::ok(&card)
        }
        "/friend-requests" => {
            let sent = asked.json();
            let id = lies.id.unwrap_or("r1");
            let code = lies.code.map_or_else(|| right_code(&endpoint, id, &sent), str::to_owned);
            let taken = json!({"id": id, "secret": SECRET, "code": code, "state": "pending",
                "url": "http://elsewhere.example/", "expiresAt": "2999-01-01T00:00:00Z"});
            script::status(201, &taken)
        }
        "/friend-requests/r1" => script::ok(&json!({"id": "r1", "state": lies.state})),
        "/friend-requests/r1/credential" => {
            let agent = lies.agent.clone().unwrap_or_else(|| format!("{url}/agent"));
            let granted = json!({"agents": [{"name": "echo", "url": agent}], "verbs": ["send"]});
            script::ok(&json!({"token": lies.token, "granted": granted}))
        }
        _ if lies.refuses => script::status(401, &json!({"error": {"code": 401, "message": "no"}})),
        _ => script::ok(&json!({"tasks": [], "nextPageToken": "", "pageSize": 1, "totalSize": 0})),
    }
}

fn right_code(endpoint: &str, id: &str, sent: &Value) -> String {
    let texts = |name: &str| -> Vec<String> { serde_json::from_value(sent[name].clone()).unwrap() };
    let agents: Vec<AgentName> = texts("agents").iter().map(|name| AgentName::parse(name).unwrap()).collect();
    let verbs = texts("verbs");
    let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
    let terms = code::Terms {
        url: endpoint,
        card_url: sent["cardUrl"].as_str().unwrap(),
        agents: &agents,
        verbs: &verbs,
        why: sent["why"].as_str().unwrap(),
    };
    code::of(id, &Sha256::digest(SECRET).into(), terms)
}

async fn ask(node: &TestNode, server: &Server) -> Answer {
    node.operator("POST", "/api/v1/peers", Some(&json!({"url": server.url}))).await
}

async fn check(node: &TestNode, peer: &Value) -> Value {
    let path = format!("/api/v1/peers/{}/check", peer["id"].as_str().unwrap());
    node.operator("POST", &path, None).await.ok()
}

async fn peers(node: &TestNode) -> usize {
    node.operator("GET", "/api/v1/peers", None).await.ok()["peers"].as_array().unwrap().len()
}

fn bearer(asked: &Asked) -> Option<&str> {
    asked.header("authorization")
}

#[tokio::test]
async fn a_request_says_what_was_meant_and_is_watched() {
    let node = node(|_| {}).await;
    let (server, told) = other(Lies { state: "pending", token: "bt_given", ..Lies::default() }).await;
    let peer = ask(&node, &server).await.ok();
    let sent = server.asked_for("POST /friend-requests")[0].json();
    let own = format!("{}/a2a/echo/.well-known/agent-card.json", node.url());
    assert_eq!((&sent["cardUrl"], &sent["agents"]), (&json!(own), &json!(["echo"])));
    assert_eq!(peer["code"], right_code(&format!("{}/friend-requests", server.url), "r1", &sent));
    assert_eq!((&peer["origin"], &peer["state"]), (&json!(server.url), &json!("asked")));
    assert!(!peer.to_string().contains(SECRET), "{peer}");
    assert_eq!(check(&node, &peer).await["state"], "asked");
    let looks = server.asked_for("GET /friend-requests/r1");
    assert_eq!(bearer(&looks[0]), Some(&*format!("Bearer {SECRET}")));
    told.lock().unwrap().state = "approved";
    let friend = check(&node, &peer).await;
    assert_eq!((&friend["state"], friend.get("problem")), (&json!("friend"), None));
    let probes = server.asked_for("GET /agent/tasks");
    assert_eq!(bearer(&probes[0]), Some("Bearer bt_given"));
    told.lock().unwrap().refuses = true;
    assert_eq!(check(&node, &peer).await["state"], "ended");
    let file = node.folder().join("data/baton.db-wal");
    let stored = std::fs::read(file).unwrap();
    assert!(!stored.windows(8).any(|part| part == b"bt_given"), "sealed at rest");
    node.finish().await;
}

/// A request that goes to another server than the card is from, or is answered with what does not belong to it, is kept by
/// nobody.
#[tokio::test]
async fn who_stands_in_between_is_noticed() {
    let node = node(|_| {}).await;
    let (victim, _) = other(Lies { state: "pending", ..Lies::default() }).await;
    let endpoint = Some(format!("{}/friend-requests", victim.url));
    for (lies, says) in [
        (Lies { endpoint, ..Lies::default() }, "another server"),
        (Lies { code: Some("00000-00000"), ..Lies::default() }, "does not belong"),
        (Lies { id: Some("../../agent"), ..Lies::default() }, "no id"),
        (Lies { id: Some(""), ..Lies::default() }, "no id"),
        (Lies { endpoint: Some("file:///etc/passwd".into()), ..Lies::default() }, "URL"),
    ] {
        let (server, _) = other(lies.clone()).await;
        let answer = ask(&node, &server).await;
        assert!(answer.status == 400 && answer.text().contains(says), "{lies:?}: {answer:?}");
    }
    assert_eq!((peers(&node).await, victim.asked().len()), (0, 0));
    node.finish().await;
}

/// The credential goes to the peer's own origin, whatever the peer says of its agents.
#[tokio::test]
async fn a_credential_goes_nowhere_else() {
    let node = node(|_| {}).await;
    let (victim, _) = other(Lies::default()).await;
    let agent = Some(format!("{}/agent", victim.url));
    let (server, told) = other(Lies { state: "approved", token: "bt_given", agent, ..Lies::default() }).await;
    let peer = ask(&node, &server).await.ok();
    let picked = check(&node, &peer).await;
    assert_eq!((&picked["state"], &picked["granted"]["agents"]), (&json!("picked"), &json!([])));
    assert!(picked["problem"].as_str().unwrap().contains("names no agent"), "{picked}");
    assert!(victim.asked().is_empty());
    // A token that no header carries is none.
    *told.lock().unwrap() = Lies { state: "approved", token: "bt_a\r\nHost: x", ..Lies::default() };
    node.operator("DELETE", &format!("/api/v1/peers/{}", peer["id"].as_str().unwrap()), None).await.ok();
    let peer = ask(&node, &server).await.ok();
    let asked = check(&node, &peer).await;
    assert!(asked["state"] == "asked" && asked["problem"].is_string(), "{asked}");
    node.finish().await;
}

/// An agent whose card sends calls elsewhere gets none of them: not the credential, and not what is said.
#[tokio::test]
async fn nothing_is_said_to_another_server() {
    let node = node(|_| {}).await;
    let (victim, _) = other(Lies::default()).await;
    let (server, told) = other(Lies { state: "approved", token: "bt_given", ..Lies::default() }).await;
    let peer = ask(&node, &server).await.ok();
    assert_eq!(check(&node, &peer).await["state"], "friend");
    told.lock().unwrap().calls = Some(format!("{}/agent", victim.url));
    let path = format!("/api/v1/peers/{}/messages", peer["id"].as_str().unwrap());
    let said = node.operator("POST", &path, Some(&json!({"text": "in confidence"}))).await;
    assert!(said.status == 400 && said.text().contains("another server"), "{said:?}");
    assert!(victim.asked().is_empty());
    node.finish().await;
}

/// While a node is away, what stands before it may say that nothing is there: no friendship ends by that.
#[tokio::test]
async fn a_bare_404_ends_no_friendship() {
    let node = node(|_| {}).await;
    let (server, told) = other(Lies { state: "pending", token: "bt_given", ..Lies::default() }).await;
    let peer = ask(&node, &server).await.ok();
    told.lock().unwrap().away = true;
    let asked = check(&node, &peer).await;
    assert!(asked["state"] == "asked" && asked["problem"].is_string(), "{asked}");
    *told.lock().unwrap() = Lies { state: "approved", token: "bt_given", ..Lies::default() };
    assert_eq!(check(&node, &peer).await["state"], "friend");
    node.finish().await;
}

#[tokio::test]
async fn what_the_other_side_says_is_heard() {
    let node = node(|_| {}).await;
    for (state, becomes) in [
        ("denied", "denied"),
        ("expired", "expired"),
        ("ended", "ended"),
        ("collected", "ended"),
        ("unheard-of", "asked"),
    ] {
        let (server, _) = other(Lies { state, ..Lies::default() }).await;
        let peer = ask(&node, &server).await.ok();
        let checked = check(&node, &peer).await;
        assert_eq!(checked["state"], becomes, "{state}");
        assert_eq!(checked.get("nextLookAt").is_some(), becomes == "asked");
    }
    node.finish().await;
}

/// The operator's word opens nothing inside: the allow-list does.
#[tokio::test]
async fn a_peer_inside_is_not_asked() {
    let node = node(|settings| settings.net.allow.clear()).await;
    let (server, _) = other(Lies::default()).await;
    let answer = ask(&node, &server).await;
    assert!(answer.status == 400 && answer.text().contains("[net] allow"), "{answer:?}");
    assert!(server.asked().is_empty());
    for url in ["unix:///run/baton.sock", "ftp://x.example", "", "http://user:secret@x.example/"] {
        let answer = node.operator("POST", "/api/v1/peers", Some(&json!({"url": url}))).await;
        assert!(answer.status == 400 && !answer.text().contains("secret"), "{url}: {answer:?}");
    }
    node.finish().await;
}
