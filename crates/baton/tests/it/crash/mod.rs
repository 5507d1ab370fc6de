//! The real binary dies, and is asked afterwards for everything that it acknowledged.

mod account;
mod client;
mod database;
mod dice;
mod disk;
mod drain;
mod grants;
mod ledger;
mod load;
mod node;
mod nodes;
#[cfg(debug_assertions)]
mod points;
mod random;
mod trial;
#[cfg(debug_assertions)]
mod webhooks;

pub use node::{Node, PATIENCE, Place, Starting};
