//! What an operation on a new task comes to. It depends on nothing that is stored, so that callers work it out side by
//! side and the writer, of which there is one, only writes it.

use std::sync::Arc;

use baton_core::task::{Event, Input, Nudge, Refusal, Snapshot, State, Step, Task, create, step};
use baton_core::time::Timestamp;

use super::event;
use crate::{Create, Op};

/// A new task after its first operation.
#[derive(Debug)]
pub struct Prepared {
    pub snapshot: Arc<Snapshot>,
    pub steps: Steps,
    /// The row of its events.
    pub text: Arc<Vec<u8>>,
}

impl Prepared {
    /// Creates the task and runs the operation's inputs on it.
    pub fn new(op: &Op, new: &Create) -> Result<Self, Refusal> {
        let first = create(&new.new, op.now);
        let mut snapshot = Snapshot::new(first.task);
        let mut steps =
            Steps { events: first.events.into_iter().map(Arc::new).collect(), nudges: first.nudges };
        snapshot.task = steps.run(snapshot.task.clone(), &op.inputs, op.now)?;
        steps.events.iter().for_each(|event| snapshot.fill(event));
        let text = Arc::new(event::spell(&steps.events));
        Ok(Self { snapshot: Arc::new(snapshot), steps, text })
    }
}

/// What several inputs brought about.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    pub events: Vec<Arc<Event>>,
    pub nudges: Vec<Nudge>,
}

impl Steps {
    /// Runs each input in turn; the first refusal refuses them all.
    pub fn run(&mut self, mut task: Task, inputs: &[Input], now: Timestamp) -> Result<Task, Refusal> {
        for input in inputs {
            let Step { task: next, events, nudges } = step(&task, input, now)?;
            task = next;
            self.events.extend(events.into_iter().map(Arc::new));
            for nudge in nudges {
                if !self.nudges.contains(&nudge) {
                    self.nudges.push(nudge);
                }
            }
        }
        if !matches!(task.state, State::Ready { .. }) {
            self.nudges.retain(|nudge| !matches!(nudge, Nudge::Ready(_)));
        }
        Ok(task)
    }
}
