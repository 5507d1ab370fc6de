//! The `jsonl` protocol: one JSON object per line, both ways. `docs/process-agents.md` is its reference.
//!
//! In reading order: what the node says, what a child says, a child, its rest between tasks, one task.

pub mod down;

pub mod up;

mod resident;

pub mod pool;

mod numbering;

mod turn;

mod run;

pub use run::run;

/// Longest line that a child may write, without its newline. A line must be held whole before it can be read, and a
/// larger artifact can be written in pieces.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;
