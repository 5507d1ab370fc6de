//! The operator approves, narrows and denies; what the friend hears of it.

use std::time::Duration;

use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{Asked, ask, node, wish};
use crate::harness::{TestNode, message};

const CARD: &str = "https://x.example/card.json";

async fn grants(node: &TestNode) -> Vec<Value> {
    node.operator("GET", "/api/v1/grants", None).await.ok()["grants"].as_array().unwrap().clone()
}

#[tokio::test]
async fn only_an_approval_mints_a_grant() {
    let node = node(|_| {}).await;
    let asked = ask(&node, &wish(CARD)).await;
    asked.shown(&node).await;
    assert_eq!(grants(&node).await, Vec::<Value>::new());
    let shown = asked.approve(&node).await;
    assert_eq!((&shown["state"], &shown["decidedBy"]), (&json!("approved"), &json!("operator")));
    let made = grants(&node).await;
    assert_eq!(made.len(), 1);
    assert_eq!((&made[0]["id"], &made[0]["label"]), (&shown["grant"]["id"], &json!("friend x.example")));
    assert_eq!((&made[0]["verbs"], &made[0]["credentials"]), (&json!(["send", "read"]), &json!([])));

    let seen = asked.state(&node).await;
    assert_eq!(seen["state"], "approved");
    let agent = format!("{}/a2a/echo", node.url());
    let granted = json!({"agents": [{"name": "echo", "url": agent}], "verbs": ["send", "read"]});
    assert_eq!(seen["granted"], granted);
    let picked = asked.pick_up(&node).await;
    assert_eq!(picked.header("cache-control"), Some("no-store"));
    let picked = picked.json();
    assert_eq!((&picked["granted"], &picked["tokenType"]), (&granted, &json!("Bearer")));
    let user = crate::harness::User::new(node.url(), "echo", picked["token"].as_str());
    assert_eq!(user.send("hello").await["status"]["state"], "TASK_STATE_COMPLETED");
    user.to("script").try_send(message("x")).await.refused(Kind::UnknownPath);
    let shown = asked.shown(&node).await;
    assert_eq!((&shown["grant"]["used"], &shown["grant"]["pickUps"]), (&json!(true), &json!(1)));

    node.revoke(shown["grant"]["id"].as_str().unwrap()).await;
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    assert_eq!(asked.state(&node).await["state"], "ended");
    asked.pick_up(&node).await.refused(Kind::UnsupportedOperation);
    node.finish().await;
}

#[tokio::test]
async fn an_approval_may_allow_less_and_not_more() {
    let node = node(|settings| {
        for agent in settings.agents.values_mut() {
            agent.publish = true;
        }
    })
    .await;
    let mut body = wish(CARD);
    body["agents"] = json!(["echo", "script"]);
    body["verbs"] = json!(["send", "read", "work"]);
    let asked = ask(&node, &body).await;
    for (more, field) in [
        (json!({"agents": ["echo", "text"]}), "agents[1]"),
        (json!({"verbs": ["send", "cancel"]}), "verbs[1]"),
        (json!({"verbs": []}), "verbs"),
        (json!({"agents": []}), "agents"),
        (json!({"expires": "yesterday"}), "expires"),
        (json!({"limits": {"openTasks": 0}}), "limits.openTasks"),
        (json!({"code": "00000-00000"}), "code"),
        (json!({"verb": ["send"]}), "verb"),
    ] {
        for dry in [true, false] {
            let mut more = more.clone();
            more["dryRun"] = dry.into();
            let answer = asked.operate(&node, "approve", Some(&more)).await;
            assert_eq!(answer.invalid(), field, "{more}: {answer:?}");
        }
    }
    let narrow = json!({"agents": ["echo"], "verbs": ["send"], "expires": "30d", "limits": {"openTasks": 3},
        "label": "A friend", "code": asked.code.to_lowercase().replace('-', " "), "dryRun": true});
    let dry = asked.operate(&node, "approve", Some(&narrow)).await.ok();
    assert!(
        dry["means"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line == "- hand in tasks, and answer what is asked about them (send)"),
        "{dry}"
    );
    assert_eq!((grants(&node).await.len(), &asked.shown(&node).await["state"]), (0, &json!("pending")));
    let mut narrow = narrow;
    narrow["dryRun"] = false.into();
    asked.operate(&node, "approve", Some(&narrow)).await.ok();
    let made = &grants(&node).await[0];
    assert_eq!(
        (&made["agents"], &made["verbs"], &made["label"]),
        (&json!(["echo"]), &json!(["send"]), &json!("A friend"))
    );
    assert_eq!(made["limits"], json!({"openTasks": 3}));
    assert!(made["expiresAt"].is_string());
    let seen = asked.state(&node).await;
    assert_eq!(
        (&seen["verbs"], &seen["granted"]["verbs"]),
        (&json!(["send", "read", "work"]), &json!(["send"]))
    );

    // `work` goes only to who is named for it.
    let quiet = ask(&node, &body).await;
    quiet.approve(&node).await;
    assert_eq!(grants(&node).await[0]["verbs"], json!(["send", "read"]));
    body["verbs"] = json!(["work"]);
    let worker = ask(&node, &body).await;
    assert_eq!(worker.operate(&node, "approve", None).await.invalid(), "verbs");
    worker.operate(&node, "approve", Some(&json!({"verbs": ["work"]}))).await.ok();
    assert_eq!(grants(&node).await[0]["verbs"], json!(["work"]));
    node.finish().await;
}

