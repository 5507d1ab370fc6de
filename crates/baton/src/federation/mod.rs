//! The client's side of A2A: agents that run elsewhere, found by their card and called over HTTP.
//!
//! Speaks to any A2A 1.0 server over JSON-RPC or REST, on TCP, TLS or a unix socket. No redirects are followed, no proxy
//! is taken from the environment, every answer is bounded in size and time, and a token goes only to the origin that it
//! was given for. Knows no store, no service and no terminal.

mod address;
mod error;
mod transport;

pub mod signature;

mod card;
mod client;
mod events;
pub mod friend;

pub use address::{Address, Place};
pub use card::{Found, Interface, fetch as fetch_card, fetch_text, find as find_card};
pub use client::Client;
pub use error::Error;
pub use events::{Events, Item};
pub use transport::{Call, Limits, Options, Token, Transport};
