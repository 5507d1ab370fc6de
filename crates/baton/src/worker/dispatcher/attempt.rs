//! One attempt from its claim to its end.

use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::task::{HolderKind, Snapshot};
use baton_store::{By, Known};
use tracing::{Instrument as _, error, info_span, warn};

use super::report::AttemptReport;
use super::{Dispatcher, Lane, Slot, signals};
use crate::runner::{Fact, Job, Refused, Report as _, Reporter, Signals};

/// Runs the attempt that `known` has open, and makes sure that it does not stay open.
pub async fn work(dispatcher: &Arc<Dispatcher>, lane: &Arc<Lane>, known: Known, slot: Slot) {
    let task = known.task();
    let Some(attempt) = task.state.open_attempt().filter(|open| open.holder.kind == HolderKind::Node) else {
        return;
    };
    let number = attempt.number;
    let span = info_span!("attempt", task.id = %task.id, agent = %task.agent, attempt = number);
    async {
        let id = task.id;
        let report = |fence| AttemptReport {
            store: Arc::clone(&dispatcher.store),
            clock: dispatcher.clock.clone(),
            task: id,
            context: task.context_id.clone(),
            attempt: number,
            fence,
        };
        // For when nothing of it runs any more.
        let last = report(None);
        let Some(snapshot) = content(dispatcher, &known).await else {
            let _ = last.report(vec![Fact::HolderGone(None)]).await;
            return;
        };
        let (sender, signals) = Signals::channel();
        let fence = dispatcher.fence.subscribe();
        let feed = signals::Feed {
            dispatcher: Arc::clone(dispatcher),
            lane: Arc::clone(lane),
            task: id,
            after: snapshot.task.seq,
            slot,
        };
        let feeding = dispatcher.running.spawn(feed.run(sender, dispatcher.phase.subscribe(), fence.clone()));
        let own = lane.deadline.map(|within| dispatcher.clock.now().after(within));
        let deadline = [own, snapshot.task.deadline].into_iter().flatten().min();
        let reporter = Reporter::new(Arc::new(report(Some(fence.clone()))));
        let job = Job { deadline, ..job(&snapshot, number, reporter, signals) };
        let runner = Arc::clone(&lane.runner);
        let ran = tokio::spawn(async move { runner.run(job).await }.in_current_span()).await;
        feeding.abort();
        if let Err(why) = ran {
            error!(error = %why, "the runner failed");
        }
        // Whatever was reported stands; only an attempt that is still open is ended here.
        if is_open(dispatcher, id, number).await {
            match last.report(vec![Fact::HolderGone(None)]).await {
                Ok(()) | Err(Refused::Lost) => {}
                Err(why) => warn!(error = %why, "the attempt could not be closed"),
            }
        }
        lane.slots.goes_on(id);
    }
    .instrument(span)
    .await;
}

/// Whether the attempt still holds its task. Reading costs no commit; where it fails, the attempt is taken to be open.
async fn is_open(dispatcher: &Dispatcher, task: TaskId, number: u32) -> bool {
    match dispatcher.store.find_head(&By::Node, task).await {
        Ok(Some(task)) => task.state.open_attempt().is_some_and(|open| open.number == number),
        Ok(None) => false,
        Err(_) => true,
    }
}

async fn content(dispatcher: &Dispatcher, known: &Known) -> Option<Arc<Snapshot>> {
    match known {
        Known::Whole(snapshot) => Some(Arc::clone(snapshot)),
        Known::Head(task) => match dispatcher.store.find(&By::Node, task.id).await {
            Ok(found) => found,
            Err(why) => {
                error!(error = %why, "the task could not be read");
                None
            }
        },
    }
}

fn job(snapshot: &Snapshot, attempt: u32, reporter: Reporter, signals: Signals) -> Job {
    let task = &snapshot.task;
    Job {
        task_id: task.id,
        agent: task.agent.clone(),
        owner: task.owner.clone(),
        context_id: task.context_id.clone(),
        attempt,
        history: snapshot.messages.iter().map(|(_, message)| Arc::clone(message)).collect(),
        request: task.request.clone(),
        deadline: None,
        reporter,
        signals,
    }
}
