//! How one agent's command is run: resolved values, wherever they come from.

use std::time::Duration;

use super::spec::Spec;

/// How long a `jsonl` child without a task stays warm.
pub const IDLE: Duration = Duration::from_mins(5);

/// How long a `jsonl` child may take until it says `ready`: an interpreter and its imports on a busy machine.
pub const READY_WITHIN: Duration = Duration::from_secs(30);

/// Longest silence of a `jsonl` child at work. Pings shorten it only for children that do not block.
pub const STALL: Duration = Duration::from_mins(5);

/// Silence after which a `jsonl` child at work is pinged.
pub const PING_AFTER: Duration = Duration::from_secs(30);

/// Children without a task that are kept per agent: as many as work at the same time by default.
pub const WARM: usize = 4;

/// What is said over the standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The message in, the artifact out, the exit status decides.
    Text,
    /// One JSON object per line, both ways.
    Jsonl,
}

/// One agent's command and its times.
#[derive(Clone, Debug)]
pub struct Settings {
    pub protocol: Protocol,
    /// The command; what belongs to a task is added to its environment.
    pub spec: Spec,
    pub idle: Duration,
    pub ready_within: Duration,
    /// `None`: silence is no fault.
    pub stall: Option<Duration>,
    /// Shortened to half of `stall`, so that there is time for an answer.
    pub ping_after: Duration,
    /// Children without a task that are kept; past that the one that rested longest is ended.
    pub warm: usize,
}

impl Settings {
    /// The default times of `protocol`.
    pub fn new(protocol: Protocol, spec: Spec) -> Self {
        let stall = match protocol {
            Protocol::Text => None,
            Protocol::Jsonl => Some(STALL),
        };
        Self {
            protocol,
            spec,
            idle: IDLE,
            ready_within: READY_WITHIN,
            stall,
            ping_after: PING_AFTER,
            warm: WARM,
        }
    }
}
