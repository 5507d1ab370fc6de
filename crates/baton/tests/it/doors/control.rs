//! What the operator does to a node, seen from every door: drain, lame duck, pause and resume, freeze and unfreeze.

use baton_store::{Actor, Hold, Verb};
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Door, TestNode, User, message, state, until};

/// An act of the operator; what is so then.
async fn act(node: &TestNode, path: &str) -> Value {
    node.operator("POST", &format!("/api/v1/{path}"), None).await.ok()
}

async fn controls(node: &TestNode) -> Value {
    node.operator("GET", "/api/v1/status", None).await.ok()["control"].take()
}

async fn ready(node: &TestNode) -> (u16, String) {
    let user = node.anyone("echo");
    let request = crate::harness::request("GET", &user.at_origin("/readyz"), &[], "");
    let answer = user.over(Door::Rest).ask(request).await;
    (answer.status, answer.text().to_owned())
}

/// Every way to hand a message in is refused as not available, and says when to come again.
async fn takes_no_messages(user: &User, open: &str, seconds: u64) {
    let delay = format!("{seconds}s");
    for user in user.doors() {
        let streamed = user.open(Operation::SendStreamingMessage, json!({"message": message("x")})).await;
        let refused = [user.try_send(message("x")).await, streamed.expect_err("no stream begins")];
        for answer in refused.into_iter().chain([user.follow_up(open, "more").await]) {
            let error = answer.refused(Kind::Unavailable);
            let details = if user.door == Door::Rpc { &error["data"] } else { &error["details"] };
            assert_eq!(details[1]["retryDelay"], delay.as_str(), "{answer:?}");
            if user.door != Door::Grpc {
                assert_eq!(answer.header("retry-after"), Some(&*seconds.to_string()), "{answer:?}");
            }
        }
    }
    let said = json!({"kind": "message", "messageId": "1", "role": "user", "parts": [{"kind": "text", "text": "x"}]});
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": said}});
    let rpc = user.over(Door::Rpc);
    rpc.ask(rpc.raw("POST", "", old.to_string())).await.refused(Kind::Unavailable);
}

#[tokio::test]
async fn a_frozen_node_takes_no_messages_and_answers_everything_else() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let open = user.hand_in("x").await;
    let mut attempt = node.attempt("script").await;
    let frozen = act(&node, "node/freeze").await;
    assert_eq!(
        (&frozen["frozen"]["by"], &frozen["lameDuck"]),
        (&json!("operator"), &json!(false)),
        "{frozen}"
    );
    assert_eq!(act(&node, "node/freeze").await, frozen, "once is enough");

    takes_no_messages(&user, &open, 60).await;
    takes_no_messages(&node.anyone("echo"), &open, 60).await;
    let (_, holder) = node.grant(&["echo"], &[Verb::Send]).await;
    holder.try_send(message("x")).await.refused(Kind::Unavailable);
    for user in user.doors() {
        assert_eq!(state(&user.get(&open).await), "WORKING");
        assert_eq!(user.list(json!({})).await["totalSize"], 1, "nothing came in");
    }
    assert_eq!(ready(&node).await, (200, "ready\nfrozen: takes no messages\n".to_owned()));
    // What came in before goes on, the operator may speak, and the owner may end it.
    attempt.ask("which?").await;
    let turn = json!({"message": message("this")});
    node.operator("POST", &format!("/api/v1/tasks/{open}/messages"), Some(&turn)).await.ok();
    assert_eq!(attempt.hears_message().await, "this");
    let (canceled, ()) = tokio::join!(user.call(Operation::CancelTask, json!({"id": open})), attempt.stops());
    assert_eq!(state(&canceled.ok()), "CANCELED");

    let node = node.restart().await;
    assert_eq!(controls(&node).await["frozen"], frozen["frozen"]);
    node.anyone("echo").try_send(message("x")).await.refused(Kind::Unavailable);
    assert_eq!(act(&node, "node/unfreeze").await.get("frozen"), None);
    assert_eq!(state(&node.anyone("echo").send("x").await), "COMPLETED");
    assert_eq!(ready(&node).await, (200, "ready\n".to_owned()));
    node.finish().await;
}

