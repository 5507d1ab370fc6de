//! The life of a grant: what pausing, rotating, expiry and limits on tasks do to whom.

use std::time::Duration;

use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{DOORS, Door, TestNode, User, message};

/// A grant for `script` and `echo` with more than its scope, and its holder.
async fn granted(node: &TestNode, more: Value) -> (String, User) {
    let mut body = json!({"label": "a test", "agents": ["script", "echo"], "verbs": Verb::ALL});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    let user = User::new(node.url(), "script", made["token"].as_str());
    (made["id"].as_str().unwrap_or_else(|| panic!("no grant: {made}")).to_owned(), user)
}

async fn change(node: &TestNode, grant: &str, what: &str, body: Option<Value>) -> Value {
    let path = format!("/api/v1/grants/{grant}/{what}");
    node.operator("POST", &path, body.as_ref()).await.json()
}

async fn show(node: &TestNode, grant: &str) -> Value {
    node.operator("GET", &format!("/api/v1/grants/{grant}"), None).await.json()
}

/// Its calls are refused and its streams end; its work goes on, and it sees the end of it when it is resumed.
#[tokio::test]
async fn a_paused_grant_is_refused_and_misses_nothing() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let (grant, user) = granted(&node, json!({})).await;
        let user = user.over(door);
        let mut stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        let id = attempt.task();
        stream.until("2 WORKING").await;
        assert_eq!(change(&node, &grant, "pause", None).await["state"], "paused");
        let left = stream.lines().await;
        assert!(
            !left.iter().any(|line| line.contains("COMPLETED")),
            "the stream ends before the task: {left:?}"
        );
        for _ in 0..2 {
            let answer = user.call(Operation::GetTask, json!({"id": id})).await;
            let error = answer.refused(Kind::GrantPaused);
            assert!(error["message"].as_str().unwrap().contains("paused"), "{error}");
            assert_eq!(change(&node, &grant, "pause", None).await["state"], "paused");
        }
        attempt.complete().await;
        let shown = change(&node, &grant, "resume", None).await;
        assert_eq!((&shown["state"], shown.get("pausedAt")), (&json!("active"), None));
        let resumed = user.resume(&id, 2).await.lines().await;
        assert!(resumed.last().unwrap().ends_with("COMPLETED"), "{resumed:?}");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_rotated_token_goes_on_for_a_while() {
    let node = TestNode::closed().await;
    let (grant, old) = granted(&node, json!({})).await;
    let rotated = change(&node, &grant, "rotate", None).await;
    let new = User::new(node.url(), "script", rotated["token"].as_str());
    assert_ne!(old.token(), new.token());
    let credentials = rotated["credentials"].as_array().unwrap();
    assert_eq!((credentials.len(), credentials[1].get("expiresAt")), (2, None));
    for user in [&old, &new] {
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.clock.advance(Duration::from_hours(24));
    for user in old.doors() {
        user.call(Operation::ListTasks, json!({})).await.refused(Kind::Unauthenticated);
    }
    assert_eq!(new.list(json!({})).await["totalSize"], 0);

    let at_once = change(&node, &grant, "rotate", Some(json!({"overlap": "0s"}))).await;
    new.call(Operation::ListTasks, json!({})).await.refused(Kind::Unauthenticated);
    let newest = User::new(node.url(), "script", at_once["token"].as_str());
    assert_eq!(newest.list(json!({})).await["totalSize"], 0);
    for overlap in ["31d", "soon", "1"] {
        let path = format!("/api/v1/grants/{grant}/rotate");
        let answer = node.operator("POST", &path, Some(&json!({"overlap": overlap}))).await;
        assert_eq!(answer.invalid(), "overlap");
    }
    node.revoke(&grant).await;
    for what in ["rotate", "pause", "resume"] {
        let answer = node.operator("POST", &format!("/api/v1/grants/{grant}/{what}"), None).await;
        answer.refused(Kind::UnsupportedOperation);
    }
    node.finish().await;
}

/// The clock ends a grant as a revocation does: calls at once, streams and work with the next look.
#[tokio::test]
async fn an_expired_grant_ends_with_all_that_hangs_on_it() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let (grant, user) = granted(&node, json!({"expires": "30d"})).await;
        let user = user.over(door);
        let mut stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        stream.until("2 WORKING").await;
        node.clock.advance(Duration::from_hours(30 * 24));
        assert_eq!(show(&node, &grant).await["state"], "expired", "nobody has said so yet");
        user.call(Operation::ListTasks, json!({})).await.refused(Kind::Unauthenticated);
        let id = attempt.task();
        let (ended, ()) = tokio::join!(node.node().service.end_expired(), attempt.stops());
        ended.unwrap();
        stream.lines().await;
        let shown = node.operator("GET", &format!("/api/v1/tasks/{id}"), None).await.json();
        assert_eq!(shown["task"]["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(show(&node, &grant).await["state"], "expired");
    }
    node.finish().await;
}

/// More open tasks than there may be are refused, and nothing is made of them.
#[tokio::test]
async fn open_tasks_have_a_limit() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let (grant, user) = granted(&node, json!({"limits": {"openTasks": 1}})).await;
        let user = user.over(door);
        let first = user.hand_in("x").await;
        let attempt = node.attempt("script").await;
        let answer = user.try_send(message("y")).await;
        answer.refused(Kind::QuotaExceeded);
        assert!(door == Door::Grpc || answer.header("retry-after").is_some(), "{answer:?}");
        let streamed = user.open(Operation::SendStreamingMessage, json!({"message": message("y")})).await;
        streamed.unwrap_err().refused(Kind::QuotaExceeded);
        user.to("echo").try_send(message("y")).await.refused(Kind::QuotaExceeded);
        assert_eq!(user.list(json!({})).await["totalSize"], 1, "nothing was made");
        assert_eq!(show(&node, &grant).await["usage"], json!({"openTasks": 1, "tasksToday": 1}));
        // A turn of the one that is open is none more.
        let mut turn = message("more");
        turn["taskId"] = first.as_str().into();
        assert_eq!(user.hand_in_message(turn).await["id"], first);
        attempt.complete().await;
        assert_eq!(user.to("echo").send("z").await["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(show(&node, &grant).await["usage"], json!({"openTasks": 0, "tasksToday": 2}));
    }
    node.finish().await;
}

#[tokio::test]
async fn tasks_of_a_day_have_a_limit() {
    let node = TestNode::closed().await;
    for door in DOORS {
        let (_, user) = granted(&node, json!({"limits": {"tasksPerDay": 2}})).await;
        let user = user.to("echo").over(door);
        for _ in 0..2 {
            user.send("x").await;
        }
        let error = user.try_send(message("x")).await.refused(Kind::QuotaExceeded);
        assert!(error.to_string().contains("RetryInfo"), "{error}");
        node.clock.advance(Duration::from_hours(24));
        user.send("x").await;
    }
    node.finish().await;
}

/// The grant's own limit holds where it is less than the node's, before what is over it is read.
#[tokio::test]
async fn a_body_has_the_limit_of_its_grant() {
    let node = TestNode::closed().await;
    let (_, user) = granted(&node, json!({"limits": {"body": "4KiB"}})).await;
    let wide = granted(&node, json!({"limits": {"body": "100MiB"}})).await.1;
    for door in DOORS {
        let user = user.to("echo").over(door);
        user.send(&"x".repeat(2_000)).await;
        user.try_send(message(&"x".repeat(5_000))).await.refused(Kind::TooLarge);
        wide.to("echo").over(door).send(&"x".repeat(5_000)).await;
    }
    assert_eq!(user.to("echo").list(json!({})).await["totalSize"], 3);
    node.finish().await;
}

/// What is wrong with a grant that is asked for is said by its path, with what was perhaps meant.
#[tokio::test]
async fn wrong_grants_are_refused_by_field() {
    let node = TestNode::start().await;
    let good = json!({"label": "x", "agents": ["echo"], "verbs": ["send"]});
    for (path, wrong, field) in [
        ("/label", json!(""), "label"),
        ("/agents", json!([]), "agents"),
        ("/agents", json!(["echo", "scrip"]), "agents[1]"),
        ("/verbs", json!([]), "verbs"),
        ("/verbs", json!(["sned"]), "verbs[0]"),
        ("/expires", json!("yesterday"), "expires"),
        ("/expires", json!("0s"), "expires"),
        ("/expires", json!("2020-01-01T00:00:00Z"), "expires"),
        ("/expires", json!("40000d"), "expires"),
        ("/limits", json!({"rate": "10"}), "limits.rate"),
        ("/limits", json!({"rate": "0/s"}), "limits.rate"),
        ("/limits", json!({"burst": 3}), "limits.burst"),
        ("/limits", json!({"rate": "1/s", "burst": 0}), "limits.burst"),
        ("/limits", json!({"openTasks": 0}), "limits.openTasks"),
        ("/limits", json!({"tasksPerDay": 0}), "limits.tasksPerDay"),
        ("/limits", json!({"tasksPerDay": -1}), "limits.tasksPerDay"),
        ("/limits", json!({"body": "1B"}), "limits.body"),
        ("/limits", json!({"body": "much"}), "limits.body"),
        ("/limits", json!({"more": 1}), "limits.more"),
    ] {
        let mut body = good.clone();
        body[&path[1..]] = wrong.clone();
        for dry in [false, true] {
            body["dryRun"] = dry.into();
            let answer = node.operator("POST", "/api/v1/grants", Some(&body)).await;
            assert_eq!(answer.invalid(), field, "{wrong}: {answer:?}");
        }
    }
    let mut near = good;
    near["agents"] = json!(["scrip"]);
    let answer = node.operator("POST", "/api/v1/grants", Some(&near)).await;
    assert!(answer.text().contains("did you mean `script`?"), "{answer:?}");
    let grants = node.operator("GET", "/api/v1/grants", None).await.json();
    assert_eq!(grants, json!({"grants": []}), "nothing was made");
    node.finish().await;
}

/// A dry run says what the holder could do, and makes nothing.
#[tokio::test]
async fn a_dry_run_says_what_it_means() {
    let node = TestNode::start().await;
    let body = json!({"label": "x", "agents": ["echo", "script"], "verbs": ["send", "read", "extended-card"],
        "limits": {"rate": "10/s", "burst": 20, "openTasks": 5, "body": "1MiB"}, "dryRun": true});
    let dry = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    let means = dry["means"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let means = means.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(means);
    assert_eq!((dry.get("token"), dry.get("id")), (None, None));
    assert_eq!(dry["limits"], json!({"rate": "10/s", "burst": 20, "openTasks": 5, "body": 1_048_576}));
    let grants = node.operator("GET", "/api/v1/grants", None).await.json();
    assert_eq!(grants, json!({"grants": []}));
    node.finish().await;
}

#[tokio::test]
async fn the_last_use_is_shown_and_kept() {
    let node = TestNode::closed().await;
    let (grant, user) = granted(&node, json!({})).await;
    assert_eq!(show(&node, &grant).await.get("lastUsedAt"), None);
    user.list(json!({})).await;
    let used = show(&node, &grant).await["lastUsedAt"].clone();
    assert!(used.is_string(), "{used}");
    let node = node.restart().await;
    assert_eq!(show(&node, &grant).await["lastUsedAt"], used, "a stop writes it down");
    node.finish().await;
}
