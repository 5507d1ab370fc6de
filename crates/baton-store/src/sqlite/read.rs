//! The connections that read, and what is read with content.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::task::{Event, Snapshot, Task};
use rusqlite::{Connection, params};
use tokio::sync::Semaphore;

use super::{open, rows};
use crate::{Content, Error};

/// Bytes of content after which a read of events ends early: a reader that is behind comes again.
const EVENT_BYTES: usize = 4 * 1024 * 1024;

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

pub(super) const LIST_MESSAGES: &str = "-- store.list_messages
SELECT seq, message FROM event WHERE task_id = ?1 AND message IS NOT NULL ORDER BY seq";

pub(super) const LIST_CHUNKS: &str = "-- store.list_chunks
SELECT seq, artifact, append, last_chunk FROM event WHERE task_id = ?1 AND artifact IS NOT NULL ORDER BY seq";

pub(super) const LIST_EVENTS: &str = "-- store.list_events
SELECT {} FROM event
WHERE task_id = ?1 AND seq > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE id = ?1 AND pruned = 1)
ORDER BY seq LIMIT ?3";

pub(super) const LIST_NEWEST_MESSAGES: &str = "-- store.list_newest_messages
SELECT seq, message FROM event WHERE task_id = ?1 AND message IS NOT NULL ORDER BY seq DESC LIMIT ?2";

/// As much of a task's content as a page shows.
pub fn excerpt_of(db: &Connection, task: Task, content: Content) -> Result<Snapshot, Error> {
    if content.artifacts {
        return snapshot_of(db, task);
    }
    let mut snapshot = Snapshot::new(task);
    if content.messages > 0 {
        // One more: the newest may be the status' own.
        let bind = params![snapshot.task.id.as_bytes(), content.messages as u64 + 1];
        snapshot.messages = db
            .prepare_cached(LIST_NEWEST_MESSAGES)?
            .query_map(bind, |row| Ok((row.get(0)?, Arc::new(rows::json(row, 1)?))))?
            .collect::<Result<_, _>>()?;
        snapshot.messages.reverse();
    }
    Ok(snapshot)
}

/// The content of a task that was read.
pub fn snapshot_of(db: &Connection, task: Task) -> Result<Snapshot, Error> {
    let mut snapshot = Snapshot::new(task);
    let id = snapshot.task.id;
    snapshot.messages = db
        .prepare_cached(LIST_MESSAGES)?
        .query_map([id.as_bytes()], |row| Ok((row.get(0)?, Arc::new(rows::json(row, 1)?))))?
        .collect::<Result<_, _>>()?;
    if snapshot.task.artifacts.is_empty() {
        return Ok(snapshot);
    }
    let mut statement = db.prepare_cached(LIST_CHUNKS)?;
    let mut chunks = statement.query([id.as_bytes()])?;
    while let Some(row) = chunks.next()? {
        snapshot.write(&rows::chunk(row, 1)?);
    }
    Ok(snapshot)
}

pub fn events(
    db: &Connection,
    id: baton_core::ident::TaskId,
    after: u64,
    most: usize,
) -> Result<Vec<Arc<Event>>, Error> {
    let sql = LIST_EVENTS.replace("{}", rows::EVENT);
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params![id.as_bytes(), after, most])?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while bytes < EVENT_BYTES
        && let Some(row) = rows.next()?
    {
        let event = rows::event(row)?;
        bytes += event.body.weight();
        events.push(Arc::new(event));
    }
    Ok(events)
}
