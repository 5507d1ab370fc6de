//! Everything of Baton that touches the world.

pub mod runner;
