//! Paths, tenants, methods and media types.

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use http::Request;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, message, request};

/// A request anywhere on the node.
async fn at(user: &User, node: &TestNode, method: &str, path: &str, body: &str) -> Answer {
    let json = [("content-type", "application/json")];
    let headers = if body.is_empty() { &[][..] } else { &json };
    user.over(Door::Rest)
        .ask(request(method, &format!("{}{path}", node.url()), headers, body.to_owned()))
        .await
}

#[tokio::test]
async fn a_tenant_in_the_path_is_the_agent() {
    let node = TestNode::start().await;
    let user = node.anyone("echo").over(Door::Rest);
    let send = json!({"message": message("x")}).to_string();
    for path in ["/a2a/echo/message:send", "/a2a/echo/echo/message:send", "/echo/message:send"] {
        let task = at(&user, &node, "POST", path, &send).await.ok();
        assert_eq!(task["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{path}");
    }
    let id = user.send("x").await["id"].as_str().unwrap().to_owned();
    for path in [
        format!("/echo/tasks/{id}"),
        format!("/a2a/echo/echo/tasks/{id}"),
        format!("/echo/tasks/{id}?historyLength=0"),
    ] {
        assert_eq!(at(&user, &node, "GET", &path, "").await.ok()["id"], id.as_str(), "{path}");
    }
    assert_eq!(at(&user, &node, "GET", "/echo/tasks", "").await.ok()["totalSize"], 4);
    assert_eq!(at(&user, &node, "POST", "/a2a/echo/script/message:send", &send).await.invalid(), "tenant");
    at(&user, &node, "GET", "/nobody/tasks", "").await.refused(Kind::UnknownPath);
    node.finish().await;
}

#[tokio::test]
async fn a_tenant_in_the_request_must_be_the_agent() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let send = |tenant: &str| json!({"tenant": tenant, "message": message("x")});
        for good in ["echo", ""] {
            user.call(Operation::SendMessage, send(good)).await.ok();
        }
        assert_eq!(user.call(Operation::SendMessage, send("script")).await.invalid(), "tenant");
        let listed = user.call(Operation::ListTasks, json!({"tenant": "script"})).await;
        assert_eq!(listed.invalid(), "tenant");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_trailing_slash_is_the_same_door() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let body = json!({"jsonrpc": "2.0", "id": "a", "method": "ListTasks"}).to_string();
    for below in ["", "/"] {
        let answer = user.ask(user.raw("POST", below, body.clone())).await;
        assert_eq!((answer.ok()["totalSize"].clone(), &answer.json()["id"]), (json!(0), &json!("a")));
    }
    node.finish().await;
}

