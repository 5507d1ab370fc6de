//! The embedded store: one SQLite database in the data folder, one node per folder.
//!
//! One thread writes: it takes what is queued and commits it as a group, so that a commit's fsync is shared by all who
//! wait for it (`synchronous=FULL`: what was answered is on disk). A pool of connections reads. What was committed last
//! is kept in memory ([`hot`]); as the writer is the only one who changes anything, that copy is never stale.

mod access;
mod apply;
mod approvals;
mod approve;
mod audit;
mod batch;
mod befriend;
mod claim;
mod delivery;
mod friends;
mod grants;
mod hold;
mod hot;
mod list;
mod lock;
mod log;
mod meta;
mod needs;
mod open;
mod peers;
mod push;
mod quota;
mod read;
mod retire;
mod rows;
mod scope;
pub(crate) mod source;
mod tasks;
#[cfg(test)]
mod tests;
mod write;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rusqlite::{Connection, ErrorCode};

use crate::{Error, Observer, OpenError};

/// The database's file in the data folder.
const DATABASE: &str = "baton.db";

/// The handle of an open store. Cheap to clone; the last one to go stops the writer.
#[derive(Clone, Debug)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: writer::Writer,
    readers: read::Readers,
    hot: Arc<hot::Hot>,
    grants: Arc<grants::Grants>,
    counters: Arc<Counters>,
    /// After the writer: it is let go of when nothing writes any more.
    _lock: Arc<lock::Lock>,
}

/// What the writer counts.
#[derive(Debug, Default)]
struct Counters {
    commits: AtomicU64,
    operations: AtomicU64,
}

impl Sqlite {
    /// Opens the store in `folder`, creating both where they are not there, and takes the folder's lock. `observer`
    /// hears of every commit from the writer's thread.
    pub fn open(folder: &Path, observer: Arc<dyn Observer>) -> Result<Self, OpenError> {
        let lock = lock::Lock::take(folder)?;
        let connection = open::writer(&folder.join(DATABASE))?;
        Self::start(folder, lock, connection, observer)
    }

    fn start(
        folder: &Path,
        lock: lock::Lock,
        connection: Connection,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, OpenError> {
        let lock = Arc::new(lock);
        let path = folder.join(DATABASE);
        let hot = Arc::new(hot::Hot::default());
        let database = |why: Error| OpenError::Database { path: path.clone(), message: why.to_string() };
        let grants = Arc::new(grants::Grants::load(&connection).map_err(database)?);
        let counters = Arc::new(Counters::default());
        let pushed = push::Pushed::load(&connection).map_err(database)?;
        let shared = writer::Shared {
            hot: Arc::clone(&hot),
            pushed,
            grants: Arc::clone(&grants),
            counters: Arc::clone(&counters),
            running: claim::Running::load(&connection).map_err(database)?,
            next: open::next_task(&connection).map_err(|why| database(why.into()))?,
            observer,
        };
        let writer = writer::Writer::start(connection, shared, Arc::clone(&lock))
            .map_err(|source| OpenError::Folder { path: folder.to_path_buf(), source })?;
        let readers = read::Readers::new(path);
        Ok(Self { inner: Arc::new(Inner { writer, readers, hot, grants, counters, _lock: lock }) })
    }

    /// Waits until everything queued is committed, then stops the writer. Later verbs answer `Unavailable`.
    pub async fn close(&self) {
        self.inner.readers.close();
        self.inner.writer.close().await;
    }
}

impl From<rusqlite::Error> for Error {
    fn from(why: rusqlite::Error) -> Self {
        use rusqlite::Error as Sql;
        match why {
            Sql::FromSqlConversionFailure(..)
            | Sql::InvalidColumnType(..)
            | Sql::IntegralValueOutOfRange(..) => Self::Corrupt(why.to_string()),
            Sql::SqliteFailure(failure, _)
                if matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) =>
            {
                Self::Corrupt(why.to_string())
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}
