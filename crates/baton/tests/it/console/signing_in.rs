//! Who gets into the console, how, and for how long.

mod elsewhere;
mod provider;

use std::time::Duration;

use baton_store::{Per, Rate};
use serde_json::json;

use super::{Person, code, form};
use crate::harness::TestNode;

#[tokio::test]
async fn a_link_opens_the_console_once() {
    let node = TestNode::start().await;
    let code = code(&node).await;
    let mut person = Person::stranger(&node);
    let answer =
        person.post("/console/login", &[("code", &code), ("to", "/console/tasks?state=failed")]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/console/tasks?state=failed")));
    let cookie = answer.header("set-cookie").unwrap();
    let port = node.url().rsplit(':').next().unwrap();
    assert!(cookie.starts_with(&format!("baton-{port}=")), "{cookie}");
    assert!(cookie.ends_with("; Path=/console; HttpOnly; SameSite=Strict"), "{cookie}");
    person.keep(&answer);
    assert_eq!(person.get("/console").await.status, 200);
    let again = Person::stranger(&node).post("/console/login", &[("code", &code)]).await;
    assert_eq!(again.status, 401);
    assert!(again.header("set-cookie").is_none());
    assert!(again.text().contains("This code is not known any more"), "{}", again.text());
    node.finish().await;
}

#[tokio::test]
async fn a_code_lives_five_minutes_and_a_session_eight_idle_hours() {
    let node = TestNode::start().await;
    let late = code(&node).await;
    let person = Person::signed_in(&node).await;
    node.clock.advance(Duration::from_mins(5));
    assert_eq!(Person::stranger(&node).post("/console/login", &[("code", &late)]).await.status, 401);
    node.clock.advance(Duration::from_hours(7));
    assert_eq!(person.get("/console").await.status, 200);
    node.clock.advance(Duration::from_hours(8));
    assert_eq!(person.get("/console").await.status, 303);
    node.finish().await;
}

/// Dev mode makes loopback a caller of every agent, and nobody the operator.
#[tokio::test]
async fn nobody_gets_in_without() {
    let node = TestNode::start().await;
    let stranger = Person::stranger(&node);
    for path in ["/console", "/console/tasks", "/console/live", "/console/nowhere", "/console/tasks/x"] {
        let answer = stranger.get(path).await;
        assert_eq!(answer.status, 303, "{path}");
        assert!(answer.header("location").unwrap().starts_with("/console/login?to=%2Fconsole"), "{answer:?}");
    }
    for guess in ["", "x", &"A".repeat(43)] {
        assert_eq!(stranger.post("/console/login", &[("code", guess)]).await.status, 401, "{guess}");
    }
    // The API asks for the node's socket, whatever cookie comes.
    let person = Person::signed_in(&node).await;
    assert_eq!(person.get("/api/v1/status").await.status, 403);
    assert_eq!(person.ask(person.request("POST", "/api/v1/login", &[], "")).await.status, 403);
    node.finish().await;
}

#[tokio::test]
async fn signing_out_and_a_restart_end_a_session() {
    let node = TestNode::start().await;
    let (one, two) = (Person::signed_in(&node).await, Person::signed_in(&node).await);
    let csrf = one.csrf().await;
    let left = one.post("/console/logout", &[("csrf", &csrf)]).await;
    assert_eq!((left.status, left.header("location")), (303, Some("/console/login")));
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"), "{left:?}");
    assert_eq!((one.get("/console").await.status, two.get("/console").await.status), (303, 200));
    let node = node.restart().await;
    let two = Person { base: node.url().to_owned(), user: node.anyone("echo"), ..two };
    assert_eq!(two.get("/console").await.status, 303);
    node.finish().await;
}

#[tokio::test]
async fn forms_of_other_pages_do_nothing() {
    let node = TestNode::start().await;
    let person = Person::signed_in(&node).await;
    let csrf = person.csrf().await;
    let fields = form(&[("csrf", &csrf)]);
    let send = async |headers: &[(&str, &str)], body: &str| {
        person.ask(person.request("POST", "/console/logout", headers, body)).await.status
    };
    for origin in ["http://127.0.0.1:1", "https://evil.example", "null"] {
        assert_eq!(send(&[("origin", origin)], &fields).await, 403, "{origin}");
    }
    assert_eq!(send(&[("origin", "")], &fields).await, 403, "a browser says where a form comes from");
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(send(&[("sec-fetch-site", site)], &fields).await, 403, "{site}");
    }
    let other = Person::signed_in(&node).await.csrf().await;
    for token in ["", "x", &other] {
        assert_eq!(send(&[], &form(&[("csrf", token)])).await, 403, "{token}");
    }
    assert_eq!(send(&[], &format!("{fields}&text={}", "x".repeat(300_000))).await, 413);
    assert_eq!(person.get("/console").await.status, 200, "and the session goes on");
    let cross = person.request("POST", "/console/login", &[("origin", "https://evil.example")], "code=x");
    assert_eq!(person.ask(cross).await.status, 403);
    node.finish().await;
}

