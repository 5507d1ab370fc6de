//! The last transaction of each connection, written in that transaction: who did not hear of the end of one looks there.
//!
//! The number of a transaction of PostgreSQL's own will not do: after a crash it may be given to another one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio_postgres::Client;
use uuid::Uuid;

use super::failure::Failure;
use super::pool::Ask;
use super::rows::Bind;

/// Rows of one node: as many transactions can be under way at once.
const SLOTS: i64 = 64;

/// Transactions that can be under way beside the writer's; the last row says that the node is there.
pub const MOST: usize = 62;

/// The row of the writer.
pub const WRITER: i64 = 0;

/// Marks the transaction, and says what time it is there.
pub const MARK: &str = "-- store.mark
UPDATE mark SET n = $3 WHERE node = $1 AND slot = $2
RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Waits for whoever still writes there.
const FIND_MARK: &str = "-- store.find_mark
SELECT n FROM mark WHERE node = $1 AND slot = $2 FOR UPDATE";

const NEW_NODE: &str = "-- store.new_node
SELECT gen_random_uuid()";

const INSERT_MARKS: &str = "-- store.insert_marks
INSERT INTO mark (node, slot, n, at)
SELECT $1, slot, 0, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM generate_series(0, $2::bigint - 1) AS slots (slot)";

const DELETE_MARKS: &str = "-- store.delete_marks
DELETE FROM mark WHERE node = $1";

const TOUCH_MARKS: &str = "-- store.touch_marks
UPDATE mark SET at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint WHERE node = $1 AND slot = $2";

/// Of nodes that have been silent for a day.
const FORGET_MARKS: &str = "-- store.forget_marks
DELETE FROM mark WHERE node IN (SELECT node FROM mark WHERE slot = $1
    AND at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 24 * 60 * 60 * 1000)";

/// One transaction of this node.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub node: Uuid,
    pub slot: i64,
    pub n: i64,
}

/// The rows that are free.
#[derive(Debug)]
pub struct Marks {
    node: Uuid,
    next: AtomicI64,
    free: Mutex<Vec<i64>>,
}

impl Marks {
    /// Who this node is to the others until it is closed, and its rows.
    pub async fn new(client: &Client) -> Result<Self, tokio_postgres::Error> {
        let node: Uuid = client.query_one(NEW_NODE, &[]).await?.try_get(0)?;
        client.execute(INSERT_MARKS, &[&node, &SLOTS]).await?;
        client.execute(FORGET_MARKS, &[&(SLOTS - 1)]).await?;
        Ok(Self { node, next: AtomicI64::new(1), free: Mutex::new((WRITER + 1..SLOTS - 1).collect()) })
    }

    pub const fn node(&self) -> Uuid {
        self.node
    }

    /// A mark that no transaction of this node had, in this row.
    pub fn next(&self, slot: i64) -> Mark {
        Mark { node: self.node, slot, n: self.next.fetch_add(1, Ordering::Relaxed) }
    }

    /// A row that nobody else writes to meanwhile.
    pub fn take(&self) -> Option<Slot<'_>> {
        let slot = self.free().pop()?;
        Some(Slot { marks: self, slot })
    }

    /// Says that this node is there; its rows stay.
    pub async fn touch(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        client.execute(TOUCH_MARKS, &[&self.node, &(SLOTS - 1)]).await.map(drop)
    }

    pub async fn delete(&self, db: &impl Ask) -> Result<(), Failure> {
        db.query(DELETE_MARKS, &[&self.node]).await.map(drop)
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<i64>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row as long as it is in use.
pub struct Slot<'a> {
    marks: &'a Marks,
    slot: i64,
}

impl Slot<'_> {
    pub fn next(&self) -> Mark {
        self.marks.next(self.slot)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.marks.free().push(self.slot);
    }
}

impl Mark {
    /// Whether its transaction was committed. It is over when this answers.
    pub async fn was_committed(&self, db: &impl Ask) -> Result<bool, Failure> {
        let bind: Bind<'_> = &[&self.node, &self.slot];
        let found = db.one(FIND_MARK, bind).await?;
        Ok(found.try_get::<_, i64>(0)? == self.n)
    }
}
