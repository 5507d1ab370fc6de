//! The verbs that concern what a store says of itself, under names.

use async_trait::async_trait;

use crate::Error;

/// What is kept under names. Nothing here is secret.
#[async_trait]
pub trait Meta: Send + Sync + 'static {
    async fn find_meta(&self, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// Keeps a value where there is none of that name yet; answers the one that is kept then. Of two that put one at the
    /// same time both are answered the same.
    async fn put_meta(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error>;
}
