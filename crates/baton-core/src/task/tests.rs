//! The transition matrix as a snapshot, the properties that hold for every sequence of inputs, and the right values of
//! what a client, a worker or the clock gets to see.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names what it expects, not what it does not")]

mod artifacts;
mod attempts;
mod cancel;
mod fixture;
mod limits;
mod matrix;
mod projection;
mod properties;
mod questions;
mod replies;
mod rows;
