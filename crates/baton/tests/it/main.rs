//! The integration tests of the node: one binary, one module per subject.
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod admin_api;
mod authentication;
mod cli;
mod clients;
mod console;
mod crash;
mod dialer;
mod doors;
mod federation;
mod friends;
mod fuzzing;
mod harness;
mod mcp;
mod process;
mod push;
mod script;
mod tidy;
mod warden;
mod work;
