//! The guarded dialer: the one way in which the node connects to a place that somebody else named, such as a webhook, a
//! card, a key set or a peer.
//!
//! A URL is taken apart by the WHATWG rules, so that every spelling of an address is that address. A name is resolved, and
//! every address of the answer is judged: one bad one refuses them all. What was judged is what is dialled; nothing
//! resolves the name a second time. No redirect is followed, no proxy is taken from the environment, and every answer is
//! bounded in size and time. `[net] allow` opens more than the public internet.
//!
//! Knows no webhook, no card and no configuration file.

mod class;

mod allow;
mod target;

mod resolve;

mod guard;

mod client;
mod connect;

pub use allow::Allow;
pub use class::{Class, class};
pub use client::{Answer, Ask, Dialer, Options};
pub use connect::{Connect, Tcp};
pub use guard::{Error, Guard};
pub use resolve::{Resolver, System};
pub use target::{Host, Refused, Target};
