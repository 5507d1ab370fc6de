//! The real binary dies, and is asked afterwards for everything that it acknowledged.

mod account;
mod client;
mod disk;
mod drain;
mod grants;
mod ledger;
mod load;
mod node;
#[cfg(debug_assertions)]
mod points;
mod random;
mod trial;
#[cfg(debug_assertions)]
mod webhooks;

pub use node::{Node, PATIENCE, Place, Starting};
