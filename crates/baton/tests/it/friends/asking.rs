//! What a stranger may send and hears.

use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{Home, ask, node, post, wish};
use crate::harness::{Door, request};

#[tokio::test]
async fn the_extension_says_where_to_ask_on_public_cards_only() {
    let node = node(|_| {}).await;
    let declared = |card: &Value| {
        let extensions = card["capabilities"]["extensions"].as_array().unwrap().iter();
        let mut found = extensions.filter(|known| known["uri"] == "urn:x-baton:friend-request:v1");
        found.next().map(|extension| extension["params"].clone())
    };
    let user = node.anyone("echo");
    let public = user.ask(user.raw("GET", "/.well-known/agent-card.json", "")).await.json();
    let url = format!("{}/friend-requests", node.url());
    assert_eq!(declared(&public), Some(json!({"url": url, "agent": "echo"})));
    let holder = node.holder("script").await;
    let private = holder.ask(holder.raw("GET", "/.well-known/agent-card.json", "")).await.json();
    assert_eq!(private["name"], "script");
    assert_eq!(declared(&private), None);
    node.finish().await;
}

/// A request is taken in, and waits; its author sees so much and no more; nothing at all is fetched.
#[tokio::test]
async fn a_request_waits_and_nothing_is_fetched() {
    let node = node(|_| {}).await;
    let home = Home::open().await;
    let answer = post(&node, "192.0.2.1", &wish(&home.card())).await;
    assert_eq!((answer.status, answer.header("cache-control")), (201, Some("no-store")));
    let made = answer.json();
    let id = made["id"].as_str().unwrap();
    let at = format!("{}/friend-requests/{id}", node.url());
    assert_eq!((answer.header("location"), made["url"].as_str()), (Some(&*at), Some(&*at)));
    assert!(made["secret"].as_str().unwrap().starts_with("fr_"), "{made}");
    let asked = ask(&node, &wish(&home.card())).await;
    assert_ne!(asked.code, made["code"].as_str().unwrap(), "every request has a code of its own");

    let shown = asked.state(&node).await;
    assert_eq!((&shown["state"], &shown["code"]), (&json!("pending"), &json!(asked.code)));
    assert_eq!((shown.get("granted"), shown.get("credentialUrl")), (None, None));
    asked.pick_up(&node).await.refused(Kind::UnsupportedOperation);
    let listed = node.operator("GET", "/api/v1/friend-requests?state=pending", None).await.ok();
    assert_eq!(listed["requests"].as_array().unwrap().len(), 2);
    let seen = asked.shown(&node).await;
    assert_eq!((&seen["origin"], &seen["why"]), (&json!("192.0.2.1"), &json!("to try it out")));
    assert_eq!(seen["code"], asked.code);
    assert!(!seen.to_string().contains("fr_"), "the secret is shown once: {seen}");
    assert_eq!(home.hits(), 0, "a stranger makes the node fetch nothing");
    node.finish().await;
}

#[tokio::test]
async fn wrong_requests_are_refused_by_field() {
    let node = node(|_| {}).await;
    let long = |n: usize| "x".repeat(n);
    let twice = json!(["echo", "echo"]);
    for (member, wrong, field) in [
        ("cardUrl", json!("ftp://x.example/card"), "cardUrl"),
        ("cardUrl", json!("http://user:secret@x.example/card"), "cardUrl"),
        ("cardUrl", json!("http://x.example/a b"), "cardUrl"),
        ("cardUrl", json!("http://x.example/\u{1b}[2J"), "cardUrl"),
        ("cardUrl", json!(format!("http://x.example/{}", long(2_048))), "cardUrl"),
        ("cardUrl", json!(7), "cardUrl"),
        ("agents", json!([]), "agents"),
        ("agents", json!(vec!["echo"; 17]), "agents"),
        ("agents", json!(["Echo!"]), "agents[0]"),
        ("agents", twice, "agents[1]"),
        ("agents", json!(["echo", 1]), "agents[1]"),
        ("verbs", json!([]), "verbs"),
        ("verbs", json!(["send", "sned"]), "verbs[1]"),
        ("verbs", json!(["send", "send"]), "verbs[1]"),
        ("why", json!(" \n"), "why"),
        ("why", json!(long(2_001)), "why"),
        ("idToken", json!("nothing"), "idToken"),
        ("idToken", json!("a.b.c d"), "idToken"),
        ("idToken", json!(format!("a.b.{}", long(8_190))), "idToken"),
        ("more", json!(1), "more"),
    ] {
        let mut body = wish("https://x.example/card.json");
        body[member] = wrong.clone();
        let answer = post(&node, "192.0.2.1", &body).await;
        assert_eq!(answer.invalid(), field, "{wrong}: {answer:?}");
    }
    for member in ["cardUrl", "agents", "verbs", "why"] {
        let mut body = wish("https://x.example/card.json");
        body.as_object_mut().unwrap().remove(member);
        let answer = post(&node, "192.0.2.1", &body).await;
        assert!(answer.refused(Kind::InvalidParams).to_string().contains(member), "{answer:?}");
    }
    let url = format!("{}/friend-requests", node.url());
    for (kind, body) in
        [("text/plain", wish("https://x.example/").to_string()), ("application/json", "{".into())]
    {
        let answer = node
            .anyone("echo")
            .over(Door::Rest)
            .ask(request("POST", &url, &[("content-type", kind)], body))
            .await;
        answer.refused(Kind::InvalidParams);
    }
    let listed = node.operator("GET", "/api/v1/friend-requests", None).await.ok();
    assert_eq!(listed["requests"], json!([]), "nothing of it was kept");
    node.finish().await;
}

/// A web page cannot ask in the name of whoever looks at it on the machine of a node in dev mode.
#[tokio::test]
async fn no_web_page_asks() {
    let node = crate::harness::TestNode::start().await;
    let url = format!("{}/friend-requests", node.url());
    let body = wish("https://x.example/card.json").to_string();
    for headers in [
        [("content-type", "application/json"), ("origin", "https://evil.example")],
        [("content-type", "application/json"), ("host", "evil.example")],
    ] {
        let answer =
            node.anyone("echo").over(Door::Rest).ask(request("POST", &url, &headers, body.clone())).await;
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    node.finish().await;
}

/// All intake is all intake.
#[tokio::test]
async fn a_frozen_node_takes_no_requests() {
    let node = node(|_| {}).await;
    let body = wish("https://x.example/card.json");
    let waiting = ask(&node, &body).await;
    node.operator("POST", "/api/v1/node/freeze", None).await.ok();
    post(&node, "192.0.2.2", &body).await.refused(Kind::Unavailable);
    assert_eq!(waiting.state(&node).await["state"], "pending");
    node.operator("POST", "/api/v1/node/unfreeze", None).await.ok();
    ask(&node, &body).await;
    node.finish().await;
}
