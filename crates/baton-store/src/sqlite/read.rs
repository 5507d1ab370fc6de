//! The connections that read, and what is read with content.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::ident::TaskId;
use baton_core::task::{Event, Snapshot, Task};
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::Semaphore;

use super::{log, open};
use crate::{AttemptRecord, Content, Error};

/// Connections that read at the same time.
const READERS: usize = 4;

/// A pool; a transaction never lives across an await.
#[derive(Debug)]
pub struct Readers {
    shared: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    free: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: PathBuf) -> Self {
        let pool = Pool {
            path,
            free: Arc::new(Semaphore::new(READERS)),
            idle: Mutex::new(Vec::with_capacity(READERS)),
        };
        Self { shared: Arc::new(pool) }
    }

    /// Runs `read` on a thread that may block, in one read transaction.
    pub async fn run<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let permit = Arc::clone(&shared.free).acquire_owned().await.map_err(|_| Error::closed())?;
        // The permit goes with the work: a caller that gives up does not end it.
        let work = move || {
            let _permit = permit;
            let idle = shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match idle {
                Some(connection) => connection,
                None => open::reader(&shared.path)?,
            };
            connection.execute_batch("BEGIN")?;
            let result = read(&connection);
            connection.execute_batch("COMMIT")?;
            shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|why| Error::Unavailable(why.to_string()))?
    }

    /// Lets nobody read any more.
    pub fn close(&self) {
        self.shared.free.close();
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub fn is_closed(&self) -> bool {
        self.shared.free.is_closed()
    }
}

const FIND_KEY: &str = "-- store.find_task_key
SELECT key, pruned FROM task WHERE id = ?1";

/// As much of a task's content as a page shows.
pub fn excerpt_of(db: &Connection, key: i64, task: Task, content: Content) -> Result<Snapshot, Error> {
    if content.artifacts {
        return snapshot_of(db, key, task);
    }
    let mut snapshot = Snapshot::new(task);
    if content.messages > 0 {
        // One more: the newest may be the status' own.
        snapshot.messages = log::newest_messages(db, key, content.messages.saturating_add(1))?;
    }
    Ok(snapshot)
}

/// The content of a task that was read.
pub fn snapshot_of(db: &Connection, key: i64, task: Task) -> Result<Snapshot, Error> {
    let mut snapshot = Snapshot::new(task);
    log::fill(db, key, &mut snapshot)?;
    Ok(snapshot)
}

/// The events after `seq`; none of a task that is pruned.
pub fn events(db: &Connection, id: TaskId, seq: u64, most: usize) -> Result<Vec<Arc<Event>>, Error> {
    match find_key(db, id)? {
        Some((key, false)) => log::events(db, key, seq, most),
        Some((_, true)) | None => Ok(Vec::new()),
    }
}

pub fn attempts(db: &Connection, id: TaskId) -> Result<Vec<AttemptRecord>, Error> {
    find_key(db, id)?.map_or(Ok(Vec::new()), |(key, _)| log::attempts(db, key))
}

/// The number of a task's row, and whether it is pruned.
fn find_key(db: &Connection, id: TaskId) -> rusqlite::Result<Option<(i64, bool)>> {
    let mut statement = db.prepare_cached(FIND_KEY)?;
    statement.query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}
