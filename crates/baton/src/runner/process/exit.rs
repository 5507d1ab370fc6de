//! How a child ended: the evidence that a warden sends up as one line of JSON.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The end of a child: how, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub how: How,
    pub usage: Usage,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It exited with this status, 0 to 255.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It never ran; the text says why and is fit for an operator.
    NotStarted(String),
    /// The warden ended without evidence, so nobody knows. The tree has been killed.
    WardenDied,
}

/// What the whole tree used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// Of the largest process in the tree.
    pub max_rss_kib: u64,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {signal}"),
            },
            Self::NotStarted(why) => write!(f, "could not be started: {why}"),
            Self::WardenDied => f.write_str("its warden died"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    nix::sys::signal::Signal::try_from(signal).ok().map(nix::sys::signal::Signal::as_str)
}

#[cfg(test)]
mod tests;
