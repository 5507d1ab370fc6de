//! Floods, guesses, enumeration, huge bodies, and replays.

use std::time::Duration;

use baton_store::{Per, Rate};
use baton_wire::fault::Kind;
use serde_json::json;

use super::{Asked, ask, node, post, wish};
use crate::harness::{Door, request};

const CARD: &str = "https://x.example/card.json";

/// An agent that is not published and one that was never there cannot be told apart, alone or beside another.
#[tokio::test]
async fn agents_that_are_not_published_are_not_there() {
    let node = node(|_| {}).await;
    let mut answers = Vec::new();
    for agents in [json!(["script"]), json!(["nobody"]), json!(["echo", "script"]), json!(["echo", "nobody"])]
    {
        let mut body = wish(CARD);
        body["agents"] = agents;
        let answer = post(&node, "192.0.2.1", &body).await;
        answer.refused(Kind::UnknownPath);
        answers.push((answer.status, answer.headers.len(), answer.body));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    node.finish().await;
}

#[tokio::test]
async fn a_flood_is_refused_by_address_and_the_others_are_heard() {
    let node = node(|_| {}).await;
    for _ in 0..5 {
        assert_eq!(post(&node, "2001:db8::1", &wish(CARD)).await.status, 201);
    }
    // One customer has a whole network of these.
    let answer = post(&node, "2001:db8::ffff", &wish(CARD)).await;
    answer.refused(Kind::RateLimited);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    assert_eq!(post(&node, "2001:db8:0:1::1", &wish(CARD)).await.status, 201);
    let node = node.restart().await;
    post(&node, "2001:db8::1", &wish(CARD)).await.refused(Kind::RateLimited);
    node.clock.advance(Duration::from_hours(1));
    for _ in 0..5 {
        assert_eq!(post(&node, "2001:db8::1", &wish(CARD)).await.status, 201);
    }
    node.clock.advance(Duration::from_hours(1));
    post(&node, "2001:db8::1", &wish(CARD)).await.refused(Kind::RateLimited);
    let listed = node.operator("GET", "/api/v1/friend-requests?pageSize=100", None).await.ok();
    assert_eq!(listed["requests"].as_array().unwrap().len(), 11);
    node.node().service.store.verify_audit(None).await.unwrap();
    node.finish().await;
}

/// A wrong id, a wrong secret, another's secret and none at all are answered alike, and who keeps guessing waits.
#[tokio::test]
async fn guesses_learn_nothing() {
    let node = node(|_| {}).await;
    let (mine, other) = (ask(&node, &wish(CARD)).await, ask(&node, &wish(CARD)).await);
    let nowhere = Asked { id: "0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f".into(), ..mine.clone() };
    let made_up = format!("fr_{}", "A".repeat(43));
    let mut answers = Vec::new();
    for (method, below) in [("GET", ""), ("POST", "/credential")] {
        for (asked, secret) in [
            (&nowhere, &*mine.secret),
            (&mine, &*other.secret),
            (&mine, &*made_up),
            (&mine, "nothing"),
            (&mine, "bt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ] {
            let answer = asked.call(&node, method, below, secret).await;
            answer.refused(Kind::UnknownPath);
            answers.push(answer.body);
        }
        let bare = request(method, &format!("{}/friend-requests/{}{below}", node.url(), mine.id), &[], "");
        answers.push(node.anyone("echo").over(Door::Rest).ask(bare).await.body);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(mine.state(&node).await["state"], "pending");
    node.finish().await;
}

#[tokio::test]
async fn who_keeps_guessing_waits_and_the_owner_does_not() {
    let rate = Rate { requests: 1, per: Per::Minute, burst: 3 };
    let node = node(|settings| settings.limits.failures_per_address = Some(rate)).await;
    let asked = ask(&node, &wish(CARD)).await;
    for _ in 0..3 {
        asked.call(&node, "GET", "", "fr_wrong").await.refused(Kind::UnknownPath);
    }
    asked.call(&node, "GET", "", "fr_wrong").await.refused(Kind::RateLimited);
    asked.call(&node, "POST", "/credential", "fr_wrong").await.refused(Kind::RateLimited);
    assert_eq!(asked.state(&node).await["state"], "pending");
    baton::worker::clerk::sweep(&node.node().service).await;
    let told = node.operator("GET", "/api/v1/audit?action=friend.open", None).await.ok();
    assert_eq!(told["rows"][0]["detail"]["times"], 5, "{told}");
    node.finish().await;
}

#[tokio::test]
async fn a_huge_body_is_refused_before_it_is_read() {
    let node = node(|_| {}).await;
    let mut body = wish(CARD);
    body["why"] = "x".repeat(100_000).into();
    post(&node, "192.0.2.1", &body).await.refused(Kind::TooLarge);
    let deep = format!("{{\"why\":{}", "[".repeat(5_000));
    let url = format!("{}/friend-requests", node.url());
    let headers = [("content-type", "application/json")];
    node.anyone("echo")
        .over(Door::Rest)
        .ask(request("POST", &url, &headers, deep))
        .await
        .refused(Kind::InvalidParams);
    node.finish().await;
}

/// Each pick-up voids the one before, so that a lost answer loses nothing; the first use ends that, whoever has the secret.
#[tokio::test]
async fn a_replayed_pick_up_is_worth_nothing_after_the_first_use() {
    let node = node(|_| {}).await;
    let asked = ask(&node, &wish(CARD)).await;
    asked.approve(&node).await;
    let lost = asked.holder(&node).await;
    let kept = asked.holder(&node).await;
    lost.try_send(crate::harness::message("x")).await.refused(Kind::Unauthenticated);
    assert_eq!(asked.state(&node).await["state"], "approved");
    kept.send("x").await;
    assert_eq!(asked.state(&node).await["state"], "collected");
    let answer = asked.pick_up(&node).await;
    assert!(answer.refused(Kind::UnsupportedOperation).to_string().contains("used"), "{answer:?}");
    kept.send("still good").await;
    let node = node.restart().await;
    asked.pick_up(&node).await.refused(Kind::UnsupportedOperation);
    assert_eq!(asked.state(&node).await["state"], "collected");
    let told = node.operator("GET", "/api/v1/audit?action=friend", None).await.ok();
    let actions: Vec<_> = told["rows"].as_array().unwrap().iter().map(|row| row["action"].clone()).collect();
    assert_eq!(actions, ["friend.pick-up", "friend.pick-up", "friend.approve", "friend.ask"]);
    assert!(!told.to_string().contains("fr_") && !told.to_string().contains("to try"), "{told}");
    node.finish().await;
}

/// Pick-ups at the same time: one token is good in the end.
#[tokio::test]
async fn pick_ups_at_the_same_time_leave_one_token() {
    let node = node(|_| {}).await;
    let asked = ask(&node, &wish(CARD)).await;
    asked.approve(&node).await;
    let (a, b, c, d) =
        tokio::join!(asked.holder(&node), asked.holder(&node), asked.holder(&node), asked.holder(&node));
    let mut good = 0;
    for user in [a, b, c, d] {
        let answer = user.try_send(crate::harness::message("x")).await;
        good += usize::from(answer.json().get("error").is_none());
    }
    assert_eq!(good, 1);
    for _ in 0..3 {
        asked.pick_up(&node).await.refused(Kind::UnsupportedOperation);
    }
    node.finish().await;
}
