//! The `process` runner: a supervised child behind its own warden.
//!
//! In reading order: what is to be run and how it ended; the warden's side; the node's side; what an attempt needs
//! whatever its protocol; the protocols; the runner.

pub mod spec;

pub mod exit;

mod handover;

mod tree;

pub mod warden;

pub mod ladder;

pub mod child;

pub mod sweep;

pub mod settings;

mod environ;

mod files;

mod stdio;

mod ending;

mod watchdog;

mod outbox;

pub mod text;

pub mod jsonl;

mod supervisor;

pub use supervisor::Process;