/// What the conformance kits and the official clients do.
#[tokio::test]
async fn subscribing_and_cancelling_need_no_body() {
    let node = TestNode::start().await;
    let user = node.anyone("script").over(Door::Rest);
    for (method, body) in [("GET", ""), ("POST", ""), ("POST", "{}")] {
        let id = user.hand_in("x").await;
        let attempt = node.attempt("script").await;
        let subscribe = user.raw(method, &format!("/tasks/{id}:subscribe"), body);
        let mut stream = user.open_request(subscribe).await;
        assert_eq!(stream.line().await, "2 task WORKING");
        let cancel = user.raw("POST", &format!("/tasks/{id}:cancel"), body);
        let (answer, ()) = tokio::join!(user.ask(cancel), attempt.stops());
        assert_eq!(answer.ok()["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(stream.lines().await, ["4 CANCELED"]);
    }
    node.finish().await;
}

#[tokio::test]
async fn what_is_nowhere_and_what_is_not_done_there_is_json() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    for path in [
        "/",
        "/nothing",
        "/a2a",
        "/a2a/",
        "/a2a/echo/nothing",
        "/a2a/echo/tasks/a/b/c",
        "/a2a/no-such/tasks",
        "/api/v1/nothing",
        "/tasks",
        "/message:send",
        "/a2a/UPPER/tasks",
        "/a2a/echo//tasks",
    ] {
        at(&user, &node, "GET", path, "").await.refused(Kind::UnknownPath);
    }
    for (method, path, allow) in [
        ("GET", "/a2a/echo", "POST"),
        ("GET", "/a2a/echo/message:send", "POST"),
        ("PUT", "/a2a/echo/tasks", "GET"),
        ("DELETE", "/a2a/echo/tasks/x", "GET"),
        ("GET", "/a2a/echo/tasks/x:cancel", "POST"),
        ("PATCH", "/a2a/echo/tasks/x:subscribe", "GET, POST"),
        ("GET", "/echo/message:send", "POST"),
        ("POST", "/a2a/echo/.well-known/agent-card.json", "GET,HEAD"),
        ("POST", "/.well-known/agent-card.json", "GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
    ] {
        let answer = at(&user, &node, method, path, "").await;
        answer.refused(Kind::MethodNotAllowed);
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
    assert_eq!(at(&user, &node, "GET", "/healthz", "").await.status, 200);
    assert_eq!(at(&user, &node, "GET", "/readyz", "").await.status, 200);
    node.finish().await;
}

#[tokio::test]
async fn rest_answers_in_the_media_type_of_the_request() {
    let node = TestNode::start().await;
    let user = node.anyone("echo").over(Door::Rest);
    let (json, a2a) = ("application/json", "application/a2a+json");
    for (headers, wanted) in [
        (&[("content-type", json)][..], json),
        (&[("content-type", "application/json; charset=utf-8")], json),
        (&[("content-type", a2a)], a2a),
        (&[("content-type", json), ("accept", a2a)], a2a),
        (&[("content-type", json), ("accept", "*/*")], json),
    ] {
        let user = headers.iter().fold(user.clone(), |user, (name, value)| user.with(name, value));
        let answer = user.try_send(message("x")).await;
        answer.ok();
        assert_eq!(answer.header("content-type"), Some(wanted), "{headers:?}");
        let refused = user.follow_up("made up", "x").await;
        refused.refused(Kind::TaskNotFound);
        assert_eq!(refused.header("content-type"), Some(wanted), "{headers:?}");
    }
    node.finish().await;
}

/// Before the body is read as JSON: it is none here.
#[tokio::test]
async fn a_content_type_that_is_not_json_is_refused() {
    let node = TestNode::closed().await;
    let holder = node.holder("echo").await;
    for user in holder.json_doors() {
        for kind in ["text/plain", "application/xml", "application/octet-stream", "x", "application/jsonx"] {
            let (below, wrong) = if user.door == Door::Rpc { ("", "{") } else { ("/message:send", "{") };
            let user = user.with("content-type", kind);
            user.ask(user.raw("POST", below, wrong)).await.refused(Kind::ContentTypeNotSupported);
        }
        user.with("content-type", "application/a2a+json").send("x").await;
    }
    node.finish().await;
}

/// Report 24: answers are told apart by their ids, whatever their order.
#[tokio::test]
async fn answers_belong_to_their_requests() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let asked = (0..40).map(|at| {
        let body = json!({"jsonrpc": "2.0", "id": at, "method": "SendMessage",
            "params": {"message": message(&format!("text {at}"))}});
        let user = &user;
        async move { user.ask(user.raw("POST", "", body.to_string())).await.json() }
    });
    for (at, answer) in futures_util::future::join_all(asked).await.into_iter().enumerate() {
        assert_eq!(answer["id"], at);
        assert_eq!(answer["result"]["task"]["artifacts"][0]["parts"][0]["text"], format!("text {at}"));
    }
    for id in [json!("text"), json!(-7), json!(null), json!("ü")] {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "ListTasks"}).to_string();
        assert_eq!(user.ask(user.raw("POST", "", body)).await.json()["id"], id);
    }
    node.finish().await;
}

/// ProtoJSON is read leniently, and numbers keep their form.
#[tokio::test]
async fn lenient_spellings_and_exact_numbers() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let body = r#"{"message":{"message_id":"m","role":1,"parts":[{"data":{"n":9007199254740993,"f":3.0,"i":3}},{"raw":"-_8","mediaType":"x/y"}],"unknown":{"deep":[1]}}}"#;
        let request: Request<_> = match user.door {
            Door::Rest => user.raw("POST", "/message:send", body),
            Door::Rpc | Door::Grpc => user.raw(
                "POST",
                "",
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{body}}}"#),
            ),
        };
        let answer = user.ask(request).await;
        assert!(answer.text().contains(r#"{"n":9007199254740993,"f":3.0,"i":3}"#), "{}", answer.text());
        let raw: Value = answer.ok()["task"]["artifacts"][0]["parts"][1]["raw"].take();
        assert_eq!(raw, "+/8=");
    }
    node.finish().await;
}
