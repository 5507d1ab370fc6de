//! Names and identifiers: parsed once at the door, then carried as types.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};
use uuid::Uuid;

use crate::limits::CONTEXT_ID_BYTES;

/// A task's identifier: a UUID (version 7 where this node makes it), lower-case with hyphens on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(Uuid);

impl TaskId {
    pub const fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// Reads the one spelling this node gives out; any other text names no task.
    pub fn parse(text: &str) -> Option<Self> {
        let id = Uuid::try_parse(text).ok()?;
        (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text).then_some(Self(id))
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// Why a text is not a name or an identifier.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("an agent's name is 1 to 63 of a-z, 0-9 and '-', and no word of a path such as 'v1' or 'tasks'")]
    AgentName,
    #[error("a contextId has 1 to {CONTEXT_ID_BYTES} bytes and no control characters")]
    ContextId,
}

macro_rules! text_ident {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

text_ident! {
    /// The name of an agent: `[a-z0-9-]{1,63}`, and no path word.
    AgentName
}

/// Words that stand in a path where an agent's name may stand.
const PATH_WORDS: [&str; 13] = [
    "v1",
    "tasks",
    "message",
    "card",
    "a2a",
    "mcp",
    "api",
    "console",
    "oauth",
    "friend-requests",
    "healthz",
    "readyz",
    "metrics",
];

impl AgentName {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let plain = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        let fits = (1..=63).contains(&text.len());
        if plain && fits && !PATH_WORDS.contains(&text) {
            Ok(Self(text.into()))
        } else {
            Err(Error::AgentName)
        }
    }
}

text_ident! {
    /// The conversation that groups tasks. Any text up to the limit: clients bring their own.
    ContextId
}

impl ContextId {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fits = (1..=CONTEXT_ID_BYTES).contains(&text.len());
        if fits && !text.chars().any(char::is_control) {
            Ok(Self(text.into()))
        } else {
            Err(Error::ContextId)
        }
    }
}

/// Whose a task is: the grant it came in by, and the user behind that grant (issuer and `sub` of a JWT, the SAN of a
/// certificate, or empty).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    pub grant: Arc<str>,
    pub subject: Arc<str>,
}

impl Owner {
    pub fn new(grant: &str, subject: &str) -> Self {
        Self { grant: grant.into(), subject: subject.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_names() {
        for good in ["echo", "a", "code-review-2", &"a".repeat(63)] {
            assert!(AgentName::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["", "Echo", "a_b", "a.b", "tasks", "v1", "message:send", "friend-requests", &"a".repeat(64), "ä"]
        {
            assert!(AgentName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn context_ids_are_any_text_to_the_limit() {
        for good in ["x", "not a uuid", "ünï", &"a".repeat(128)] {
            assert!(ContextId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a\0b", "a\nb", &"a".repeat(129), &"ü".repeat(65)] {
            assert!(ContextId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_one_spelling_names_a_task() {
        let text = "0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f";
        assert_eq!(TaskId::parse(text).unwrap().to_string(), text);
        for other in [&text.to_uppercase(), &text.replace('-', ""), &format!("{{{text}}}"), "x", ""] {
            assert!(TaskId::parse(other).is_none(), "{other}");
        }
    }
}
