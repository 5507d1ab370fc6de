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
        for bad in ["99.0", "0.2", "1", "1.1", "v1.0", "1.0, 0.3", "1.0.x"] {
            let answer = user.with("a2a-version", bad).call(Operation::ListTasks, json!({})).await;
            answer.refused(Kind::VersionNotSupported);
        }
        let twice = user.with("a2a-version", "1.0").with("a2a-version", "0.3");
        twice.call(Operation::ListTasks, json!({})).await.refused(Kind::VersionNotSupported);

        let query = |query: &str| match user.door {
            Door::Rest => user.raw("GET", &format!("/tasks?{query}"), ""),
            Door::Rpc | Door::Grpc => {
                user.raw("POST", &format!("?{query}"), r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#)
            }
        };
        if user.door == Door::Grpc {
            // The service is of one version; an empty one is 0.3.
            for old in ["0.3", "0.3.0", "", " "] {
                let answer = user.with("a2a-version", old).try_send(message("x")).await;
                answer.refused(Kind::VersionNotSupported);
            }
            assert_eq!(user.list(json!({})).await["totalSize"], 0, "nothing was stored");
            continue;
        }
        for good in ["A2A-Version=1.0", "a2a-version=1.0.7"] {
            assert_eq!(user.ask(query(good)).await.ok()["totalSize"], 0, "{good}");
        }
        for bad in ["A2A-Version=0.4", "A2A-Version=1.0&A2A-Version=0.3", "A2A-Version=1.0&A2A-Version="] {
            user.ask(query(bad)).await.refused(Kind::VersionNotSupported);
        }
        // What is asked for decides: in 0.3 there is no such method and no such path. An empty version is 0.3.
        let elsewhere = if user.door == Door::Rpc { Kind::MethodNotFound } else { Kind::UnknownPath };
        for old in ["0.3", "0.3.0", "", " "] {
            user.with("a2a-version", old).try_send(message("x")).await.refused(elsewhere);
        }
        user.ask(query("A2A-Version=0.3")).await.refused(elsewhere);
        assert_eq!(user.list(json!({})).await["totalSize"], 0, "nothing was stored");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_method_that_is_nowhere_is_not_found() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let body = json!({"jsonrpc": "2.0", "id": "x", "method": "tasks/nonsense"}).to_string();
    let answer = user.ask(user.raw("POST", "", body)).await;
    answer.refused(Kind::MethodNotFound);
    assert_eq!(answer.json()["id"], "x");
    node.finish().await;
}
