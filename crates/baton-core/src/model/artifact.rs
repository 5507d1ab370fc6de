//! An artifact (§4.1.7), and the piece of one that an event carries (§4.2.2).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lenient::{boolean, default_on_null, nonempty};
use super::message::check_parts;
use super::{Part, Violation};
use crate::json::Object;
use crate::limits::ID_BYTES;

/// One result of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Artifact {
    #[serde(alias = "artifact_id", deserialize_with = "default_on_null")]
    pub artifact_id: String,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

/// A new artifact, or a piece to append to one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArtifactUpdate {
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    pub task_id: String,
    #[serde(alias = "context_id", deserialize_with = "default_on_null")]
    pub context_id: String,
    #[serde(deserialize_with = "default_on_null")]
    pub artifact: Arc<Artifact>,
    #[serde(deserialize_with = "boolean", skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    #[serde(alias = "last_chunk", deserialize_with = "boolean", skip_serializing_if = "std::ops::Not::not")]
    pub last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

impl Artifact {
    /// What the definition requires: an id, and one valid part at least.
    pub fn check(&self) -> Result<(), Violation> {
        if self.artifact_id.is_empty() || self.artifact_id.len() > ID_BYTES {
            return Err(Violation::new("artifactId", format!("is required: 1 to {ID_BYTES} bytes")));
        }
        if self.parts.is_empty() {
            return Err(Violation::new("parts", "at least one part is required"));
        }
        check_parts(&self.parts)
    }

    /// Adds a piece: its parts go to the end, and what it says of the whole replaces what was said before.
    pub fn append(&mut self, piece: &Self) {
        self.parts.extend_from_slice(&piece.parts);
        let said = |new: &Option<String>, old: &mut Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        said(&piece.name, &mut self.name);
        said(&piece.description, &mut self.description);
        if piece.metadata.is_some() {
            self.metadata.clone_from(&piece.metadata);
        }
        for extension in &piece.extensions {
            if !self.extensions.contains(extension) {
                self.extensions.push(extension.clone());
            }
        }
    }

    /// About how many bytes this artifact takes as JSON.
    pub fn weight(&self) -> usize {
        self.parts.iter().map(Part::weight).sum::<usize>()
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_str().len())
            + self.artifact_id.len()
            + self.name.as_ref().map_or(0, String::len)
            + self.description.as_ref().map_or(0, String::len)
            + self.extensions.iter().map(|extension| extension.len() + 3).sum::<usize>()
            + 128
    }
}
