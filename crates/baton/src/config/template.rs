//! What `baton init` writes.

/// A `baton.toml` that works as it is and names every key.
pub const TEMPLATE: &str = include_str!("template.toml");
