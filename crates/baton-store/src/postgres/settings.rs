//! Where the database is and how it is spoken to: a URL, read once. What it says of a password is shown to nobody.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::failure::said;
use super::tls::Trust;
use crate::OpenError;

/// Connections of one node beside those of its writer and its listener.
const CONNECTIONS: usize = 8;

/// How long a statement may take before the server ends it.
const STATEMENT: Duration = Duration::from_secs(30);

/// How long a statement waits for a lock of another node.
const LOCK: Duration = Duration::from_secs(5);

/// How long a transaction of a node that is not heard of any more keeps its locks.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(10);

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long sent bytes may go unacknowledged: past that, the server is gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// Whose time decides when a lease is over and what is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The database's: one for all nodes, whatever their own clocks say.
    #[default]
    Database,
    /// Each operation's own: for tests, which tell their own time.
    Caller,
}

/// How to reach a database.
#[derive(Clone)]
pub struct Settings {
    pub(super) config: Config,
    pub(super) trust: Trust,
    pub clock: Clock,
    /// Connections beside those of the writer and the listener. At least 1.
    pub connections: usize,
    /// How long to go on where the server is away; a short restart is ridden out.
    pub patience: Duration,
    /// Whether to listen for what other nodes notify. Without, only polling tells of them.
    pub listens: bool,
}

impl Settings {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. `sslmode`: `disable`, `prefer` (the default),
    /// `require`, `verify-ca` or `verify-full`; `sslrootcert`: a file with the authorities to trust, instead of the
    /// public ones. A server's socket is named by its folder: `postgres:///DATABASE?host=/var/run/postgresql&user=USER`.
    pub fn parse(url: &str) -> Result<Self, OpenError> {
        let refused = |why: String| OpenError::Address { message: why };
        if !is_postgres(url) {
            return Err(refused("it must begin with postgres:// or postgresql://".to_owned()));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut rest) = ("prefer".to_owned(), None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = url::form_urlencoded::parse(pair.as_bytes()).next().unwrap_or_default();
            match &*name {
                "sslmode" => mode = value.into_owned(),
                "sslrootcert" => roots = Some(PathBuf::from(value.into_owned())),
                _ => rest.push(pair),
            }
        }
        let plain = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config = Config::from_str(&plain).map_err(|why| refused(said(&why)))?;
        let (ssl, trust) = Trust::parse(&mode, roots).map_err(refused)?;
        let hosts = config.get_hosts();
        let sockets = hosts.iter().filter(|host| matches!(host, Host::Unix(_))).count();
        if hosts.is_empty() {
            return Err(refused("it names no host".to_owned()));
        }
        if sockets > 0 && sockets < hosts.len() {
            return Err(refused("it names both a socket's folder and a host: name one of them".to_owned()));
        }
        // As everywhere: what goes through a socket of this machine is not encrypted, whatever is asked.
        config.ssl_mode(if sockets > 0 { SslMode::Disable } else { ssl });
        bound(&mut config);
        Ok(Self {
            config,
            trust,
            clock: Clock::default(),
            connections: CONNECTIONS,
            patience: Duration::from_secs(5),
            listens: true,
        })
    }

    /// Where that is, without who goes there.
    pub fn place(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<_> = hosts.collect();
        format!("postgres://{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or_default())
    }
}

/// Whether a setting of the store names a PostgreSQL database.
pub fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// What every connection is held to; what the URL says beside it stays.
fn bound(config: &mut Config) {
    let more = config.get_options().unwrap_or_default();
    // A statement of ours finds its rows by an index: a table that was small when its plan was made may not stay so.
    let options = format!(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={} \
         -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off \
         -c jit=off -c client_min_messages=warning {more}",
        STATEMENT.as_millis(),
        LOCK.as_millis(),
        IDLE_IN_TRANSACTION.as_millis()
    );
    config.options(options.trim_end());
    if config.get_application_name().is_none() {
        config.application_name("baton");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    config.keepalives_idle(UNACKNOWLEDGED);
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encrypted = self.config.get_ssl_mode() != SslMode::Disable;
        f.debug_struct("Settings")
            .field("place", &self.place())
            .field("tls", &encrypted)
            .field("clock", &self.clock)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}
