//! The integration tests of the node: one binary, one module per subject.
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod crash;
mod process;
mod tidy;
mod warden;
