//! Asking for a task's end, and waiting a moment for it.

use std::sync::Arc;

use baton_core::task::{Input, Refusal, Snapshot, State};
use baton_store::{By, Verb};

use super::{Error, Scope, Service, parse_id};

impl Service {
    pub async fn cancel(&self, scope: &Scope, id: &str) -> Result<Arc<Snapshot>, Error> {
        scope.allow(Verb::Cancel)?;
        self.cancel_by(scope.by(), id).await
    }

    /// As [`Service::cancel`], for the operator too.
    pub async fn cancel_by(&self, by: By, id: &str) -> Result<Arc<Snapshot>, Error> {
        let id = parse_id(id)?;
        let watch = self.hub.watch(id);
        let applied = match self.apply(by, id, vec![Input::CancelRequested]).await {
            Err(baton_store::Error::Refused(Refusal::Terminal(_))) => return Err(Error::TaskNotCancelable),
            other => other?,
        };
        let wait = self.limits().cancel_wait;
        let known = self.settled(watch, applied.known, wait, |task| task.state.is_terminal()).await;
        let snapshot = self.whole(known).await?;
        // What ended otherwise before it could be stopped was not cancelled.
        let ended_otherwise = snapshot.task.state.is_terminal() && snapshot.task.state != State::Canceled;
        if ended_otherwise { Err(Error::TaskNotCancelable) } else { Ok(snapshot) }
    }
}
