//! What the operator sees and does over the node's own socket.

use baton_store::Verb;
use serde_json::json;

use crate::harness::TestNode;

#[tokio::test]
async fn the_operator_sees_every_owners_tasks() {
    let node = TestNode::start().await;
    let holder = node.holder("script").await;
    let local = node.anyone("echo").send("x").await;
    let id = holder.hand_in("go").await;
    let mut attempt = node.attempt("script").await;

    let page = node.operator("GET", "/api/v1/tasks", None).await.json();
    assert_eq!(page["totalSize"], 2);
    assert_eq!(
        (&page["tasks"][0]["task"]["id"], &page["tasks"][1]["task"]["id"]),
        (&json!(id), &local["id"])
    );
    assert_eq!(page["tasks"][1]["owner"]["grant"], "local");
    let filtered =
        node.operator("GET", "/api/v1/tasks?agent=echo&state=TASK_STATE_COMPLETED", None).await.json();
    assert_eq!(filtered["totalSize"], 1);

    attempt.ask("which?").await;
    let turn = json!({"message": crate::harness::message("this")});
    let answered = node.operator("POST", &format!("/api/v1/tasks/{id}/messages"), Some(&turn)).await.json();
    assert_eq!(answered["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(attempt.hears_message().await, "this");
    let cancel = format!("/api/v1/tasks/{id}/cancel");
    let (cancelled, ()) = tokio::join!(node.operator("POST", &cancel, None), attempt.stops());
    assert_eq!(cancelled.json()["task"]["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(node.operator("POST", &cancel, None).await.status, 400);

    let status = node.operator("GET", "/api/v1/status", None).await.json();
    assert_eq!((&status["draining"], &status["running"]), (&json!(false), &json!(0)), "{status}");
    assert_eq!(status["store"]["tasks"]["TASK_STATE_COMPLETED"], 1);
    let agents = node.operator("GET", "/api/v1/agents", None).await.json();
    assert_eq!(agents["agents"].as_array().unwrap().len(), 5);
    node.finish().await;
}

#[tokio::test]
async fn grants_are_checked_when_they_are_made() {
    let node = TestNode::start().await;
    let good = json!({"label": "x", "agents": ["echo"], "verbs": ["send"]});
    for (member, wrong) in [
        ("label", json!("")),
        ("label", json!("a\nb")),
        ("agents", json!([])),
        ("agents", json!(["nobody"])),
        ("verbs", json!([])),
        ("verbs", json!(["everything"])),
        ("more", json!(1)),
    ] {
        let mut body = good.clone();
        body[member] = wrong;
        let answer = node.operator("POST", "/api/v1/grants", Some(&body)).await;
        answer.refused(baton_wire::fault::Kind::InvalidParams);
    }
    let (grant, _) = node.grant(&["echo"], &[Verb::Send]).await;
    node.revoke(&grant).await;
    node.revoke(&grant).await;
    let grants = node.operator("GET", "/api/v1/grants", None).await.json();
    assert_eq!(
        (grants["grants"].as_array().unwrap().len(), &grants["grants"][0]["state"]),
        (1, &json!("revoked"))
    );
    node.finish().await;
}

/// The log leaves content out, so however much there is of it, the newest events are all there.
#[tokio::test]
async fn a_log_of_much_content_is_whole() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let task = user.hand_in("x").await;
    let attempt = node.attempt("script").await;
    for n in 0..7 {
        attempt.write(&format!("a{n}"), &"x".repeat(1_000_000)).await;
    }
    attempt.complete().await;
    let log = node.operator("GET", &format!("/api/v1/tasks/{task}/log"), None).await.ok();
    let numbers: Vec<_> =
        log["events"].as_array().unwrap().iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    let last = *numbers.last().unwrap();
    assert!(last >= 9, "{log}");
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    node.finish().await;
}

/// What a framework rejects is the fault's JSON as well.
#[tokio::test]
async fn wrong_requests_are_json_faults() {
    let node = TestNode::start().await;
    for (method, path, body) in [
        ("GET", "/api/v1/tasks?pageSize=x", None),
        ("GET", "/api/v1/tasks?nonsense=1", None),
        ("GET", "/api/v1/tasks?state=NONSENSE", None),
        ("GET", "/api/v1/tasks?pageSize=0", None),
        ("GET", "/api/v1/tasks?pageToken=x", None),
        ("POST", "/api/v1/grants", Some(json!([]))),
    ] {
        let answer = node.operator(method, path, body.as_ref()).await;
        answer.refused(baton_wire::fault::Kind::InvalidParams);
    }
    for (method, path) in [
        ("GET", "/api/v1/grants/nobody"),
        ("DELETE", "/api/v1/grants/nobody"),
        ("POST", "/api/v1/grants/nobody/pause"),
        ("POST", "/api/v1/grants/nobody/resume"),
        ("POST", "/api/v1/grants/nobody/rotate"),
    ] {
        node.operator(method, path, None).await.refused(baton_wire::fault::Kind::UnknownPath);
    }
    for path in ["/api/v1/tasks/made-up", "/api/v1/tasks/made-up/events"] {
        node.operator("GET", path, None).await.refused(baton_wire::fault::Kind::TaskNotFound);
    }
    node.operator("PUT", "/api/v1/grants", None).await.refused(baton_wire::fault::Kind::MethodNotAllowed);
    node.finish().await;
}