/// What the store says and what holds are the same, whoever hangs up in between.
#[tokio::test]
async fn who_hangs_up_is_obeyed_all_the_same() {
    let node = TestNode::start().await;
    let (service, by) = (&node.node().service, Actor::new("operator", "a test"));
    let mut asked = Box::pin(service.hold(Hold::FreezeNode, &by));
    assert!(futures_util::poll!(&mut asked).is_pending());
    drop(asked);
    until("the node is frozen", async || !controls(&node).await["frozen"].is_null()).await;
    let mut asked = Box::pin(service.release(Hold::FreezeNode, &by));
    assert!(futures_util::poll!(&mut asked).is_pending());
    drop(asked);
    until("the node is not frozen", async || controls(&node).await["frozen"].is_null()).await;
    // As after a crash of the one who asked before the node was told.
    service.store.hold(Hold::FreezeNode, true, (&by, service.now())).await.unwrap();
    act(&node, "node/freeze").await;
    assert!(!controls(&node).await["frozen"].is_null());
    service.store.hold(Hold::FreezeNode, false, (&by, service.now())).await.unwrap();
    act(&node, "node/unfreeze").await;
    assert!(controls(&node).await["frozen"].is_null());
    node.finish().await;
}

#[tokio::test]
async fn one_grant_is_frozen_and_no_other() {
    let node = TestNode::start().await;
    let verbs = [Verb::Send, Verb::Read];
    let (id, frozen) = node.grant(&["echo"], &verbs).await;
    let (_, other) = node.grant(&["echo"], &verbs).await;
    let earlier = frozen.send("x").await["id"].as_str().unwrap().to_owned();
    let said = act(&node, &format!("grants/{id}/freeze")).await;
    assert_eq!(said["frozenGrants"][0]["grant"], id.as_str());
    takes_no_messages(&frozen, &earlier, 60).await;
    assert_eq!(frozen.get(&earlier).await["id"], earlier.as_str(), "its token is good");
    for user in [&other, &node.anyone("echo")] {
        assert_eq!(state(&user.send("x").await), "COMPLETED");
    }
    act(&node, "grants/local/freeze").await;
    node.anyone("echo").try_send(message("x")).await.refused(Kind::Unavailable);
    act(&node, "grants/local/unfreeze").await;
    for verb in ["freeze", "unfreeze"] {
        let nobody = node.operator("POST", &format!("/api/v1/grants/nobody/{verb}"), None).await;
        nobody.refused(Kind::UnknownPath);
    }

    let node = node.restart().await;
    let frozen = User::new(node.url(), "echo", Some(frozen.token()));
    frozen.try_send(message("x")).await.refused(Kind::Unavailable);
    assert_eq!(act(&node, &format!("grants/{id}/unfreeze")).await["frozenGrants"], json!([]));
    assert_eq!(state(&frozen.send("x").await), "COMPLETED");
    node.finish().await;
}

/// How many attempts there were at a task.
async fn attempts(node: &TestNode, task: &str) -> Value {
    node.operator("GET", &format!("/api/v1/tasks/{task}"), None).await.ok()["attempt"].take()
}

#[tokio::test]
async fn a_paused_node_takes_messages_and_begins_nothing() {
    let node = TestNode::start().await;
    let paused = act(&node, "node/pause").await;
    assert_eq!(paused["paused"]["by"], "operator");
    assert_eq!(ready(&node).await, (200, "ready\npaused: work waits\n".to_owned()));
    let mut handed = Vec::new();
    for agent in ["script", "echo"] {
        for (user, text) in node.doors(agent).iter().zip(["one", "two", "three"]) {
            let id = user.hand_in(text).await;
            assert_eq!(state(&user.get(&id).await), "SUBMITTED", "{agent}");
            handed.push(id);
        }
    }
    // One that nobody ever begins can be ended.
    let unwanted = node.anyone("script").hand_in("unwanted").await;
    let canceled = node.anyone("script").call(Operation::CancelTask, json!({"id": unwanted})).await;
    assert_eq!(state(&canceled.ok()), "CANCELED");

    // A start looks for work everywhere, and so does the clock's loop.
    let node = node.restart().await;
    assert_eq!(controls(&node).await["paused"], paused["paused"]);
    node.node().service.work_inline().await.unwrap();
    for id in &handed {
        assert_eq!(attempts(&node, id).await, 0);
    }
    assert!(node.is_idle("script"));

    // A blocking send waits for its work.
    let user = node.anyone("echo");
    let waiting = tokio::spawn(async move { user.send("four").await });
    until("all are handed in", async || {
        node.operator("GET", "/api/v1/tasks?agent=echo", None).await.ok()["totalSize"] == 4
    })
    .await;
    assert_eq!(act(&node, "node/resume").await.get("paused"), None);
    assert_eq!(state(&waiting.await.unwrap()), "COMPLETED");
    let mut told = Vec::new();
    for _ in 0..3 {
        let attempt = node.attempt("script").await;
        told.push(attempt.told());
        attempt.complete().await;
    }
    told.sort();
    assert_eq!(told, ["one", "three", "two"]);
    for id in &handed {
        let agent = node.operator("GET", &format!("/api/v1/tasks/{id}"), None).await.ok();
        until("it is done", async || {
            state(&node.anyone(agent["agent"].as_str().unwrap()).get(id).await) == "COMPLETED"
        })
        .await;
    }
    node.finish().await;
}

