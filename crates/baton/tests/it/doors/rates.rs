//! Whoever comes too often is refused before anything is done, at every door.

use std::time::Duration;

use baton::config::settings::{Destination, Network, Settings};
use baton_store::{Per, Rate};
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Answer, DOORS, Door, TestNode, User, message};

const RATE: Rate = Rate { requests: 1, per: Per::Minute, burst: 2 };

/// A node behind a proxy on this machine, which tests play by naming addresses.
async fn behind_a_proxy(change: impl FnOnce(&mut Settings)) -> TestNode {
    TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.trusted_proxies = vec![Network { address: [127, 0, 0, 1].into(), prefix: 32 }];
        settings.net.allow = Vec::<Destination>::new();
        change(settings);
    })
    .await
}

async fn holder(node: &TestNode, limits: Value) -> User {
    let body = json!({"label": "a test", "agents": ["echo"], "verbs": ["send", "read"], "limits": limits});
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    User::new(node.url(), "echo", made["token"].as_str())
}

/// Refused for now, and told for how long.
#[track_caller]
fn too_often(answer: &Answer) {
    let error = answer.refused(Kind::RateLimited);
    assert!(error.to_string().contains("google.rpc.RetryInfo"), "{error}");
    if answer.door != Door::Grpc {
        let wait: u64 = answer.header("retry-after").expect("when to come again").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
}

#[tokio::test]
async fn a_grant_has_its_rate() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let limited = holder(&node, json!({"rate": "1/m", "burst": 2})).await.over(door);
        let other = holder(&node, json!({})).await.over(door);
        limited.send("x").await;
        assert_eq!(limited.list(json!({})).await["totalSize"], 1);
        too_often(&limited.try_send(message("y")).await);
        let streamed = limited.open(Operation::SendStreamingMessage, json!({"message": message("y")})).await;
        too_often(&streamed.unwrap_err());
        other.send("z").await;
        node.clock.advance(Duration::from_mins(1));
        assert_eq!(limited.list(json!({})).await["totalSize"], 1, "nothing was made of what was refused");
        too_often(&limited.call(Operation::ListTasks, json!({})).await);
    }
    node.finish().await;
}

#[tokio::test]
async fn an_address_has_its_rate() {
    let node = behind_a_proxy(|settings| settings.limits.rate_per_address = Some(RATE)).await;
    let user = holder(&node, json!({})).await;
    for (at, door) in DOORS.into_iter().enumerate() {
        let from = |n: usize| user.over(door).with("x-forwarded-for", &format!("192.0.{at}.{n}"));
        from(1).send("x").await;
        from(1).send("x").await;
        too_often(&from(1).try_send(message("x")).await);
        from(2).send("x").await;
        // What the client says of itself counts for nothing.
        let made_up = user.over(door).with("x-forwarded-for", &format!("203.0.113.9, 192.0.{at}.1"));
        too_often(&made_up.try_send(message("x")).await);
        // One customer's network of version 6 is one address.
        for n in 1..=2 {
            user.over(door).with("x-forwarded-for", &format!("2001:db8:{at}::{n}")).send("x").await;
        }
        let third = user.over(door).with("x-forwarded-for", &format!("2001:db8:{at}::3"));
        too_often(&third.try_send(message("x")).await);
    }
    node.finish().await;
}

/// Also where no credentials are asked for, in the way of each door.
#[tokio::test]
async fn an_address_has_its_rate_everywhere() {
    let node = behind_a_proxy(|settings| settings.limits.rate_per_address = Some(RATE)).await;
    let paths = ["/.well-known/agent-card.json", "/a2a/echo/v1/card", "/nowhere", "/api/v1/grants"];
    for (at, path) in paths.iter().enumerate() {
        let user = node.anyone("echo").over(Door::Rest).with("x-forwarded-for", &format!("192.0.2.{at}"));
        let ask = async || {
            let request = http::Request::get(user.at_origin(path));
            let request = request.header("x-forwarded-for", format!("192.0.2.{at}"));
            user.ask(request.body(http_body_util::Full::default()).unwrap()).await
        };
        for _ in 0..2 {
            assert_ne!(ask().await.status, 429, "{path}");
        }
        let answer = ask().await;
        too_often(&answer);
        let old = path.contains("/v1/card");
        assert_eq!(answer.json().get("code").is_some(), old, "0.3 has its own shape: {answer:?}");
    }
    // The operator's own socket and this machine are not counted.
    for _ in 0..5 {
        node.operator("GET", "/api/v1/grants", None).await.json();
    }
    node.finish().await;
}

/// Who guesses is told to wait; who has credentials is let in from the same address.
#[tokio::test]
async fn guessing_is_slowed() {
    let node = behind_a_proxy(|settings| settings.limits.failures_per_address = Some(RATE)).await;
    let user = holder(&node, json!({})).await;
    for (at, door) in DOORS.into_iter().enumerate() {
        let address = format!("192.0.2.{at}");
        let stranger = node.anyone("echo").over(door).with("x-forwarded-for", &address);
        let guess =
            stranger.with("authorization", &format!("Bearer {}", user.token().replace("bt_", "bt_A")));
        stranger.try_send(message("x")).await.refused(Kind::Unauthenticated);
        guess.try_send(message("x")).await.refused(Kind::Unauthenticated);
        for who in [&stranger, &guess] {
            too_often(&who.try_send(message("x")).await);
        }
        user.over(door).with("x-forwarded-for", &address).send("x").await;
        let elsewhere = node.anyone("echo").over(door).with("x-forwarded-for", "198.51.100.1");
        if at < 2 {
            elsewhere.try_send(message("x")).await.refused(Kind::Unauthenticated);
        }
        node.clock.advance(Duration::from_mins(1));
        stranger.try_send(message("x")).await.refused(Kind::Unauthenticated);
    }
    node.finish().await;
}
