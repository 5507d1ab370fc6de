//! The `jsonl` protocol: one JSON object per line, both ways. `docs/process-agents.md` is its reference.
//!
//! In reading order: what the node says, what a child says.

pub mod down;

pub mod up;

/// Longest line that a child may write, without its newline. A line must be held whole before it can be read, and a
/// larger artifact can be written in pieces.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;