#[tokio::test]
async fn nobody_is_sent_elsewhere() {
    let node = TestNode::start().await;
    for to in ["https://evil.example", "//evil.example", "/consolé", "javascript:alert(1)", "/console/logout"]
    {
        let answer =
            Person::stranger(&node).post("/console/login", &[("code", &code(&node).await), ("to", to)]).await;
        assert_eq!(answer.header("location"), Some("/console"), "{to}");
    }
    let person = Person::signed_in(&node).await;
    let csrf = person.csrf().await;
    for back in ["https://evil.example", "//evil.example/console", "/consoleevil", "/console\r\nx: y"] {
        let answer = person.post("/console/tasks/x/attend", &[("csrf", &csrf), ("back", back)]).await;
        assert_eq!(answer.header("location"), Some("/console/tasks/x"), "{back}");
    }
    node.finish().await;
}

#[tokio::test]
async fn guesses_are_slowed() {
    let rate = Rate { requests: 2, per: Per::Minute, burst: 2 };
    let node = TestNode::with(|settings| settings.limits.failures_per_address = Some(rate)).await;
    let stranger = Person::stranger(&node);
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(stranger.post("/console/login", &[("code", "x")]).await.status);
    }
    assert_eq!(statuses, [401, 401, 429, 429]);
    node.finish().await;
}

/// Every answer says what a browser may do with it.
#[tokio::test]
async fn every_answer_is_hardened() {
    let node = TestNode::start().await;
    let person = Person::signed_in(&node).await;
    for (path, status) in
        [("/console", 200), ("/console/login", 200), ("/console/nothing", 404), ("/console/tasks/x", 404)]
    {
        let answer = person.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"),
            "{policy}"
        );
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let text = answer.text();
        assert!(
            !text.contains(" style=") && !text.contains("<style") && !text.contains(" onclick"),
            "{path}"
        );
        assert!(text.len() < 100 * 1024, "{path}");
    }
    node.finish().await;
}

#[tokio::test]
async fn what_is_done_is_told_to_the_audit_log() {
    let node = TestNode::start().await;
    let person = Person::signed_in(&node).await;
    let csrf = person.csrf().await;
    person.post("/console/logout", &[("csrf", &csrf)]).await;
    let log = node.operator("GET", "/api/v1/audit?action=console", None).await.ok();
    let rows = log["rows"].as_array().unwrap();
    let told: Vec<_> = rows.iter().map(|row| (&row["action"], &row["actor"], &row["origin"])).collect();
    assert_eq!(
        told,
        [
            (&json!("console.sign-out"), &json!("operator"), &json!("127.0.0.1")),
            (&json!("console.sign-in"), &json!("operator"), &json!("127.0.0.1")),
            (&json!("console.invite"), &json!("operator"), &json!("socket")),
        ]
    );
    node.finish().await;
}
