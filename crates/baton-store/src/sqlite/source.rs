//! A store that is read as a whole, by nobody else at that time.

use std::path::Path;

use rusqlite::Connection;

use super::lock::Lock;
use super::{DATABASE, open};
use crate::OpenError;

/// Tables in the order in which they were made: none refers to a later one.
const LIST_TABLES: &str = "-- store.list_tables
SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'meta' AND name NOT LIKE 'sqlite_%' ORDER BY rowid";

pub struct Source {
    pub connection: Connection,
    pub lock: Lock,
}

impl Source {
    /// Opens the store that is there, in the schema of this program.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(DATABASE);
        if let Err(source) = std::fs::metadata(&path) {
            return Err(OpenError::Folder { path, source });
        }
        let lock = Lock::take(folder)?;
        Ok(Self { connection: open::writer(&path)?, lock })
    }

    pub fn tables(&self) -> Result<Vec<String>, OpenError> {
        let list = || -> rusqlite::Result<_> {
            let mut statement = self.connection.prepare(LIST_TABLES)?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let path = self.connection.path().unwrap_or(DATABASE).into();
        list().map_err(|why| OpenError::Database { path, message: why.to_string() })
    }
}
