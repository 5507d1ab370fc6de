//! Processes at a unix socket, known by the user that they run as.

use baton::config::settings::{Listen, Settings, UserRule};
use baton_store::Verb;
use serde_json::{Value, json};

use crate::harness::{Answer, TestNode, message, over_socket};

fn rule(uid: Option<u32>, gid: Option<u32>, grant: &str) -> UserRule {
    UserRule { uid, gid, grant: grant.to_owned() }
}

async fn start(change: impl FnOnce(&mut Settings)) -> (TestNode, std::path::PathBuf) {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        let socket = settings.node.data_dir.with_file_name("a2a.sock");
        settings.node.listen.push(Listen::Unix(socket));
        change(settings);
    })
    .await;
    let socket = node.folder().join("a2a.sock");
    (node, socket)
}

async fn send(socket: &std::path::Path) -> Answer {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("x")}});
    over_socket(socket, "POST", "/a2a/echo", Some(&body)).await
}

/// Our own ids.
fn ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

async fn label_grant(node: &TestNode, label: &str) {
    let body = json!({"label": label, "agents": ["echo"], "verbs": Verb::ALL});
    node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
}

#[tokio::test]
async fn a_process_opens_the_grant_of_its_user() {
    let (uid, gid) = ids();
    for (wanted_uid, wanted_gid) in [(Some(uid), None), (None, Some(gid)), (Some(uid), Some(gid))] {
        let (node, socket) =
            start(|settings| settings.auth.users = vec![rule(wanted_uid, wanted_gid, "ci")]).await;
        assert_eq!(send(&socket).await.status, 401, "there is no such grant yet");
        label_grant(&node, "ci").await;
        let task: Value = send(&socket).await.json()["result"]["task"].take();
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        // The same process over TCP is nobody.
        node.anyone("echo").try_send(message("x")).await.refused(baton_wire::fault::Kind::Unauthenticated);
        node.finish().await;
    }
}

#[tokio::test]
async fn another_user_is_nobody() {
    let (uid, gid) = ids();
    let others = [
        vec![],
        vec![rule(Some(uid + 1), None, "ci")],
        vec![rule(None, Some(gid + 1), "ci")],
        vec![rule(Some(uid), Some(gid + 1), "ci"), rule(Some(uid + 1), Some(gid), "ci")],
    ];
    for rules in others {
        let (node, socket) = start(|settings| settings.auth.users = rules).await;
        label_grant(&node, "ci").await;
        assert_eq!(send(&socket).await.status, 401);
        node.finish().await;
    }
}

/// The rules are for the sockets of agents' callers: the node's own is the operator's.
#[tokio::test]
async fn the_nodes_own_socket_knows_no_such_rule() {
    let (uid, _) = ids();
    let (node, _) = start(|settings| settings.auth.users = vec![rule(Some(uid), None, "ci")]).await;
    label_grant(&node, "ci").await;
    assert_eq!(send(&node.node().socket).await.status, 401);
    node.finish().await;
}