#[tokio::test]
async fn denied_and_expired_say_so() {
    let node = node(|_| {}).await;
    let (denied, late, never) =
        (ask(&node, &wish(CARD)).await, ask(&node, &wish(CARD)).await, ask(&node, &wish(CARD)).await);
    denied.operate(&node, "deny", None).await.ok();
    assert_eq!(denied.state(&node).await["state"], "denied");
    let answer = denied.pick_up(&node).await;
    assert!(answer.refused(Kind::UnsupportedOperation).to_string().contains("denied"), "{answer:?}");
    for what in ["approve", "deny"] {
        denied.operate(&node, what, None).await.refused(Kind::UnsupportedOperation);
    }
    never.approve(&node).await;
    node.clock.advance(Duration::from_hours(7 * 24));
    for asked in [&late, &never] {
        assert_eq!(asked.state(&node).await["state"], "expired");
        asked.pick_up(&node).await.refused(Kind::UnsupportedOperation);
        asked.operate(&node, "approve", None).await.refused(Kind::UnsupportedOperation);
        assert_eq!(asked.shown(&node).await["state"], "expired");
    }
    node.node().service.sweep_friends().await.unwrap();
    assert_eq!(grants(&node).await[0]["state"], "revoked", "nobody came for it");
    assert_eq!(late.state(&node).await["state"], "expired");
    node.clock.advance(Duration::from_hours(31 * 24));
    node.node().service.sweep_friends().await.unwrap();
    for asked in [&denied, &late, &never] {
        asked.call(&node, "GET", "", &asked.secret).await.refused(Kind::UnknownPath);
    }
    node.finish().await;
}

/// Whoever is first decides; no more than one grant comes of it, and none of a denial.
#[tokio::test]
async fn an_approval_races_a_denial() {
    let node = node(|_| {}).await;
    for round in 1..=5 {
        let asked: Asked = ask(&node, &wish(CARD)).await;
        let approve = || asked.operate(&node, "approve", None);
        let deny = || asked.operate(&node, "deny", None);
        let (a, b, c, d) = tokio::join!(approve(), deny(), approve(), deny());
        let won = [&a, &b, &c, &d].into_iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1, "round {round}");
        let shown = asked.shown(&node).await;
        let approved = shown["state"] == "approved";
        assert_eq!(approved, a.status == 200 || c.status == 200);
        let of_this = grants(&node).await.iter().filter(|grant| grant["id"] == shown["grant"]["id"]).count();
        assert_eq!(of_this, usize::from(approved), "{shown}");
        assert_eq!(asked.pick_up(&node).await.status == 200, approved);
    }
    node.finish().await;
}

#[tokio::test]
async fn lists_have_pages_and_states() {
    let node = node(|_| {}).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, ask(&node, &wish(CARD)).await.id);
    }
    let list =
        async |query: &str| node.operator("GET", &format!("/api/v1/friend-requests{query}"), None).await;
    let first = list("?pageSize=2").await.ok();
    let shown: Vec<_> = first["requests"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(shown, ids[..2]);
    let token = first["nextPageToken"].as_str().unwrap();
    let last = list(&format!("?pageSize=2&pageToken={token}")).await.ok();
    assert_eq!((&last["requests"][0]["id"], &last["nextPageToken"]), (&json!(ids[2]), &json!("")));
    assert_eq!(list("?state=denied").await.ok()["requests"], json!([]));
    for (query, field) in
        [("?state=odd", "state"), ("?pageToken=x", "pageToken"), ("?pageSize=0", "pageSize")]
    {
        assert_eq!(list(query).await.invalid(), field);
    }
    let nowhere = "/api/v1/friend-requests/0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f";
    node.operator("GET", nowhere, None).await.refused(Kind::UnknownPath);
    for what in ["look", "approve", "deny"] {
        node.operator("POST", &format!("{nowhere}/{what}"), None).await.refused(Kind::UnknownPath);
    }
    node.finish().await;
}
