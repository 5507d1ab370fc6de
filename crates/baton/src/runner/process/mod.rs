//! The `process` runner: a supervised child behind its own warden.
//!
//! In reading order: what is to be run, how it ended, the warden's side, the node's side.

pub mod spec;

pub mod exit;

mod handover;

mod tree;

pub mod warden;

pub mod ladder;

pub mod child;

pub mod sweep;

pub mod jsonl;
