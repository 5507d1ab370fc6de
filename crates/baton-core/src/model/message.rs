//! A message (§4.1.4): one turn of a conversation.

use serde::{Deserialize, Serialize};

use super::lenient::{default_on_null, nonempty, proto_enum};
use super::{Part, Violation};
use crate::json::Object;
use crate::limits::{ID_BYTES, MESSAGE_PARTS};

/// Who speaks (§4.1.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Unspecified,
    User,
    Agent,
}

proto_enum!(Role, "ROLE_USER or ROLE_AGENT", {
    Unspecified = 0 => "ROLE_UNSPECIFIED",
    User = 1 => "ROLE_USER",
    Agent = 2 => "ROLE_AGENT",
});

/// One message, as it is sent, stored and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    #[serde(alias = "message_id", deserialize_with = "default_on_null")]
    pub message_id: String,
    #[serde(alias = "context_id", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub role: Role,
    #[serde(deserialize_with = "default_on_null")]
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    #[serde(
        alias = "reference_task_ids",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<String>,
}

impl Message {
    /// A message of one text part.
    pub fn text(role: Role, message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { message_id: message_id.into(), role, parts: vec![Part::text(text)], ..Self::default() }
    }

    /// All text parts, a newline between two of them.
    pub fn joined_text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
    }

    /// What the definition requires: an id, a role, and one valid part at least.
    pub fn check(&self) -> Result<(), Violation> {
        if self.message_id.is_empty() {
            return Err(Violation::new(
                "messageId",
                "is required: any id, unique among the sender's messages",
            ));
        }
        if self.message_id.len() > ID_BYTES {
            return Err(Violation::new("messageId", format!("has more than {ID_BYTES} bytes")));
        }
        if self.role == Role::Unspecified {
            return Err(Violation::new("role", "is required: ROLE_USER or ROLE_AGENT"));
        }
        if self.parts.is_empty() {
            return Err(Violation::new("parts", "at least one part is required"));
        }
        if self.parts.len() > MESSAGE_PARTS {
            return Err(Violation::new("parts", format!("a message has at most {MESSAGE_PARTS} parts")));
        }
        check_parts(&self.parts)
    }

    /// About how many bytes this message takes as JSON.
    pub fn weight(&self) -> usize {
        self.parts.iter().map(Part::weight).sum::<usize>()
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_str().len())
            + self.message_id.len()
            + self.extensions.iter().chain(&self.reference_task_ids).map(|text| text.len() + 3).sum::<usize>()
            + 192
    }
}

pub(super) fn check_parts(parts: &[Part]) -> Result<(), Violation> {
    parts.iter().enumerate().try_for_each(|(at, part)| {
        part.check().map_err(|violation| violation.within(&format!("parts[{at}]")))
    })
}