#[tokio::test]
async fn one_agent_is_paused_and_no_other() {
    let node = TestNode::start().await;
    let running = node.anyone("script").hand_in("before").await;
    let mut attempt = node.attempt("script").await;
    let said = act(&node, "agents/script/pause").await;
    assert_eq!(said["pausedAgents"][0]["agent"], "script");
    let waiting = node.anyone("script").hand_in("during").await;
    // What was begun goes on, with its questions and answers.
    attempt.ask("which?").await;
    let user = node.anyone("script");
    let play = async {
        assert_eq!(attempt.hears_message().await, "this");
        attempt.complete().await;
    };
    let (answered, ()) = tokio::join!(user.follow_up(&running, "this"), play);
    assert_eq!(state(&answered.ok()["task"]), "COMPLETED");
    assert_eq!(state(&node.anyone("echo").send("x").await), "COMPLETED");
    let other = node.anyone("text").hand_in("x").await;
    node.attempt("text").await.complete().await;
    assert_eq!(attempts(&node, &other).await, 1);
    assert_eq!(attempts(&node, &waiting).await, 0);
    for verb in ["pause", "resume"] {
        let nobody = node.operator("POST", &format!("/api/v1/agents/nobody/{verb}"), None).await;
        nobody.refused(Kind::UnknownPath);
    }

    let node = node.restart().await;
    assert_eq!(controls(&node).await["pausedAgents"], said["pausedAgents"]);
    act(&node, "node/pause").await;
    act(&node, "node/resume").await;
    assert_eq!(attempts(&node, &waiting).await, 0, "the agent's own pause stands");
    act(&node, "agents/script/resume").await;
    let attempt = node.attempt("script").await;
    assert_eq!(attempt.told(), "during");
    attempt.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn a_lame_duck_is_not_ready_and_serves() {
    let node = TestNode::start().await;
    assert_eq!(act(&node, "node/lame-duck").await["lameDuck"], true);
    assert_eq!(act(&node, "node/lame-duck").await["lameDuck"], true);
    assert_eq!(ready(&node).await, (503, "lame duck\n".to_owned()));
    for user in node.doors("echo") {
        assert_eq!(state(&user.send("x").await), "COMPLETED");
    }
    assert_eq!(act(&node, "node/end-lame-duck").await["lameDuck"], false);
    assert_eq!(ready(&node).await, (200, "ready\n".to_owned()));
    act(&node, "node/lame-duck").await;
    let node = node.restart().await;
    assert_eq!(ready(&node).await.0, 200, "it ends with the node");
    node.finish().await;
}

#[tokio::test]
async fn a_drained_node_takes_nothing_new() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let open = user.hand_in("x").await;
    let attempt = node.attempt("script").await;
    let (drained, ()) = tokio::join!(act(&node, "node/drain"), attempt.drains());
    assert_eq!(drained["draining"], true);
    assert_eq!(act(&node, "node/drain").await["draining"], true);
    assert_eq!(ready(&node).await, (503, "draining\n".to_owned()));
    takes_no_messages(&user, &open, 5).await;
    assert_eq!(state(&user.get(&open).await), "WORKING", "it was begun, and is to be tried again");
    let node = node.restart().await;
    assert_eq!(controls(&node).await["draining"], false, "it ends with the node");
    let attempt = node.attempt("script").await;
    assert_eq!(attempt.task(), open);
    attempt.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn the_operators_methods_are_json_rpc_too() {
    let node = TestNode::start().await;
    let call = async |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = node.operator("POST", "/api/v1/rpc", Some(&body)).await.json();
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    };
    let (id, _) = node.grant(&["echo"], &[Verb::Send]).await;
    let held = |node: &Value| {
        let count = |list: &Value| list.as_array().unwrap().len();
        let whole = (node.get("frozen").is_some(), node.get("paused").is_some());
        (whole, count(&node["frozenGrants"]), count(&node["pausedAgents"]), node["lameDuck"] == true)
    };
    for (method, params, expected) in [
        ("a2a.Freeze", json!({}), ((true, false), 0, 0, false)),
        ("Freeze", json!({"grant": id}), ((true, false), 1, 0, false)),
        ("a2a.Pause", json!({"agent": "echo"}), ((true, false), 1, 1, false)),
        ("Pause", json!({}), ((true, true), 1, 1, false)),
        ("a2a.LameDuck", json!({}), ((true, true), 1, 1, true)),
        ("a2a.GetNode", json!({}), ((true, true), 1, 1, true)),
        ("LameDuck", json!({"on": false}), ((true, true), 1, 1, false)),
        ("a2a.Resume", json!({}), ((true, false), 1, 1, false)),
        ("a2a.Resume", json!({"agent": "echo"}), ((true, false), 1, 0, false)),
        ("a2a.Unfreeze", json!({"grant": id}), ((true, false), 0, 0, false)),
        ("a2a.Unfreeze", json!({}), ((false, false), 0, 0, false)),
    ] {
        let answer = call(method, params).await;
        assert_eq!(held(&answer["result"]), expected, "{method}: {answer}");
    }
    let task = node.anyone("script").hand_in("x").await;
    let attempt = node.attempt("script").await;
    let (canceled, ()) = tokio::join!(call("a2a.CancelTask", json!({"id": task})), attempt.stops());
    assert_eq!(canceled["result"]["task"]["status"]["state"], "TASK_STATE_CANCELED");
    for (method, params, code) in [
        ("a2a.CancelTask", json!({"id": task}), -32002),
        ("a2a.CancelTask", json!({"id": "made-up"}), -32001),
        ("a2a.CancelTask", json!({}), -32602),
        ("a2a.Pause", json!({"agent": 1}), -32602),
        ("a2a.Pause", json!({"grant": id}), -32602),
        ("a2a.Freeze", json!({"grant": "nobody"}), -32602),
        ("a2a.Resume", json!({"agent": "nobody"}), -32602),
        ("a2a.Nonsense", json!({}), -32601),
        ("a2a.a2a.Pause", json!({}), -32601),
    ] {
        assert_eq!(call(method, params).await["error"]["code"], code, "{method}");
    }
    assert_eq!(call("a2a.Drain", json!({})).await["result"]["draining"], true);
    node.finish().await;
}

