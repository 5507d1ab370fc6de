//! The command line, as people and scripts use it: the real binary, its two streams and its exit code.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

mod cards;
mod clients;
mod elsewhere;
mod files;
mod login;
mod node;
mod terminal;

pub use terminal::at_terminal;

/// Far more than anything here takes, so that only a hang fails on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder that commands are run in.
pub struct Desk {
    pub dir: TempDir,
}

/// What a command left.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Desk {
    pub fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary, with nothing of this machine's settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(args).current_dir(self.path()).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub async fn run(&self, args: &[&str]) -> Ended {
        finish(self.command(args)).await
    }

    /// The same, with `input` piped in.
    pub async fn run_with(&self, input: &str, args: &[&str]) -> Ended {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        Ended::of(timeout(PATIENCE, child.wait_with_output()).await.expect("the command ends").unwrap())
    }
}

pub async fn finish(mut command: Command) -> Ended {
    Ended::of(timeout(PATIENCE, command.output()).await.expect("the command ends").unwrap())
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The result of a command that must have ended well.
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}
