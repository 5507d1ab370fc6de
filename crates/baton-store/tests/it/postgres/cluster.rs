//! Throw-away clusters: one that all tests share, each with a schema of its own, and some that a test has for itself.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use baton_store::postgres::Settings;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Starts and stops them, and ends each when nobody uses it any more.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/postgres");

/// Where the shared one is.
const SHARED: &str = "baton-tests-postgres";

/// A cluster that runs as long as this is there, and some seconds longer.
#[derive(Clone)]
pub struct Cluster {
    folder: PathBuf,
    port: String,
    _used: Arc<File>,
}

impl Cluster {
    /// Runs in `folder`, with these settings where it is new.
    fn up(folder: PathBuf, settings: &[&str]) -> Self {
        let used = OpenOptions::new().append(true).create(true).open(folder.with_extension("users")).unwrap();
        used.lock_shared().unwrap();
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port="));
        let cluster = Self { folder, port: port.unwrap_or("5432").to_owned(), _used: Arc::new(used) };
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
        format!("postgres:///postgres?host={}&port={}&user=baton&{more}", self.folder.display(), self.port)
    }
}

/// One that a test has for itself: it may stop it.
pub struct Own {
    pub cluster: Cluster,
    _folder: TempDir,
}

impl Own {
    pub fn new(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        open_to_others(folder.path());
        let cluster = Cluster::up(folder.path().join("pg"), settings);
        Self { cluster, _folder: folder }
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

/// A file that is the server's alone, as it asks of its keys.
pub fn give_to_server(path: &Path) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = std::fs::metadata(Cluster::shared().folder.join("data")).unwrap();
    chown(path, Some(server.uid()), Some(server.gid())).unwrap();
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

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn settings(&self) -> Settings {
        Settings::parse(&self.url).unwrap()
    }

    /// A connection beside the store's own.
    pub async fn beside(&self) -> Client {
        connect(&self.url.replace("application_name=", "application_name=beside-")).await
    }

    /// Ends every connection of the store's own.
    pub async fn cut_by(&self, beside: &Client) {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        beside.query(cut, &[&self.name]).await.unwrap();
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
