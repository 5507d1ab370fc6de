//! The verbs of [`Meta`].

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Sqlite;
use super::writer::Write;
use crate::{Error, Meta};

const FIND_META: &str = "-- store.find_meta
SELECT value FROM meta WHERE key = ?1";

/// Writes what is there where it is there, so that it is answered whoever was first.
const PUT_META: &str = "-- store.put_meta
INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = meta.value RETURNING value";

/// What the writer is asked to keep.
pub struct MetaWrite {
    name: String,
    value: Vec<u8>,
}

pub fn write(db: &Connection, MetaWrite { name, value }: &MetaWrite) -> Result<Vec<u8>, Error> {
    Ok(db.prepare_cached(PUT_META)?.query_row(params![name, value], |row| row.get(0))?)
}

#[async_trait]
impl Meta for Sqlite {
    async fn find_meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let name = name.to_owned();
        let find = move |db: &Connection| {
            Ok(db.prepare_cached(FIND_META)?.query_row([name], |row| row.get(0)).optional()?)
        };
        self.inner.readers.run(find).await
    }

    async fn put_meta(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let write = MetaWrite { name: name.to_owned(), value: value.to_vec() };
        self.inner.writer.write(|reply| Write::Meta(Box::new(write), reply)).await
    }
}
