//! What libFuzzer links: the properties, and beside them the one reader that lives outside of the wire's crate.
//!
//! The properties are compiled a second time, by a test of the node that feeds them the seeds.

#[rustfmt::skip]
#[path = "../../crates/baton/src/runner/process/jsonl/up.rs"]
pub mod up;

pub mod properties;
