//! The store's tests: one suite that every backend passes, and what each backend has of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conformance;
mod postgres;
mod sqlite;
