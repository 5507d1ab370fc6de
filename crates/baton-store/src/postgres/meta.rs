//! The verbs of [`Meta`].

use async_trait::async_trait;

use super::Postgres;
use super::pool::Ask as _;
use super::rows::escaped;
use crate::{Error, Meta};

const FIND_META: &str = "-- store.find_meta
SELECT value FROM meta WHERE key = $1";

/// Writes what is there where it is there, so that it is answered whoever was first.
const PUT_META: &str = "-- store.put_meta
INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = meta.value RETURNING value";

#[async_trait]
impl Meta for Postgres {
    async fn find_meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let row = self.inner.connections.first(FIND_META, &[&escaped(name)]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose().map_err(super::failure::Failure::from)?)
    }

    async fn put_meta(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let row = self.inner.connections.one(PUT_META, &[&escaped(name), &value]).await?;
        Ok(row.try_get(0).map_err(super::failure::Failure::from)?)
    }
}
