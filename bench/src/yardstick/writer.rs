//! Owns the group commit of the two-commit yardstick: one thread that takes whatever is queued, commits it in
//! one transaction and then answers. No reader, no index beyond the keys, no schema to be proud of.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use crate::{Result, disk};

/// Operations in one transaction, at most; also the length of the queue.
const GROUP_LIMIT: usize = 1_024;

const SCHEMA: &str = "
    CREATE TABLE task (id TEXT PRIMARY KEY, context_id TEXT NOT NULL, state INTEGER NOT NULL, at TEXT NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE message (task_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (task_id, seq)) WITHOUT ROWID;
    CREATE TABLE artifact (task_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (task_id, seq)) WITHOUT ROWID;";
const INSERT_TASK: &str = "INSERT INTO task (id, context_id, state, at) VALUES (?1, ?2, 1, ?3)";
const INSERT_MESSAGE: &str = "INSERT INTO message (task_id, seq, body) VALUES (?1, 1, ?2)";
const INSERT_ARTIFACT: &str = "INSERT INTO artifact (task_id, seq, body) VALUES (?1, 1, ?2)";
const COMPLETE_TASK: &str = "UPDATE task SET state = 3, at = ?2 WHERE id = ?1";

pub enum Operation {
    Create { id: String, context_id: String, at: String, message: String },
    Complete { id: String, at: String, artifact: String },
}

struct Queued {
    operation: Operation,
    committed: oneshot::Sender<()>,
}

/// The queue's entrance. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Queued>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    pub fn start(file: &Path) -> Result<Self> {
        let connection = disk::open_durable(file)?;
        connection.execute_batch(SCHEMA)?;
        let (queue, queued) = mpsc::channel(GROUP_LIMIT);
        let commits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&commits);
        std::thread::Builder::new().name("writer".into()).spawn(move || {
            if let Err(error) = keep_committing(&connection, queued, &counter) {
                eprintln!("writer: {error}");
                std::process::exit(1);
            }
        })?;
        Ok(Self { queue, commits })
    }

    /// Returns when the operation is on disk; `false` when the writer is gone.
    pub async fn commit(&self, operation: Operation) -> bool {
        let (committed, done) = oneshot::channel();
        self.queue.send(Queued { operation, committed }).await.is_ok() && done.await.is_ok()
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

fn keep_committing(
    connection: &Connection,
    mut queued: mpsc::Receiver<Queued>,
    commits: &AtomicU64,
) -> Result<()> {
    let mut group = Vec::with_capacity(GROUP_LIMIT);
    while queued.blocking_recv_many(&mut group, GROUP_LIMIT) > 0 {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for one in &group {
            apply(connection, &one.operation)?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        commits.fetch_add(1, Ordering::Relaxed);
        for one in group.drain(..) {
            let _ = one.committed.send(());
        }
    }
    Ok(())
}

fn apply(connection: &Connection, operation: &Operation) -> Result<()> {
    match operation {
        Operation::Create { id, context_id, at, message } => {
            connection.prepare_cached(INSERT_TASK)?.execute(params![id, context_id, at])?;
            connection.prepare_cached(INSERT_MESSAGE)?.execute(params![id, message])?;
        }
        Operation::Complete { id, at, artifact } => {
            connection.prepare_cached(INSERT_ARTIFACT)?.execute(params![id, artifact])?;
            connection.prepare_cached(COMPLETE_TASK)?.execute(params![id, at])?;
        }
    }
    Ok(())
}