#[tokio::test]
async fn nobody_but_the_operator_controls_a_node() {
    let node = TestNode::start().await;
    let holder = node.holder("echo").await.over(Door::Rest);
    for path in [
        "node/drain",
        "node/lame-duck",
        "node/end-lame-duck",
        "node/pause",
        "node/resume",
        "node/freeze",
        "node/unfreeze",
        "agents/echo/pause",
        "agents/echo/resume",
        "grants/local/freeze",
        "grants/local/unfreeze",
    ] {
        for user in [&holder, &node.anyone("echo").over(Door::Rest)] {
            let at = user.at_origin(&format!("/api/v1/{path}"));
            let json = [("content-type", "application/json")];
            user.ask(crate::harness::request("POST", &at, &json, "")).await.refused(Kind::PermissionDenied);
        }
    }
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "a2a.Drain", "params": {}});
    let (door, body) = (holder.over(Door::Rpc), rpc.to_string());
    let json = [("content-type", "application/json")];
    let at = holder.at_origin("/api/v1/rpc");
    door.ask(crate::harness::request("POST", &at, &json, body.clone())).await.refused(Kind::PermissionDenied);
    // At an agent's door it is no method at all.
    door.ask(door.raw("POST", "", body)).await.refused(Kind::MethodNotFound);
    assert_eq!(controls(&node).await["draining"], false);
    node.finish().await;
}

#[tokio::test]
async fn ordinary_methods_may_have_the_prefix() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let call = async |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        user.ask(user.raw("POST", "", body.to_string())).await
    };
    let task = call("a2a.SendMessage", json!({"message": message("x")})).await.ok()["task"].take();
    assert_eq!(state(&task), "COMPLETED");
    assert_eq!(call("a2a.GetTask", json!({"id": task["id"]})).await.ok()["id"], task["id"]);
    for wrong in ["a2a.a2a.GetTask", "a2a.message/send", "A2A.GetTask", "a2a.Freeze"] {
        call(wrong, json!({})).await.refused(Kind::MethodNotFound);
    }
    node.finish().await;
}
