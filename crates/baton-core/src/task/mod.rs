//! A task's life: what it is, what can happen to it, and what each happening changes.
//!
//! [`step`] is the only way that a task changes. It decides which events an input brings about and folds them into the
//! task with the same function that replays a log, so that the log and the state cannot disagree.

mod decide;
mod event;
mod evolve;
mod input;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;

pub use decide::{Nudge, Refusal, Step, create, step, summary};
pub use event::{Body, Event};
pub use evolve::{evolve, replay};
pub use input::{Chunk, Input, LeaseLoss};
pub use snapshot::Snapshot;
pub use state::{
    ArtifactHead, Attempt, Holder, HolderKind, Interruption, New, Outcome, Policy, Reason, Request, State,
    Status, Task,
};
