//! Asking for a task's end, and waiting a moment for it.

use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::task::{Input, Refusal, Snapshot, State};
use baton_store::{Actor, Applied, By, Verb};

use super::hub::Watch;
use super::{Error, Scope, Service, parse_id};

impl Service {
    pub async fn cancel(&self, scope: &Scope, id: &str) -> Result<Arc<Snapshot>, Error> {
        scope.allow(Verb::Cancel)?;
        let (watch, applied) = self.ask_to_end(scope.by(), parse_id(id)?).await?;
        self.ended(watch, applied).await
    }

    /// As [`Service::cancel`], whosever the task is. The audit log hears of it before the end is waited for.
    pub async fn cancel_as_operator(&self, by: &Actor, id: &str) -> Result<Arc<Snapshot>, Error> {
        let (service, by, task) = (self.clone(), by.clone(), parse_id(id)?);
        let asked = self.see_through(async move {
            let asked = service.ask_to_end(By::Node, task).await?;
            service.tell_audit(&by, ("task.cancel", &task.to_string())).await;
            Ok::<_, Error>(asked)
        });
        let (watch, applied) = asked.await??;
        self.ended(watch, applied).await
    }

    async fn ask_to_end(&self, by: By, id: TaskId) -> Result<(Watch, Applied), Error> {
        let watch = self.hub.watch(id);
        match self.apply(by, id, vec![Input::CancelRequested]).await {
            Err(baton_store::Error::Refused(Refusal::Terminal(_))) => Err(Error::TaskNotCancelable),
            other => Ok((watch, other?)),
        }
    }

    async fn ended(&self, watch: Watch, applied: Applied) -> Result<Arc<Snapshot>, Error> {
        let wait = self.limits().cancel_wait;
        let known = self.settled(watch, applied.known, wait, |task| task.state.is_terminal()).await;
        let snapshot = self.whole(known).await?;
        // What ended otherwise before it could be stopped was not cancelled.
        let ended_otherwise = snapshot.task.state.is_terminal() && snapshot.task.state != State::Canceled;
        if ended_otherwise { Err(Error::TaskNotCancelable) } else { Ok(snapshot) }
    }
}
