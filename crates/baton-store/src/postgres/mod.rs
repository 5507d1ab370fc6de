//! The shared store: one PostgreSQL database, any number of nodes.
//!
//! Each node changes tasks through one loop: what is queued becomes one transaction that reads and locks what it needs in
//! one way to the database and back, decides in memory, and writes everything with the commit in another. Between nodes
//! rows are locked (`FOR UPDATE`, and `SKIP LOCKED` where any will do), leases run on the database's time, and what changed
//! is told after the commit ([`tell`]); nothing is kept in memory that another node may change.

mod access;
mod apply;
mod approvals;
mod approve;
mod audit;
mod batch;
mod befriend;
mod claim;
mod delivery;
mod failure;
mod friends;
mod grants;
mod hold;
mod list;
mod load;
mod log;
mod mark;
mod meta;
mod needs;
mod open;
mod peers;
mod pipeline;
mod pool;
mod push;
mod quota;
mod read;
mod retire;
mod rows;
mod scope;
mod settings;
pub(crate) mod target;
mod tasks;

mod telephone;
mod tell;
mod tls;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use uuid::Uuid;

pub use self::settings::{Clock, Settings, is_postgres};

use self::pool::{Ask as _, Connections};
pub(crate) use self::rows::escaped;
use crate::{Error, Observer, OpenError};

/// How long a node has a webhook or a peer in hand before another may take it: longer than one try takes.
const HELD_MS: i64 = 60_000;

/// The time by which a statement judges: the database's, where no other is given as the second parameter.
const NOW: &str = "coalesce($2::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/// What this node had in hand is anybody's.
const LET_GO: [&str; 2] = [
    "-- store.let_go_of_webhooks
UPDATE push_config SET held_by = NULL, held_until = NULL WHERE held_by = $1",
    "-- store.let_go_of_peers
UPDATE peer SET held_by = NULL, held_until = NULL WHERE held_by = $1",
];

/// The handle of an open store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Postgres {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: writer::Writer,
    connections: Arc<Connections>,
    counters: Arc<writer::Counters>,
    uses: Arc<grants::Uses>,
    teller: telephone::Teller,
    /// Who this node is to the others.
    node: Uuid,
    _telephone: telephone::Telephone,
}

impl Postgres {
    /// Opens the store, creating its tables where they are not there. `observer` hears of every commit of this node, and
    /// of those of others soon after.
    pub async fn open(settings: Settings, observer: Arc<dyn Observer>) -> Result<Self, OpenError> {
        let path = PathBuf::from(settings.place());
        let failed = |message: String| OpenError::Database { path: path.clone(), message };
        let connections = Arc::new(Connections::new(&settings).map_err(failed)?);
        open::migrate(&settings, &connections).await?;
        let node = connections.marks().map_err(|why| failed(open::message(why)))?.node();
        let (teller, counters) = (telephone::Teller::default(), Arc::default());
        let tls = settings.trust.connector().map_err(failed)?;
        let writer = writer::Writer::start(writer::Parts {
            connections: Arc::clone(&connections),
            counters: Arc::clone(&counters),
            observer: Arc::clone(&observer),
            teller: teller.clone(),
            clock: settings.clock,
        });
        let telephone = telephone::Telephone::start(telephone::Ears {
            connections: Arc::clone(&connections),
            settings,
            tls,
            teller: teller.clone(),
            observer,
        });
        let uses = Arc::default();
        let inner = Inner { writer, connections, counters, uses, teller, node, _telephone: telephone };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Waits until everything queued is committed, then lets go of what this node has in hand. Later verbs answer
    /// `Unavailable`.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        if self.inner.connections.is_closed() {
            return;
        }
        // Where the database is away, time does the same.
        for sql in LET_GO {
            let _ = self.inner.connections.query(sql, &[&self.inner.node]).await;
        }
        if let Ok(marks) = self.inner.connections.marks() {
            let _ = marks.delete(&*self.inner.connections).await;
        }
        self.inner.connections.close();
    }
}

/// Each question is answered in kind.
fn other_answer() -> Error {
    Error::Corrupt("the store answered another question".to_owned())
}
