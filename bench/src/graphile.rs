//! Owns graphile-worker, the queue that Baton is measured beside on PostgreSQL: how it is installed and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Result;

/// One run of it.
#[derive(Debug, Deserialize)]
pub struct Jobs {
    count: f64,
    seconds: f64,
}

impl Jobs {
    pub fn per_second(&self) -> f64 {
        self.count / self.seconds.max(f64::EPSILON)
    }
}

/// Installs it, pinned, where it is not installed yet.
pub fn install() -> Result<()> {
    if folder().join("node_modules/graphile-worker").is_dir() {
        return Ok(());
    }
    eprintln!("   installing graphile-worker");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder());
    output(npm).map(|_| ())
}

/// Adds this many jobs, one at a time by each of `clients`, while as many workers take and end them.
pub fn run(host: &Path, count: u64, clients: usize) -> Result<Jobs> {
    let mut node = Command::new("node");
    node.arg(folder().join("jobs.mjs")).arg(host);
    node.args([count.to_string(), clients.to_string(), clients.to_string()]);
    Ok(serde_json::from_slice(&output(node)?)?)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("graphile")
}

fn output(mut command: Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_owned();
    let done = command.output().map_err(|why| format!("cannot run {}: {why}", name.display()))?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    Err(format!("{}: {}", name.display(), String::from_utf8_lossy(&done.stderr).trim()).into())
}
