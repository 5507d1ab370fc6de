//! Owns how the measured node is started and asked: its command line, configuration and public doors.
//!
//! Everything that the bench presumes about Baton besides A2A itself stands in this file and in `jsonl`.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::blocking::{self, Client};
use crate::child::{Memory, Server};
use crate::http::Door;
use crate::load::{self, Limits, Target};
use crate::messages::{Expect, Send};
use crate::options::Options;
use crate::work::CLERK;
use crate::{Result, jsonl};

/// The JSON-RPC door of the built-in agent.
pub const ECHO: &str = "/a2a/echo";
/// The JSON-RPC door of the `jsonl` agent that [`Node::start_with_jsonl`] configures.
pub const TURN: &str = "/a2a/turn";
/// A fill that is slower than this many tasks per second is given up.
const SLOWEST_FILL: u64 = 200;

#[derive(Debug)]
pub struct Node {
    server: Server,
    data: PathBuf,
}

impl Node {
    /// `baton serve` over a data folder, run in `folder`, without a configuration file.
    pub fn start(binary: &Path, folder: &Path, data: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "http://127.0.0.1:0", "--data-dir"]).arg(data);
        Self::launch(command, folder, data)
    }

    /// The same, allowed to call webhooks on 127.0.0.1.
    pub fn start_with_webhooks(binary: &Path, folder: &Path, data: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--allow-net", "127.0.0.1", "--listen", "http://127.0.0.1:0", "--data-dir"])
            .arg(data);
        Self::launch(command, folder, data)
    }

    /// The same with one `jsonl` process agent, which needs a configuration file.
    pub fn start_with_jsonl(binary: &Path, folder: &Path) -> Result<Self> {
        let data = folder.join("data");
        let file = folder.join("baton.toml");
        std::fs::write(&file, configuration()?)?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("--config").arg(&file);
        command.args(["--listen", "http://127.0.0.1:0", "--data-dir"]).arg(&data);
        Self::launch(command, folder, &data)
    }

    /// The same with an agent that workers serve, over this store.
    pub fn start_with_clerk(binary: &Path, folder: &Path, store: &str) -> Result<Self> {
        let data = folder.join("data");
        let file = folder.join("baton.toml");
        let text = format!(
            "[node]\ndev = true\nstore = \"{store}\"\n\n[agents.{CLERK}]\nrunner = {{ kind = \"pull\" }}\n"
        );
        std::fs::write(&file, text)?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("--config").arg(&file);
        command.args(["--listen", "http://127.0.0.1:0", "--data-dir"]).arg(&data);
        Self::launch(command, folder, &data)
    }

    /// The same under callgrind, which writes to `callgrind.out.N` in `folder` when it is told to.
    pub fn start_counted(binary: &Path, folder: &Path) -> Result<Self> {
        let data = folder.join("data");
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=callgrind.out"]).arg(binary);
        command.args(["serve", "--listen", "http://127.0.0.1:0", "--data-dir"]).arg(&data);
        Self::launch(command, folder, &data)
    }

    fn launch(mut command: Command, folder: &Path, data: &Path) -> Result<Self> {
        command.current_dir(folder);
        let server = Server::start(command, &folder.join("baton.log"))?;
        let node = Self { server, data: data.to_owned() };
        node.client()?.get("/healthz")?;
        Ok(node)
    }

    /// Since the process was started.
    pub fn age(&self) -> Duration {
        self.server.started.elapsed()
    }

    pub fn client(&self) -> Result<Client<TcpStream>> {
        blocking::tcp(self.server.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    pub fn memory(&self) -> Result<Memory> {
        self.server.memory()
    }

    pub fn forget_peak(&self) -> Result<()> {
        self.server.forget_peak()
    }

    pub fn stop(self) -> Result<()> {
        self.server.stop()
    }

    /// Commits since the node's start, from the status document on its socket.
    pub fn commits(&self) -> Result<u64> {
        let status = blocking::unix(&self.data.join("baton.sock"))?.get_json("/api/v1/status")?;
        commits_in(&status)
    }

    /// The token of a new grant that may do everything with these agents.
    pub fn token(&self, agents: &[&str]) -> Result<String> {
        self.granted(agents, &["send", "read", "cancel"])
    }

    /// The token of a new grant that may work on an agent's tasks.
    pub fn worker_token(&self, agent: &str) -> Result<String> {
        self.granted(&[agent], &["work"])
    }

    fn granted(&self, agents: &[&str], verbs: &[&str]) -> Result<String> {
        let wanted = json!({"label": "bench", "agents": agents, "verbs": verbs});
        let made = blocking::unix(&self.data.join("baton.sock"))?
            .post("/api/v1/grants", wanted.to_string().as_bytes())?;
        let made: Value = serde_json::from_slice(&made)?;
        made["token"].as_str().map(str::to_owned).ok_or_else(|| "no token in the new grant".into())
    }

    pub fn id(&self) -> u32 {
        self.server.id()
    }

    /// The cookie of a session at the console, by a link of the node's socket.
    pub fn sign_in(&self) -> Result<String> {
        let invited = blocking::unix(&self.data.join("baton.sock"))?.post("/api/v1/login", b"{}")?;
        let invited: Value = serde_json::from_slice(&invited)?;
        let code = invited["code"].as_str().ok_or("no code in the invitation")?;
        let mut client = self.client()?;
        let (host, body) = (client.host().to_owned(), format!("code={code}"));
        let (status, head, _) = client.ask(&format!(
            "POST /console/login HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncontent-type: \
             application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next());
        cookie.map(str::to_owned).ok_or_else(|| format!("no session: HTTP {status}").into())
    }

    pub fn door(&self, path: &str) -> Door {
        self.server.door(path)
    }

    pub fn send_target(&self, name: &'static str) -> Target {
        Target::new(name, &self.server, Send::new(&self.door(ECHO), Expect::CompletedTask))
    }

    pub fn target(&self, name: &'static str, exchange: impl load::Exchange + 'static) -> Target {
        Target::new(name, &self.server, exchange)
    }

    /// Hands `count` echo tasks in; with `contexts`, half of them in that many conversations.
    pub fn fill(&self, options: &Options, count: u64, contexts: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let target = self.target("fill", Send::with_contexts(&self.door(ECHO), contexts));
        let limits = Limits {
            connections: options.connections,
            threads: options.threads,
            time: Duration::from_secs(30 + count / SLOWEST_FILL),
            count: Some(count),
        };
        load::run(&target, limits).map(|_| ())
    }

    /// How many tasks the caller sees, as ListTasks counts them.
    pub fn stored_tasks(&self) -> Result<u64> {
        let page = self.client()?.call(ECHO, "ListTasks", &json!({"pageSize": 1}))?;
        page.get("totalSize").and_then(Value::as_u64).ok_or_else(|| "ListTasks without totalSize".into())
    }
}

/// `store.commits` of a status document.
pub fn commits_in(status: &Value) -> Result<u64> {
    status
        .pointer("/store/commits")
        .and_then(Value::as_u64)
        .ok_or_else(|| "the status has no store.commits".into())
}

fn configuration() -> Result<String> {
    let command: Vec<String> = jsonl::command()?;
    // A JSON array of plain strings is also a TOML array.
    let command = serde_json::to_string(&command)?;
    Ok(format!(
        "[node]\ndev = true\n\n[agents.turn]\ndescription = \"Answers a line\"\n\
         runner = {{ kind = \"process\", command = {command}, protocol = \"jsonl\" }}\n"
    ))
}
