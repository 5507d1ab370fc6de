//! Owns the price of durability on this machine: what one bare SQLite commit costs in a folder.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::{Result, stats};

/// `statfs` type of a tmpfs, where a sync costs nothing and ratios flatter everybody.
const TMPFS: i64 = 0x0102_1994;

/// A connection as both the two-commit yardstick and the commit price use it.
pub fn open_durable(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Milliseconds that each of `count` commits of one small row took, in a database of its own.
#[derive(Debug)]
pub struct CommitPrice {
    connection: Connection,
}

impl CommitPrice {
    pub fn open(folder: &Path) -> Result<Self> {
        let connection = open_durable(&folder.join("commit-price.db"))?;
        connection.execute_batch("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
        Ok(Self { connection })
    }

    pub fn measure(&self, count: usize) -> Result<Vec<f64>> {
        let mut statement = self.connection.prepare_cached("INSERT INTO row (body) VALUES (?1)")?;
        let body = "x".repeat(400);
        let mut prices = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            statement.execute([&body])?;
            prices.push(stats::millis(start.elapsed()));
        }
        Ok(prices)
    }
}

/// Whether a folder lies in memory, so that its commits are not durable.
pub fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == TMPFS)
}
