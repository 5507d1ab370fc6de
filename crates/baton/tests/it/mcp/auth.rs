//! Who is let in, whose a session is, and what ends it.

use std::time::Duration;

use baton_store::Verb;
use serde_json::{Value, json};

use super::Client;
use crate::harness::{Answer, TestNode, User, request};
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
        for answer in [client.initialize(super::REVISION, json!({})).await, get] {
            assert_eq!(answer.status, 401, "{answer:?}");
            let how = answer.header("www-authenticate").unwrap();
            assert!(how.starts_with("Bearer realm=\"baton\""), "{how}");
            assert_eq!(how.contains("error=\"invalid_token\""), error, "{how}");
            let at = how.split("resource_metadata=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
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
        assert_eq!((theirs.text(), &theirs.headers["content-length"]), (none.text(), &none.headers["content-length"]));
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
        let (grant, user) = (made["id"].as_str().unwrap(), User::new(node.url(), "clerk", made["token"].as_str()));
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
