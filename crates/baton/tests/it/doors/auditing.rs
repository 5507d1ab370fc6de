//! The audit log as the operator reads it: what is told, of whom, and what never is.

use baton::worker::clerk;
use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use crate::harness::{TestNode, message};

async fn rows(node: &TestNode, query: &str) -> Vec<Value> {
    let page = node.operator("GET", &format!("/api/v1/audit{query}"), None).await.json();
    page["rows"].as_array().unwrap_or_else(|| panic!("no page: {page}")).clone()
}

fn short(rows: &[Value]) -> Vec<String> {
    let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let spell = |row: &Value| {
        let (action, outcome) = (word(row, "action"), word(row, "outcome"));
        format!("{} from {}: {action} {outcome}", word(row, "actor"), word(row, "origin"))
    };
    rows.iter().map(spell).collect()
}

#[tokio::test]
async fn what_the_operator_does_is_told() {
    let node = TestNode::closed().await;
    let (grant, user) = node.grant(&["script"], &Verb::ALL).await;
    let id = user.hand_in("a secret message").await;
    let attempt = node.attempt("script").await;
    for what in ["pause", "resume", "rotate"] {
        node.operator("POST", &format!("/api/v1/grants/{grant}/{what}"), None).await.json();
    }
    let cancel = format!("/api/v1/tasks/{id}/cancel");
    tokio::join!(node.operator("POST", &cancel, None), attempt.stops());
    node.operator("POST", "/api/v1/keys", Some(&json!({"algorithm": "EdDSA", "kid": "k1"}))).await.json();
    node.operator("DELETE", "/api/v1/keys/k1", None).await.json();
    node.revoke(&grant).await;
    node.revoke(&grant).await;
    let told = rows(&node, "").await;
    let actions = [
        "grant.revoke",
        "key.retire",
        "key.create",
        "task.cancel",
        "grant.rotate",
        "grant.resume",
        "grant.pause",
        "grant.create",
    ];
    assert_eq!(short(&told), actions.map(|action| format!("operator from socket: {action} allowed")));
    let text = serde_json::to_string(&told).unwrap();
    assert!(!text.contains("secret message") && !text.contains(user.token()), "{text}");
    let targets: Vec<_> = told.iter().map(|row| row["target"].as_str().unwrap()).collect();
    assert_eq!(targets, [&*grant, "k1", "k1", &*id, &*grant, &*grant, &*grant, &*grant]);

    let first = node.operator("GET", "/api/v1/audit?action=grant&pageSize=2", None).await.json();
    assert_eq!(short(first["rows"].as_array().unwrap()).len(), 2);
    let next = first["nextPageToken"].as_str().unwrap();
    let second = rows(&node, &format!("?action=grant&pageSize=9&pageToken={next}")).await;
    assert_eq!((second.len(), &second[0]["action"]), (3, &json!("grant.resume")));
    assert_eq!(rows(&node, &format!("?target={id}")).await.len(), 1);
    assert_eq!(rows(&node, "?since=1h&outcome=refused").await.len(), 0);
    for (query, field) in [("since=soon", "since"), ("pageSize=0", "pageSize"), ("pageToken=x", "pageToken")]
    {
        let answer = node.operator("GET", &format!("/api/v1/audit?{query}"), None).await;
        assert_eq!(answer.invalid(), field);
    }

    let report = node.operator("GET", "/api/v1/audit/verify", None).await.json();
    assert_eq!((&report["intact"], &report["rows"]), (&json!(true), &json!(8)), "{report}");
    let head = report["head"].as_str().unwrap().to_owned();
    assert_eq!(head, format!("8:{}", told[0]["hash"].as_str().unwrap()));
    let node = node.restart().await;
    let verify = async |head: &str| {
        node.operator("GET", &format!("/api/v1/audit/verify?head={head}"), None).await.json()
    };
    assert_eq!(verify(&head).await["intact"], true);
    for other in [head.replace("8:", "9:"), head.replace("8:", "7:")] {
        assert_eq!(verify(&other).await["intact"], false, "{other}");
    }
    node.finish().await;
}

/// Refused callers are told once in a while, the same as one row.
#[tokio::test]
async fn who_is_refused_is_told_in_few_rows() {
    let node = TestNode::closed().await;
    let (grant, reader) = node.grant(&["script"], &[Verb::Read]).await;
    let (paused, of_paused) = node.grant(&["script"], &Verb::ALL).await;
    node.operator("POST", &format!("/api/v1/grants/{paused}/pause"), None).await.json();
    for user in node.doors("script") {
        user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    }
    for user in reader.doors() {
        user.try_send(message("x")).await.refused(Kind::PermissionDenied);
        user.to("echo").try_send(message("x")).await.refused(Kind::PermissionDenied);
    }
    of_paused.try_send(message("x")).await.refused(Kind::GrantPaused);
    let operator = reader.at_origin("/api/v1/status");
    let asked = http::Request::get(operator).body(http_body_util::Full::default()).unwrap();
    reader.over(crate::harness::Door::Rest).ask(asked).await.refused(Kind::PermissionDenied);
    assert_eq!(rows(&node, "?outcome=refused").await.len(), 0, "not one by one");
    clerk::sweep(&node.node().service).await;
    let told = rows(&node, "?outcome=refused").await;
    let mut spelled: Vec<_> = told
        .iter()
        .map(|row| {
            let text =
                |name: &str| row[name].as_str().unwrap().replace(&grant, "GRANT").replace(&paused, "PAUSED");
            format!("{} {} {} {}", text("actor"), text("action"), text("target"), row["detail"]["times"])
        })
        .collect();
    spelled.sort();
    assert_eq!(
        spelled,
        [
            "GRANT access.call echo/- 3",
            "GRANT access.call script/SendMessage 3",
            "PAUSED access.call  1",
            "anonymous access.authenticate  3",
            "anonymous access.operate  1",
        ]
    );
    assert!(told.iter().all(|row| row["origin"] == "127.0.0.1"), "{told:?}");
    clerk::sweep(&node.node().service).await;
    assert_eq!(rows(&node, "?outcome=refused").await.len(), 5, "once each");
    node.finish().await;
}
