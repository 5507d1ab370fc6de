//! Loops in the background. Each has an idempotent `sweep()` that finds its work in committed state; a timer or a nudge
//! only wakes it.

pub mod clerk;
pub mod dispatcher;
pub mod issuers;
pub mod neighbours;
pub mod peers;
pub mod pruner;
pub mod reaper;
pub mod webhook;
