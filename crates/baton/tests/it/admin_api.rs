//! The admin API against its own description: schemathesis makes requests from it, right and wrong ones.
//!
//! Without schemathesis this fails under `CI`; elsewhere it says so and passes.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, UnixStream};
use tokio::process::Command;
use tokio::time::timeout;

use crate::clients::{Node, root};

/// Far more than it takes, so that only a hang fails on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// What must hold of every answer. Whether a request is right is not for the schema alone to say (an agent must exist), so that
/// a refusal of one that fits it is none.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,negative_data_rejection";

/// A port of loopback that leads to the node's own socket. Whoever connects there is this test.
async fn forward(socket: &Path) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = socket.to_owned();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let socket = socket.clone();
            tokio::spawn(async move {
                if let Ok(mut node) = UnixStream::connect(socket).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut node).await;
                }
            });
        }
    });
    port
}

/// What requests name: something that is there.
fn names(task: &str, grant: &str) -> String {
    let of = |path: &str, name: &str| {
        format!("[[operations]]\ninclude-path-regex = \"^/api/v1/{path}/\"\nparameters = {name}\n")
    };
    [
        of("tasks", &format!("{{ \"path.id\" = {task:?} }}")),
        of("grants", &format!("{{ \"path.id\" = {grant:?} }}")),
        of("agents", "{ \"path.name\" = \"clients\" }"),
    ]
    .concat()
}

async fn begin(node: &Node) -> (String, String) {
    node.run(&["send", &node.url, "echo hello"]).await;
    let found = node.json(&["task", "list", "--json"]).await;
    let task = found["tasks"][0]["task"]["id"].as_str().unwrap_or_else(|| panic!("{found}")).to_owned();
    let create = ["grants", "create", "--label", "schemathesis", "--agent", "clients", "--json"];
    let grant = node.json(&create).await;
    (task, grant["id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn is_as_it_is_described() {
    // A script beside it would name the folder that it was installed in.
    let program = root().join("target/clients/schemathesis/bin/python");
    if !program.exists() && std::env::var_os("CI").is_none() {
        eprintln!("schemathesis is not installed: conformance/clients/install");
        return;
    }
    let node = Node::start().await;
    let (task, grant) = begin(&node).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("schemathesis.toml");
    std::fs::write(&config, names(&task, &grant)).unwrap();
    let port = forward(&node.data().join("baton.sock")).await;
    let document = format!("http://127.0.0.1:{port}/api/v1/openapi.json");
    let run = Command::new(program)
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(&config)
        .args(["run", &document, "--checks", CHECKS, "--phases", "coverage,fuzzing", "--max-examples", "10"])
        // They stop the node, or take what stops it.
        .args(["--exclude-path", "/api/v1/node/drain", "--exclude-path", "/api/v1/rpc"])
        // What follows a task that goes on has no end.
        .args(["--exclude-path", "/api/v1/tasks/{id}/events"])
        .args(["--seed", "1", "--generation-database", "none", "--request-timeout", "30", "--no-color"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ran = timeout(PATIENCE, run).await.expect("it ends").unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("Coverage (in") && said.contains("Fuzzing (in"), "{said}");
    let status: Value = node.json(&["node", "status", "--json"]).await;
    assert_eq!(status["draining"], json!(false), "it serves on: {status}");
    node.stop().await;
}
