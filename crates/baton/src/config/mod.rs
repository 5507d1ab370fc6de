//! What the operator wants, in two types: the raw file, environment and flags, and the settings resolved from them. Rooms
//! get values from [`settings`], never the whole configuration.
//!
//! One file per section of `baton.toml`: [`node`], [`net`], [`auth`], [`console`], [`limits`], [`card`], [`agents`]. Flags win over environment
//! variables, both win over the file.

pub mod settings;

mod error;
mod flags;
mod load;

mod file;
mod suggest;
mod value;

mod agents;
mod auth;
mod card;
mod console;
mod issuers;
mod limits;
mod listen;
mod net;
mod node;
mod retention;
mod runner;

mod template;

pub use agents::echo;
pub use error::Error;
pub use flags::Flags;
pub use limits::BODY_MIN;
pub use load::{DATA_DIR, FILE, data_dir, load};
pub use suggest::instead;
pub use template::TEMPLATE;
pub use value::{Size, parse_duration, parse_rate};
