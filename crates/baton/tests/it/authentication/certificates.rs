//! Client certificates: whose grant they open, and whose they do not.

use std::time::Duration;

use baton::access::NamePattern;
use baton::config::settings::{CertificateRule, Settings};
use baton_store::Verb;
use baton_wire::fault::Kind;
use rustls::ClientConfig;
use serde_json::json;

use super::ending::{do_not_meet, is_cut};
use super::pki::Authority;
use crate::harness::{DOORS, TestNode, User, message};

const SPIFFE: &str = "spiffe://example.org/agents/reviewer";

fn rule(name: Result<NamePattern, String>, grant: &str) -> CertificateRule {
    CertificateRule { name: name.unwrap(), grant: grant.to_owned() }
}

/// Rules for every kind of name; the grants are named by their label.
fn rules(settings: &mut Settings) {
    settings.auth.certificates = vec![
        rule(NamePattern::spiffe("spiffe://example.org/agents/*"), "spiffe"),
        rule(NamePattern::dns("*.ci.example.com"), "dns"),
        rule(NamePattern::uri("https://example.com/ada"), "uri"),
    ];
}

async fn start(authority: &Authority) -> TestNode {
    let node = TestNode::with(|settings| {
        authority.listen(settings);
        rules(settings);
    })
    .await;
    for label in ["spiffe", "dns", "uri"] {
        label_grant(&node, label).await;
    }
    node
}

async fn label_grant(node: &TestNode, label: &str) -> String {
    let body = json!({"label": label, "agents": ["echo", "script"], "verbs": Verb::ALL});
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    made["id"].as_str().unwrap().to_owned()
}

/// The caller with this side of TLS, at an agent.
fn by(node: &TestNode, config: ClientConfig) -> User {
    node.anyone("echo").by_tls(&node.node().urls[1], config)
}

#[tokio::test]
async fn a_certificate_opens_the_grant_that_a_rule_names() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    for names in
        [&[SPIFFE][..], &["x.example.com", "A.CI.example.com"], &["https://example.com/ada", "urn:x:y"]]
    {
        let user = by(&node, authority.client(names));
        for user in user.doors() {
            let task = user.send("hello").await;
            assert_eq!(user.state(task["id"].as_str().unwrap()).await, "COMPLETED");
        }
        assert_eq!(user.list(json!({})).await["totalSize"], 3, "one owner at every door");
    }
    node.finish().await;
}

#[tokio::test]
async fn whoever_matches_no_rule_is_nobody() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    let strangers = [
        authority.anyone(),
        authority.client(&[]),
        authority.client(&["ci.example.com"]),
        authority.client(&["a.b.ci.example.com"]),
        authority.client(&["*.ci.example.com"]),
        authority.client(&["https://example.com/adam"]),
        authority.client(&["spiffe://example.org/agents/a/b"]),
        authority.client(&["spiffe://evil.org/agents/reviewer"]),
        // A SPIFFE certificate has one URI.
        authority.client(&[SPIFFE, "https://example.com/eve"]),
    ];
    for config in strangers {
        let user = by(&node, config);
        for user in user.doors() {
            user.try_send(message("x")).await.refused(Kind::Unauthenticated);
        }
        let card = user.ask(user.raw("GET", "/.well-known/agent-card.json", "")).await;
        assert_eq!(card.status, 200, "what is open stays open");
    }
    node.finish().await;
}

/// Such a client learns it from the handshake: what it shows is not quietly overlooked.
#[tokio::test]
async fn what_does_not_verify_ends_the_handshake() {
    let (authority, other) = (Authority::new("clients"), Authority::new("clients"));
    let node = start(&authority).await;
    let expired = by(&node, authority.client_until(&[SPIFFE], Some(1_000_000_000)));
    let foreign = by(&node, authority.client_of(&other, &[SPIFFE]));
    for user in [expired, foreign] {
        for door in DOORS {
            assert!(!user.over(door).connects().await);
        }
    }
    assert!(by(&node, authority.client(&[SPIFFE])).connects().await);
    node.finish().await;
}

