//! Owns the throw-away PostgreSQL cluster of a run: its files reach the disk as those of a database that is meant to last.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    /// As long as somebody holds a shared lock on it, the cluster stays.
    _used: File,
}

impl Cluster {
    pub fn start(within: &Path) -> Result<Self> {
        let folder = within.join("postgres");
        let used =
            OpenOptions::new().create(true).append(true).open(format!("{}.users", folder.display()))?;
        used.lock_shared()?;
        let cluster = Self { folder, _used: used };
        cluster.control("up", &["fsync=on", "full_page_writes=on"])?;
        Ok(cluster)
    }

    /// What Baton is told.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=baton", self.folder.display())
    }

    /// The folder of its socket, where the user `baton` needs no password.
    pub fn host(&self) -> &Path {
        &self.folder
    }

    fn control(&self, verb: &str, settings: &[&str]) -> Result<()> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/postgres");
        let made = Command::new(script).arg(verb).arg(&self.folder).args(settings).output()?;
        if made.status.success() {
            return Ok(());
        }
        Err(format!("no PostgreSQL: {}", String::from_utf8_lossy(&made.stderr).trim()).into())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(why) = self.control("end", &[]) {
            eprintln!("   {why}");
        }
    }
}
