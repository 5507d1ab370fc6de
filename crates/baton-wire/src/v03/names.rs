//! How 0.3 names roles and states, in both spellings, and how they are read in either.

use std::borrow::Cow;
use std::fmt;

use baton_core::model::{Role, TaskState};
use serde::Deserializer;
use serde::de::{self, Visitor};

use super::Spelling;

/// What a role is called.
pub fn role(role: Role, spelling: Spelling) -> &'static str {
    match (spelling, role) {
        (Spelling::Rest | Spelling::RestSnakeCase, role) => role.as_str(),
        (Spelling::JsonRpc, Role::User) => "user",
        // A message that we show is somebody's; what is not the user's is the agent's.
        (Spelling::JsonRpc, Role::Agent | Role::Unspecified) => "agent",
    }
}

/// What a state is called. The protocol buffers of 0.3 spell CANCELLED with two L.
pub fn state(state: TaskState, spelling: Spelling) -> &'static str {
    if spelling.is_rest() {
        return if state == TaskState::Canceled { CANCELLED } else { state.as_str() };
    }
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}

impl Spelling {
    /// What a member is called that is `name` in JSON.
    pub(super) fn member(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::JsonRpc | Self::Rest => Cow::Borrowed(name),
            Self::RestSnakeCase => {
                let split = |c: char| {
                    c.is_ascii_uppercase().then_some('_').into_iter().chain([c.to_ascii_lowercase()])
                };
                Cow::Owned(name.chars().flat_map(split).collect())
            }
        }
    }
}

const CANCELLED: &str = "TASK_STATE_CANCELLED";

/// Reads a role in either spelling; `null` is the unspecified one.
pub fn read_role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    deserializer.deserialize_any(Name {
        what: "'user' or 'agent'",
        named: |name| match name {
            "user" => Some(Role::User),
            "agent" => Some(Role::Agent),
            other => Role::from_name(other),
        },
        numbered: Role::from_number,
    })
}

/// Reads a state in either spelling; `null` is the unspecified one.
pub fn read_state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskState, D::Error> {
    deserializer.deserialize_any(Name {
        what: "a task state such as 'working'",
        named: |name| match name {
            CANCELLED => Some(TaskState::Canceled),
            other => TaskState::ALL
                .iter()
                .copied()
                .find(|known| state(*known, Spelling::JsonRpc) == other)
                .or_else(|| TaskState::from_name(other)),
        },
        numbered: TaskState::from_number,
    })
}

/// A name of an enum, or its number.
struct Name<T> {
    what: &'static str,
    named: fn(&str) -> Option<T>,
    numbered: fn(i32) -> Option<T>,
}

impl<T: Default> Visitor<'_> for Name<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
        let by_number = || value.parse().ok().and_then(self.numbered);
        (self.named)(value)
            .or_else(by_number)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        i32::try_from(value)
            .ok()
            .and_then(self.numbered)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        i32::try_from(value)
            .ok()
            .and_then(self.numbered)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
}
