//! Who is calling: credentials to a [`Caller`]; and the node's own secrets.

pub mod jwt;
mod peer;

mod authenticator;
mod caller;
mod certificate;
mod client;
mod dev;
mod names;
mod rate;
mod refresh;
mod refusals;
mod resource;
mod seal;
mod secret;
mod ticket;
mod token;

pub use authenticator::Authenticator;
pub use caller::{Caller, Proof};
pub use certificate::Certificate;
pub use client::{Proxies, counted_as};
pub use dev::{DevGuard, Foreign};
pub use names::{NamePattern, Names};
pub use peer::{Origin, Peer, Shown, User};
pub use rate::{Addresses, Grants as GrantRates, TooOften};
pub use refresh::RefreshToken;
pub use refusals::{ANONYMOUS, Refusal, Refusals};
pub use resource::{Door, MCP, Resource};
pub use seal::{Broken, Seal};
pub use secret::{Digest, Secret};
pub use ticket::Ticket;
pub use token::Token;
