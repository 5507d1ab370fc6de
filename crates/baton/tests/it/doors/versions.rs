//! Which version of A2A a request asks for.

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use crate::harness::{Door, TestNode, message};

/// Report 12.
#[tokio::test]
async fn the_version_is_chosen_by_header_or_query() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        assert_eq!(user.list(json!({})).await["totalSize"], 0, "absent: by the method or the path");
        for good in ["1.0", "1.0.3", " 1.0 ", "1.0, 1.0.1"] {
            assert_eq!(user.with("a2a-version", good).list(json!({})).await["totalSize"], 0, "{good}");
        }
        for bad in ["99.0", "0.3", "", "1", "1.1", "v1.0", "1.0, 0.3", "1.0.x"] {
            let answer = user.with("a2a-version", bad).call(Operation::ListTasks, json!({})).await;
            answer.refused(Kind::VersionNotSupported);
        }
        let twice = user.with("a2a-version", "1.0").with("a2a-version", "0.3");
        twice.call(Operation::ListTasks, json!({})).await.refused(Kind::VersionNotSupported);

        let query = |query: &str| match user.door {
            Door::Rest => user.raw("GET", &format!("/tasks?{query}"), ""),
            Door::Rpc => {
                user.raw("POST", &format!("?{query}"), r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#)
            }
        };
        for good in ["A2A-Version=1.0", "a2a-version=1.0.7"] {
            assert_eq!(user.ask(query(good)).await.ok()["totalSize"], 0, "{good}");
        }
        for bad in ["A2A-Version=0.3", "A2A-Version=", "A2A-Version=1.0&A2A-Version=0.3"] {
            user.ask(query(bad)).await.refused(Kind::VersionNotSupported);
        }
        let answer = user.with("a2a-version", "0.3").try_send(message("x")).await;
        answer.refused(Kind::VersionNotSupported);
        assert_eq!(user.list(json!({})).await["totalSize"], 0, "nothing was stored");
    }
    node.finish().await;
}

#[tokio::test]
async fn the_methods_and_paths_of_0_3_are_a_version_that_is_not_served() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    for method in ["message/send", "message/stream", "tasks/get", "tasks/resubscribe"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
        user.ask(user.raw("POST", "", body)).await.refused(Kind::VersionNotSupported);
    }
    let body = json!({"jsonrpc": "2.0", "id": "x", "method": "tasks/nonsense"}).to_string();
    let answer = user.ask(user.raw("POST", "", body)).await;
    answer.refused(Kind::MethodNotFound);
    assert_eq!(answer.json()["id"], "x");
    let rest = user.over(Door::Rest);
    for (method, path) in [("POST", "/v1/message:send"), ("GET", "/v1/tasks/x"), ("GET", "/v1/card")] {
        rest.ask(rest.raw(method, path, "")).await.refused(Kind::VersionNotSupported);
    }
    node.finish().await;
}
