//! What a receiver gets: everything that is owed, in order, with credentials and signatures.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use baton::keys::{Jwks, PublicKey};
use ring::hmac;
use serde_json::json;

use super::{Hook, delivery, hand_in, node, settled};
use crate::harness::chunk;
use crate::script::Asked;

/// What the receiver of a configuration with the token `t0ken` checks.
fn check(asked: &Asked, public_key: &PublicKey) {
    assert_eq!(asked.header("content-type"), Some("application/a2a+json"));
    assert_eq!(asked.header("a2a-version"), Some("1.0"));
    assert_eq!(asked.header("authorization"), Some("Bearer cr3dential"));
    assert_eq!(asked.header("x-a2a-notification-token"), Some("t0ken"));
    let of = |name| asked.header(name).unwrap();
    let signed = format!("{}.{}.{}", of("webhook-id"), of("webhook-timestamp"), asked.body);
    let signatures: Vec<_> =
        of("webhook-signature").split(' ').map(|one| one.split_once(',').unwrap()).collect();
    assert_eq!(signatures.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["v1a", "v1"]);
    let bytes = |at: usize| BASE64_STANDARD.decode(signatures[at].1).unwrap();
    assert!(public_key.verifies(signed.as_bytes(), &bytes(0)));
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"t0ken");
    hmac::verify(&key, signed.as_bytes(), &bytes(1)).unwrap();
}

