//! A PostgreSQL cluster whose files reach the disk, to be killed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::process::Command;

/// Starts and stops clusters, and ends each when nobody uses it any more.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/postgres");

/// Ends the connections over which nodes tell and hear: what they say last is one of these.
const CUT: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'baton'
    AND query ~ '^(LISTEN|-- store.(notify|feel_pulse|notify_unsynced|channel))'";

/// What the database itself must satisfy, whatever happened: one line for each fault.
const AUDIT: &str = "
WITH ends (kind) AS (VALUES ('completed'), ('failed'), ('canceled'), ('rejected'), ('answered'))
SELECT 'numbers are not dense', id::text FROM task LEFT JOIN
    (SELECT task, count(*) n, min(seq) low, max(seq) high FROM log GROUP BY task) l ON l.task = key
    WHERE n IS DISTINCT FROM task.seq OR low IS DISTINCT FROM 1 OR high IS DISTINCT FROM task.seq
UNION ALL SELECT 'events of no task', task::text FROM log WHERE task NOT IN (SELECT key FROM task)
UNION ALL SELECT 'not one end', id::text FROM task WHERE phase NOT IN (SELECT kind FROM ends)
    OR (SELECT array_agg(log.seq) FROM log WHERE log.task = key AND kind IN (SELECT kind FROM ends))
        IS DISTINCT FROM ARRAY[task.seq]
UNION ALL SELECT 'attempts', id::text FROM task LEFT JOIN
    (SELECT task, count(*) n FROM log WHERE kind = 'claimed' GROUP BY task) l ON l.task = key
    WHERE coalesce(n, 0) <> attempt
UNION ALL SELECT 'kept counts', scope || ' ' || shown_state FROM (
    SELECT scope, shown_state, n FROM task_count UNION ALL SELECT scope, shown_state, n FROM task_count_delta
    UNION ALL SELECT scope, shown_state, -1 FROM task) c GROUP BY scope, shown_state HAVING sum(n) <> 0
UNION ALL SELECT 'a key of no task', key FROM idempotency WHERE task_id NOT IN (SELECT id FROM task)";

#[derive(Debug)]
pub struct Database {
    folder: PathBuf,
    /// As long as somebody holds a shared lock on it, the cluster stays.
    _used: File,
    _within: TempDir,
}

impl Database {
    pub async fn start() -> Self {
        let within = tempfile::tempdir().unwrap();
        // The server runs as another user where the tests are run by root.
        std::fs::set_permissions(within.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let folder = within.path().join("pg");
        let used = OpenOptions::new().create(true).append(true).open(folder.with_extension("users")).unwrap();
        used.lock_shared().unwrap();
        let database = Self { folder, _used: used, _within: within };
        database
            .control("up", &["fsync=on", "full_page_writes=on", "recovery_init_sync_method=syncfs"])
            .await;
        database
    }

    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=baton", self.folder.display())
    }

    /// As after a loss of power: what is under way is lost.
    pub async fn kill(&self) {
        self.control("stop", &["immediate"]).await;
    }

    pub async fn begin(&self) {
        self.control("begin", &[]).await;
    }

    /// Cuts what nodes tell one another: how many connections that were.
    pub async fn cut(&self) -> u64 {
        self.ask(CUT).await.trim().parse().unwrap()
    }

    /// Looks into what nodes have left.
    pub async fn audit(&self) {
        assert_eq!(self.ask(AUDIT).await, "");
    }

    async fn ask(&self, sql: &str) -> String {
        self.control("ask", &[sql]).await
    }

    async fn control(&self, verb: &str, rest: &[&str]) -> String {
        run(&self.folder, verb, rest).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::process::Command::new(SCRIPT).arg("end").arg(&self.folder).output();
    }
}

async fn run(folder: &Path, verb: &str, rest: &[&str]) -> String {
    let ran = Command::new(SCRIPT).arg(verb).arg(folder).args(rest).output().await.unwrap();
    assert!(ran.status.success(), "{verb}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}
