//! The official clients of A2A, in both versions, against the real binary: what `conformance/clients` installs and runs.
//!
//! Without them these tests fail under `CI`; elsewhere they say so and pass.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Far more than all checks of a client take, so that only a hang fails on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// The exit status of `conformance/clients/run` where the client is not installed.
const MISSING: i32 = 3;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The node of `conformance/clients/node.toml`, as a process of its own.
pub struct Node {
    child: Child,
    pub url: String,
    data: tempfile::TempDir,
}

fn baton(data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args).arg("--data-dir").arg(data).current_dir(root());
    command.env_remove("RUST_LOG").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true);
    command
}

impl Node {
    pub async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let serve = ["serve", "--config", "conformance/clients/node.toml", "--listen", "http://127.0.0.1:0"];
        let child = baton(data.path(), &serve).stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        // Until it answers its operator.
        let agents: Value = loop {
            let asked = baton(data.path(), &["agents", "--json"]).output().await.unwrap();
            if asked.status.success() {
                break serde_json::from_slice(&asked.stdout).unwrap();
            }
            assert!(begun.elapsed() < PATIENCE, "{asked:?}");
        };
        let url = agents["agents"][0]["url"].as_str().unwrap().to_owned();
        Self { child, url, data }
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// What a command prints.
    pub async fn run(&self, args: &[&str]) -> Vec<u8> {
        let ran = baton(self.data(), args).output().await.unwrap();
        assert!(ran.status.success(), "{args:?}: {ran:?}");
        ran.stdout
    }

    pub async fn json(&self, args: &[&str]) -> Value {
        serde_json::from_slice(&self.run(args).await).unwrap()
    }

    pub async fn stop(mut self) {
        let pid = Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the node drains").unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

/// Every check of one client over these bindings.
async fn passes(client: &str, bindings: &str) {
    let node = Node::start().await;
    let run = Command::new(root().join("conformance/clients/run"))
        .args([client, &node.url, "--bindings", bindings])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ran = timeout(PATIENCE, run).await.expect("it ends").unwrap();
    node.stop().await;
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    if ran.status.code() == Some(MISSING) && std::env::var_os("CI").is_none() {
        eprintln!("{said}");
        return;
    }
    assert!(ran.status.success(), "{said}");
}

const ALL: &str = "JSONRPC,HTTP+JSON,GRPC";

#[tokio::test]
async fn python_0_3() {
    passes("python-v0_3", ALL).await;
}

#[tokio::test]
async fn python_1() {
    passes("python-v1", ALL).await;
}

#[tokio::test]
async fn javascript_0_3() {
    passes("javascript-v0_3", ALL).await;
}

#[tokio::test]
async fn javascript_1() {
    passes("javascript-v1", ALL).await;
}

#[tokio::test]
async fn rust() {
    passes("rust", ALL).await;
}

/// The official clients of MCP, as workers for callers of A2A and the other way round.
#[tokio::test]
async fn mcp_python() {
    passes("python-worker", ALL).await;
}

#[tokio::test]
async fn mcp_typescript() {
    passes("javascript-worker", ALL).await;
}
