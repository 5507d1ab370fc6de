//! Server-sent events: written for our streams, read from anybody's (WHATWG HTML §9.2).

mod read;
mod write;

pub use read::{Error, Event, Reader};
pub use write::{KEEP_ALIVE, Wrap};
