//! Throw-away clusters: one that all tests share, each with a schema of its own, and some that a test has for itself.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use baton_store::postgres::Settings;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Starts and stops them, and ends each when nobody uses it any more.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/postgres");

/// Where the shared one is.
const SHARED: &str = "baton-tests-postgres";

/// A cluster that runs as long as this is there, and some seconds longer.
pub struct Cluster {
    folder: PathBuf,
    _used: File,
}

impl Cluster {
    /// Runs in `folder`, with these settings where it is new.
    fn up(folder: PathBuf, settings: &[&str]) -> Self {
        let used = OpenOptions::new().append(true).create(true).open(folder.with_extension("users")).unwrap();
        used.lock_shared().unwrap();
        let cluster = Self { folder, _used: used };
        cluster.run("up", settings);
        cluster
    }

    /// That of all tests that run at the moment.
    pub fn shared() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| {
            let user = rustix::process::getuid().as_raw();
            Self::up(std::env::temp_dir().join(format!("{SHARED}-{user}")), &[])
        })
    }

    pub fn stop(&self, mode: &str) {
        self.run("stop", &[mode]);
    }

    pub fn begin(&self) {
        self.run("begin", &[]);
    }

    fn run(&self, verb: &str, rest: &[&str]) {
        let ran = Command::new(SCRIPT).arg(verb).arg(&self.folder).args(rest).output().unwrap();
        assert!(ran.status.success(), "{verb}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// The URL of a database in it; `more` are further settings of the connection.
    pub fn url(&self, more: &str) -> String {
        format!("postgres:///postgres?host={}&user=baton&{more}", self.folder.display())
    }
}

/// One that a test has for itself: it may stop it.
pub struct Own {
    pub cluster: Cluster,
    folder: TempDir,
}

impl Own {
    pub fn new(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        open_to_others(folder.path());
        let cluster = Cluster::up(folder.path().join("pg"), settings);
        Self { cluster, folder }
    }

    /// Where the test may put files that the server reads.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = Command::new(SCRIPT).arg("end").arg(&self.cluster.folder).output();
    }
}

/// The server runs as another user where the tests are run by root.
pub fn open_to_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A schema of its own in a cluster: as good as a database of its own.
#[derive(Clone)]
pub struct Schema {
    name: String,
    url: String,
}

impl Schema {
    pub async fn fresh(cluster: &Cluster) -> Self {
        let url = cluster.url("");
        let name: String = connect(&url)
            .await
            .query_one("SELECT 's' || replace(gen_random_uuid()::text, '-', '')", &[])
            .await
            .unwrap()
            .get(0);
        connect(&url).await.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        let url = cluster.url(&format!("application_name={name}&options=-c%20search_path%3D{name}"));
        Self { name, url }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn settings(&self) -> Settings {
        Settings::parse(&self.url).unwrap()
    }

    /// A connection beside the store's own.
    pub async fn beside(&self) -> Client {
        connect(&self.url.replace("application_name=", "application_name=beside-")).await
    }

    /// Ends every connection of the store's own.
    pub async fn cut(&self) -> i64 {
        let ended = "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1) AS ended";
        self.beside().await.query_one(ended, &[&self.name]).await.unwrap().get(0)
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
