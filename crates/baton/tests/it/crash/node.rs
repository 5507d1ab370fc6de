//! The real binary on a data folder of its own: started, killed, and looked at from outside.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use super::client::Client;

/// Far more than anything here takes, so that only a hang fails on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Within which everything must be gone after the node is (DESIGN §7).
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// The agents. Each gets a mark that nothing else on the machine has among its arguments.
const CONFIGURATION: &str = r#"
[node]
dev = true

[agents.echo]
runner = { kind = "echo" }

[agents.hello]
backoff = "1ms"
max_attempts = 100
runner = { kind = "process", protocol = "text", command = ["EXAMPLES/hello.sh", "MARK"], concurrency = 8 }

[agents.slow]
backoff = "1ms"
max_attempts = 100
runner = { kind = "process", protocol = "text", command = ["sh", "-c", 'x=$(cat); for i in 1 2 3 4; do echo "$x $i"; sleep 0.05; done', "MARK"], concurrency = 8 }

[agents.once]
retry = "never"
runner = { kind = "process", protocol = "text", command = ["sh", "-c", 'x=$(cat); for i in 1 2 3 4; do echo "$x $i"; sleep 0.05; done', "MARK"], concurrency = 8 }

[agents.parrot]
backoff = "1ms"
max_attempts = 100
runner = { kind = "process", protocol = "jsonl", command = ["python3", "EXAMPLES/echo.py", "MARK"], concurrency = 8 }

[agents.survey]
backoff = "1ms"
max_attempts = 100
runner = { kind = "process", protocol = "jsonl", command = ["python3", "EXAMPLES/survey.py", "MARK"], concurrency = 8 }
"#;

/// Nodes on one database have one: 32 bytes.
const KEY: &str = "YmF0b24gYmF0b24gYmF0b24gYmF0b24gYmF0b24gYmE=";

/// A data folder and a configuration; they outlive the nodes that use them.
#[derive(Debug)]
pub struct Place {
    folder: TempDir,
    mark: String,
    /// The database that it shares with others.
    store: Option<String>,
}

impl Place {
    pub fn new() -> Self {
        Self::with_agents("")
    }

    /// With more agents; `MARK` and `FOLDER` in their text stand for the mark and a folder for their files.
    pub fn with_agents(more: &str) -> Self {
        Self::with_configuration(&format!("{CONFIGURATION}{more}"))
    }

    /// With nothing but this.
    pub fn with_configuration(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = format!("mark-{}", folder.path().file_name().unwrap().display());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let text = text
            .replace("EXAMPLES", &root.join("examples").display().to_string())
            .replace("FOLDER", &folder.path().display().to_string())
            .replace("MARK", &mark);
        std::fs::write(folder.path().join("baton.toml"), text).unwrap();
        Self { folder, mark, store: None }
    }

    /// Whose node keeps everything in this database, as others do.
    pub fn on(store: String) -> Self {
        Self { store: Some(store), ..Self::new() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The operator's door.
    pub fn socket(&self) -> PathBuf {
        self.data().join("baton.sock")
    }

    /// `baton serve`, ready to be run.
    pub fn command(&self) -> Command {
        let binary = std::env::var_os("BATON_CHAOS_BINARY");
        let mut command = Command::new(binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_baton").into()));
        command.args(["serve", "--listen", "http://127.0.0.1:0", "--config"]);
        command.arg(self.folder().join("baton.toml")).arg("--data-dir").arg(self.data());
        if let Some(store) = &self.store {
            command.env("BATON_STORE", store).env("BATON_SECRET_KEY", KEY);
        }
        command.current_dir(self.folder()).env("BATON_LOG", "warn").env_remove("BATON_CRASH_AT");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// A node that answers.
    pub async fn start(&self) -> Node {
        Starting::new(self.command()).ready().await.expect("the node starts")
    }

    /// A node that will kill itself at a point of [`baton::crash`], for the `n`th time it passes.
    pub fn start_to_die(&self, at: &str, n: usize) -> Starting {
        let mut command = self.command();
        command.env("BATON_CRASH_AT", format!("{at}:{n}"));
        Starting::new(command)
    }

    /// Processes that agents of this place are, wardens included.
    pub fn children(&self) -> Vec<Pid> {
        let ours = |pid: &Pid| {
            let path = format!("/proc/{pid}/cmdline");
            let line = std::fs::read(path).unwrap_or_default();
            line.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        pids.filter(ours).collect()
    }

    /// Waits until no child is left of a node that has just ended: how long that took.
    pub async fn childless(&self) -> Duration {
        let start = Instant::now();
        loop {
            let children = self.children();
            let waited = start.elapsed();
            if children.is_empty() {
                return waited;
            }
            assert!(waited < GONE_WITHIN, "{children:?} are left {waited:?} after the end of their node");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A process that may become a node that answers.
#[derive(Debug)]
pub struct Starting(Child);

/// A node that answers.
#[derive(Debug)]
pub struct Node {
    process: Child,
    pub address: SocketAddr,
}

impl Starting {
    pub fn new(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Waits until it answers, or has ended.
    pub async fn ready(mut self) -> Result<Node, ExitStatus> {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        while let Some(line) = timeout(PATIENCE, lines.next_line()).await.expect("the node speaks").unwrap() {
            if let Some(address) = address_in(&line) {
                // What else it says must not block it.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(Node { process: self.0, address });
            }
        }
        Err(timeout(PATIENCE, self.0.wait()).await.expect("a silent node has ended").unwrap())
    }

    /// Kills it wherever it is.
    pub async fn kill(mut self) {
        self.0.kill().await.unwrap();
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

impl Node {
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().unwrap().try_into().unwrap()).unwrap()
    }

    /// SIGKILL, and waits until it is no more.
    pub async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }

    pub fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> ExitStatus {
        timeout(PATIENCE, self.process.wait()).await.expect("the node ends").unwrap()
    }

    /// As [`Node::ended`], for a while; gives it back when it lives on.
    pub async fn ended_within(mut self, life: Duration) -> Result<ExitStatus, Self> {
        match timeout(life, self.process.wait()).await {
            Ok(status) => Ok(status.unwrap()),
            Err(_) => Err(self),
        }
    }

    /// Drains it: how long that took. It must be well, and nothing of it may be left.
    pub async fn stop(self, place: &Place) -> Duration {
        let start = Instant::now();
        self.terminate();
        let status = self.ended().await;
        assert!(status.success(), "{status}");
        assert_eq!(place.children(), [], "a drained node leaves nobody behind");
        start.elapsed()
    }
}
