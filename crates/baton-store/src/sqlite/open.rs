//! Opening a database: its pragmas and its schema.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::OpenError;

/// The schema that this program writes: the number of the last migration.
const SCHEMA: i64 = 2;

/// Migrations in order; each is one transaction.
pub(super) const MIGRATIONS: [&str; 2] = [include_str!("sql/0001.sql"), include_str!("sql/0002.sql")];

/// Statements that one connection keeps prepared.
const PREPARED: usize = 96;

/// Pages of 4 KiB that the log may have before they are moved into the database: 32 MiB. Larger costs space and start-up
/// time after a crash, smaller costs an extra fsync more often.
const CHECKPOINT_PAGES: u32 = 8_192;

/// How long a reader waits for a lock that SQLite holds for moments only.
const BUSY: Duration = Duration::from_secs(10);

/// The one connection that writes, migrated to [`SCHEMA`].
pub fn writer(path: &Path) -> Result<Connection, OpenError> {
    let failed =
        |why: rusqlite::Error| OpenError::Database { path: path.to_path_buf(), message: why.to_string() };
    // SQLite makes files that everybody may read; those beside the database (-wal, -shm) take their mode from it.
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| OpenError::Folder { path: path.to_path_buf(), source })?;
    let mut connection = Connection::open(path).map_err(failed)?;
    keep_plans(&connection).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;"
        ))
        .map_err(failed)?;
    let found = schema(&connection).map_err(failed)?;
    if found > SCHEMA {
        return Err(OpenError::Newer { path: path.to_path_buf(), found, known: SCHEMA });
    }
    migrate(&mut connection, found).map_err(failed)?;
    Ok(connection)
}

const MAX_TASK: &str = "-- store.max_task
SELECT coalesce(max(key), 0) FROM task";

/// The number that the next new task gets.
pub fn next_task(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(MAX_TASK, [], |row| row.get::<_, i64>(0)).map(|last| last + 1)
}

/// A connection that cannot write.
pub fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    keep_plans(&connection)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.execute_batch("PRAGMA cache_size = -1024;")?;
    Ok(connection)
}

/// Keeps a statement's plan whatever is bound to it. Otherwise SQLite prepares a statement with a range anew each time its
/// bounds change, which costs more than the reading of a row.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn schema(connection: &Connection) -> rusqlite::Result<i64> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS meta (key TEXT NOT NULL PRIMARY KEY, value ANY) WITHOUT ROWID;",
    )?;
    let found = connection
        .query_row("SELECT value FROM meta WHERE key = 'schema'", [], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    for (number, migration) in (1..).zip(MIGRATIONS) {
        if number > found {
            let transaction = connection.transaction()?;
            transaction.execute_batch(migration)?;
            transaction
                .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', ?1)", [number])?;
            transaction.commit()?;
        }
    }
    Ok(())
}
