//! The doors of a running node: what callers see, over every binding.

mod sending;
mod streams;
