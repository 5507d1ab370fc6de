//! How an agent's work is done.

pub mod process;
