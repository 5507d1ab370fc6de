//! Reading one task.

use std::sync::Arc;

use baton_core::task::Snapshot;
use baton_store::Verb;

use super::{Error, Scope, Service, parse_id};

impl Service {
    /// The task of this id, where it is the caller's.
    pub async fn load(&self, scope: &Scope, id: &str) -> Result<Arc<Snapshot>, Error> {
        scope.allow(Verb::Read)?;
        self.store.find(&scope.by(), parse_id(id)?).await?.ok_or(Error::TaskNotFound)
    }
}
