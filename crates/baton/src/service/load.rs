//! Reading one task.

use std::sync::Arc;

use baton_core::task::{Snapshot, Task};
use baton_store::{By, Verb};

use super::{Error, Scope, Service, parse_id};

impl Service {
    /// The task of this id, where it is the caller's.
    pub async fn load(&self, scope: &Scope, id: &str) -> Result<Arc<Snapshot>, Error> {
        scope.allow(Verb::Read)?;
        let by = scope.by();
        self.shown(&by, self.load_by(&by, id).await?).await
    }

    /// As [`Service::load`], for the operator too.
    pub async fn load_by(&self, by: &By, id: &str) -> Result<Arc<Snapshot>, Error> {
        self.store.find(by, parse_id(id)?).await?.ok_or(Error::TaskNotFound)
    }

    /// The same without its content.
    pub async fn load_head(&self, by: &By, id: &str) -> Result<Arc<Task>, Error> {
        self.store.find_head(by, parse_id(id)?).await?.ok_or(Error::TaskNotFound)
    }
}
