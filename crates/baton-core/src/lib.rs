//! What Baton is about: the A2A data model and the pure state machine of a task.
//!
//! No async, no IO, no clock, no randomness, no logging: time and identifiers come in as arguments. The shapes in
//! [`model`] are the JSON of A2A 1.0, which is also what is stored; a wire version is a codec over them and lives in
//! `baton-wire`.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod canonical;
pub mod delivery;
pub mod friend;
pub mod ident;
pub mod json;
pub mod limits;
pub mod model;
pub mod task;
pub mod time;
