//! What the operator wants, in two types: the raw file, environment and flags, and the settings resolved from them. Rooms
//! get values from [`settings`], never the whole configuration.

pub mod settings;