#[tokio::test]
async fn tokens_are_taken_on_the_same_listener_and_come_first() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    let holder = node.holder("echo").await;
    for (at, door) in DOORS.into_iter().enumerate() {
        let tokens = holder.by_tls(&node.node().urls[1], authority.anyone()).over(door);
        tokens.send("mine").await;
        assert_eq!(holder.list(json!({})).await["totalSize"], at + 1);

        let both = holder.by_tls(&node.node().urls[1], authority.client(&[SPIFFE])).over(door);
        assert_eq!(both.list(json!({})).await["totalSize"], at + 1, "the token decides");
        let wrong = both.bare().with("authorization", &format!("Bearer {}x", &holder.token()[..45]));
        wrong.try_send(message("x")).await.refused(Kind::Unauthenticated);
        let other = both.bare().with("authorization", "Basic YTpi");
        other.try_send(message("x")).await.refused(Kind::Unauthenticated);
        assert_eq!(
            both.bare().list(json!({})).await["totalSize"],
            0,
            "and the certificate where there is none"
        );
    }
    node.finish().await;
}

/// Many certificates behind one rule are as many owners.
#[tokio::test]
async fn two_certificates_of_one_rule_do_not_meet() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    let (ada, bob) = ("spiffe://example.org/agents/ada", "spiffe://example.org/agents/bob");
    let users = [by(&node, authority.client(&[ada])), by(&node, authority.client(&[bob]))];
    // Another certificate for the same name is the same one.
    let again = by(&node, authority.client(&[ada]));
    do_not_meet(&node, &users[0], &users[1], &again).await;
    node.finish().await;
}

#[tokio::test]
async fn a_label_of_several_grants_names_none() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    let user = by(&node, authority.client(&[SPIFFE]));
    user.send("x").await;
    let second = label_grant(&node, "spiffe").await;
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    assert!(crate::harness::logs::logged().contains("name the grant by its id"));
    node.revoke(&second).await;
    user.send("x").await;
    node.finish().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_certificate() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    let soon = node.clock.now().as_millis() / 1_000 + 3_600;
    let user = by(&node, authority.client_until(&["https://example.com/ada"], Some(soon))).to("script");
    let stream = user.stream("x").await;
    let attempt = node.attempt("script").await;
    node.clock.advance(Duration::from_secs(3_601));
    // Nobody rings: it looks by itself.
    is_cut(stream).await;
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    attempt.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_grant() {
    let authority = Authority::new("clients");
    let node = start(&authority).await;
    for door in DOORS {
        let user = by(&node, authority.client(&["https://example.com/ada"])).over(door).to("script");
        for act in ["pause", "revoke"] {
            let stream = user.stream("x").await;
            let attempt = node.attempt("script").await;
            let grant = grant_of(&node, "uri").await;
            if act == "pause" {
                node.operator("POST", &format!("/api/v1/grants/{grant}/pause"), None).await.json();
                is_cut(stream).await;
                user.try_send(message("x")).await.refused(Kind::GrantPaused);
                node.operator("POST", &format!("/api/v1/grants/{grant}/resume"), None).await.json();
                attempt.complete().await;
            } else {
                tokio::join!(node.revoke(&grant), attempt.stops());
                drop(stream.lines().await);
                user.try_send(message("x")).await.refused(Kind::Unauthenticated);
            }
        }
        label_grant(&node, "uri").await;
    }
    node.finish().await;
}

/// The one active grant of a label.
async fn grant_of(node: &TestNode, label: &str) -> String {
    let grants = node.operator("GET", "/api/v1/grants", None).await.json();
    let mut grants = grants["grants"].as_array().unwrap().iter();
    let found = grants.find(|grant| grant["label"] == label && grant["state"] == "active");
    found.unwrap()["id"].as_str().unwrap().to_owned()
}
