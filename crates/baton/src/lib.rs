//! One Rust binary that puts agents on the A2A network and never drops what is handed to them.
//!
//! The map of the rooms is in `ARCHITECTURE.md`.

pub mod access;
pub mod bindings;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crash;
pub mod federation;
mod hex;
pub mod keys;
pub mod net;
mod plain;
pub mod runner;
pub mod server;
pub mod service;
pub mod telemetry;
pub mod worker;
