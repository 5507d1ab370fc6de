//! The doors of a running node: what callers see, over every binding.

mod cancelling;
mod idempotency;
mod listing;
mod ownership;
mod replies;
mod resuming;
mod sending;
mod streams;
mod versions;