#[tokio::test]
async fn everything_comes_in_order_and_signed() {
    let node = node().await;
    let (user, hook) = (node.anyone("script"), Hook::start().await);
    let config = json!({
        "id": "c", "url": hook.url(), "token": "t0ken",
        "authentication": {"scheme": "Bearer", "credentials": "cr3dential"},
    });
    let task = hand_in(&user, "go", &config).await;
    let attempt = node.attempt("script").await;
    attempt.progress("so far").await;
    attempt.report(vec![chunk("whole", "all of it", false, true)]).await.unwrap();
    attempt.report(vec![chunk("pieces", "one ", false, false)]).await.unwrap();
    attempt.report(vec![chunk("open", "no end", false, false)]).await.unwrap();
    attempt.report(vec![chunk("pieces", "two ", true, false)]).await.unwrap();
    attempt.report(vec![chunk("pieces", "three", true, true)]).await.unwrap();
    attempt.complete_saying("done").await;
    let got = hook.gets(6).await;
    settled(&node, &task).await;
    // Pieces come together with the last one; what was never said to be finished comes with the end.
    assert_eq!(
        hook.lines(),
        [
            "2 WORKING",
            "3 WORKING \"so far\"",
            "4 whole=all of it.",
            "8 pieces=one two three.",
            "9 open=no end.",
            "9 COMPLETED \"done\"",
        ]
    );
    let published = crate::harness::request("GET", &user.at_origin("/.well-known/jwks.json"), &[], "");
    let keys = Jwks::parse(user.ask(published).await.text()).unwrap().keys;
    for asked in &got {
        check(asked, &keys[0].key);
    }
    let mut ids: Vec<_> = got.iter().map(|asked| asked.header("webhook-id").unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    for asked in &got {
        let body = asked.json();
        let update = body.get("statusUpdate").or_else(|| body.get("artifactUpdate")).unwrap();
        assert_eq!(
            (&update["taskId"], &update["contextId"]),
            (&json!(task), &user.get(&task).await["contextId"])
        );
    }
    let shown = delivery(&node, &task).await;
    assert_eq!(
        (&shown["state"], &shown["tries"], &shown["settled"]),
        (&json!("active"), &json!(6), &json!(9))
    );
    node.finish().await;
}

#[tokio::test]
async fn the_work_of_one_commit_is_told_too() {
    let node = node().await;
    for user in node.doors("echo") {
        let hook = Hook::start().await;
        let task = hand_in(&user, "hello", &json!({"url": hook.url()})).await;
        hook.gets(3).await;
        settled(&node, &task).await;
        assert_eq!(hook.lines(), ["2 WORKING", "3 echo=hello.", "4 COMPLETED"]);
        let got = hook.got();
        assert_eq!(got[0].header("authorization"), None);
        assert_eq!(got[0].header("x-a2a-notification-token"), None);
        assert!(got[0].header("webhook-signature").unwrap().starts_with("v1a,"));
        assert!(!got[0].header("webhook-signature").unwrap().contains(' '));
    }
    node.finish().await;
}

/// Hundreds of events, more than are read at a time, all of them and in order.
#[tokio::test]
async fn a_long_task_is_told_whole() {
    let node = node().await;
    let (user, hook) = (node.anyone("script"), Hook::start().await);
    let task = hand_in(&user, "go", &json!({"url": hook.url()})).await;
    let attempt = node.attempt("script").await;
    for n in 0..100 {
        attempt.progress(&n.to_string()).await;
        attempt.report(vec![chunk("log", &format!("{n} "), n > 0, false)]).await.unwrap();
    }
    attempt.complete().await;
    hook.gets(103).await;
    settled(&node, &task).await;
    let lines = hook.lines();
    let told: Vec<_> = (0..100).map(|n| format!("{} WORKING \"{n}\"", 3 + 2 * n)).collect();
    assert_eq!(lines[0], "2 WORKING");
    assert_eq!(lines[1..101], told);
    let log: String = (0..100).map(|n| format!("{n} ")).collect();
    assert_eq!(lines[101..], [format!("203 log={log}."), "203 COMPLETED".to_owned()]);
    node.finish().await;
}

#[tokio::test]
async fn several_receivers_and_several_tasks() {
    let node = node().await;
    let user = node.anyone("script");
    let hooks = [Hook::start().await, Hook::start().await];
    let task = hand_in(&user, "go", &json!({"url": hooks[0].url()})).await;
    let attempt = node.attempt("script").await;
    let second = json!({"taskId": task, "id": "second", "url": hooks[1].url()});
    let create = baton_wire::operation::Operation::CreateTaskPushNotificationConfig;
    user.call(create, second).await.ok();
    attempt.complete().await;
    hooks[0].gets(2).await;
    hooks[1].gets(1).await;
    assert_eq!(hooks[0].lines(), ["2 WORKING", "3 COMPLETED"]);
    assert_eq!(hooks[1].lines(), ["3 COMPLETED"]);
    let echo = node.anyone("echo");
    for n in 0..50 {
        hand_in(&echo, &n.to_string(), &json!({"url": hooks[1].url()})).await;
    }
    let got = hooks[1].gets(151).await;
    for n in 0..50 {
        let artifact = format!("3 echo={n}.");
        assert_eq!(got.iter().filter(|asked| super::line(asked) == artifact).count(), 1, "{n}");
    }
    node.finish().await;
}

/// A configuration that was made over 0.3 gets what its receivers read: the task, in the spelling of JSON-RPC.
#[tokio::test]
async fn a_receiver_of_the_old_version() {
    let node = node().await;
    let (user, hook) = (node.anyone("script"), Hook::start().await);
    let params = json!({
        "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "go"}]},
        "configuration": {"blocking": false, "pushNotificationConfig": {"url": hook.url(), "token": "t0ken"}},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}).to_string();
    let sent = user.ask(user.raw("POST", "", body)).await.json();
    let task = sent["result"]["id"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
    let attempt = node.attempt("script").await;
    attempt.report(vec![chunk("whole", "all of it", false, true)]).await.unwrap();
    attempt.complete_saying("done").await;
    settled(&node, &task).await;
    let got = hook.got();
    for asked in &got {
        let body = asked.json();
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("a2a-version"), Some("0.3"));
        assert_eq!(asked.header("x-a2a-notification-token"), Some("t0ken"));
        assert_eq!((&body["kind"], &body["id"]), (&json!("task"), &json!(task)));
    }
    let last = got.last().unwrap().json();
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["artifacts"][0]["parts"][0], json!({"kind": "text", "text": "all of it"}));
}
