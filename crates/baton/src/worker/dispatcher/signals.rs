//! What a runner hears of its task: read from the same log as everything else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::model::Message;
use baton_core::task::Body;
use tokio::sync::{mpsc, watch};
use tracing::{error, warn};

use super::{Dispatcher, Lane, Phase, Slot};
use crate::runner::Signal;
use crate::service::Error;
use crate::service::follow::Events;

/// The wait before a log that could not be read is read again.
const AGAIN: Duration = Duration::from_millis(250);

/// Reads one task's log for the runner of its attempt, and holds the attempt's slot.
pub struct Feed {
    pub dispatcher: Arc<Dispatcher>,
    pub lane: Arc<Lane>,
    pub task: TaskId,
    /// The runner knows of everything up to here.
    pub after: u64,
    pub slot: Slot,
}

impl Feed {
    pub async fn run(
        mut self,
        signals: mpsc::Sender<Signal>,
        mut phase: watch::Receiver<Phase>,
        mut fence: watch::Receiver<u64>,
    ) {
        let watch = self.dispatcher.hub.watch(self.task);
        // What was committed between the claim and this watch is in the store only.
        let known = match self.dispatcher.store.find_head(&baton_store::By::Node, self.task).await {
            Ok(Some(task)) => task.seq,
            Ok(None) | Err(_) => self.after,
        };
        let store = Arc::clone(&self.dispatcher.store);
        let shared = store.shared();
        let mut events = Events::new(store, watch, self.task, self.after, known);
        let mut said = Phase::Open;
        let mut held = VecDeque::new();
        loop {
            let signal = tokio::select! {
                // An answer is handed on once there is a slot again, and what was said after it comes after it; a
                // cancellation does not wait for that.
                () = self.slot.wake(), if !held.is_empty() => held.pop_front().map(Signal::Message),
                event = events.next() => match event {
                    Ok(Some(event)) => self.signal(&event.body, &signals, &mut held),
                    Ok(None) => Some(Signal::Lost),
                    // A store of several nodes may be away for a while; if it is too long, the fence says so.
                    Err(Error::Unavailable(why)) if shared => {
                        warn!(task.id = %self.task, error = %why, "the task's log could not be read; trying again");
                        tokio::time::sleep(AGAIN).await;
                        None
                    }
                    Err(why) => {
                        error!(task.id = %self.task, error = %why, "the task's log could not be read");
                        Some(Signal::Lost)
                    }
                },
                // Whoever lost the store may have lost the task.
                Ok(()) = fence.changed() => Some(Signal::Lost),
                now = later_phase(&mut phase, said) => {
                    said = now;
                    match said {
                        Phase::Open => None,
                        Phase::Draining => Some(Signal::Drain),
                        Phase::Stopping => Some(Signal::Stop),
                    }
                }
            };
            let Some(signal) = signal else { continue };
            let last = signal == Signal::Lost;
            if signals.send(signal).await.is_err() || last {
                return;
            }
        }
    }

    fn signal(
        &mut self,
        body: &Body,
        signals: &mpsc::Sender<Signal>,
        held: &mut VecDeque<Arc<Message>>,
    ) -> Option<Signal> {
        match body {
            Body::Messaged { message } if held.is_empty() => Some(Signal::Message(Arc::clone(message))),
            Body::Messaged { message } => {
                held.push_back(Arc::clone(message));
                None
            }
            Body::Resumed { message } => {
                self.lane.slots.goes_on(self.task);
                held.push_back(Arc::clone(message));
                None
            }
            Body::Interrupted { .. } => {
                self.slot.rest();
                self.lane.slots.wait(self.task, signals.clone());
                None
            }
            Body::Progressed { .. } => {
                // A holder that goes on by itself runs again; it does not wait for a slot that it never gave up working on.
                self.lane.slots.goes_on(self.task);
                None
            }
            Body::CancelRequested => Some(Signal::Cancel),
            Body::HolderGone
            | Body::Requeued { .. }
            | Body::Completed { .. }
            | Body::Failed { .. }
            | Body::Canceled { .. }
            | Body::Rejected { .. }
            | Body::Answered { .. } => Some(Signal::Lost),
            Body::Submitted { .. } | Body::Claimed { .. } | Body::Wrote { .. } | Body::Used { .. } => None,
        }
    }
}

async fn later_phase(phase: &mut watch::Receiver<Phase>, than: Phase) -> Phase {
    let now = phase.wait_for(|phase| *phase != than).await.map(|phase| *phase);
    match now {
        Ok(now) => now,
        Err(_) => std::future::pending().await,
    }
}
