//! Messages, artifacts and their parts.

use baton_core::json::{Json, Object};
use baton_core::model::{Artifact, Content, Message, Part};
use serde::{Serialize, Serializer};

use super::super::{Spelling, data, names};
use super::{Members, Spell};

impl Spell for Message {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.kind("message")?;
        members.plain("messageId", &self.message_id)?;
        members.some("contextId", self.context_id.as_ref())?;
        members.some("taskId", self.task_id.as_ref())?;
        members.plain("role", names::role(self.role, spelling))?;
        members.spelled(if spelling.is_rest() { "content" } else { "parts" }, &*self.parts)?;
        members.some("metadata", self.metadata.as_ref())?;
        members.list("extensions", &self.extensions)?;
        // The protocol buffers of 0.3 have no such field, and one official client refuses fields that it does not know.
        if spelling == Spelling::JsonRpc {
            members.list("referenceTaskIds", &self.reference_task_ids)?;
        }
        members.end()
    }
}

impl Spell for Artifact {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.plain("artifactId", &self.artifact_id)?;
        members.some("name", self.name.as_ref())?;
        members.some("description", self.description.as_ref())?;
        members.spelled("parts", &*self.parts)?;
        members.some("metadata", self.metadata.as_ref())?;
        members.list("extensions", &self.extensions)?;
        members.end()
    }
}

impl Spell for Part {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        let mut metadata = self.metadata.as_ref();
        let marked: Option<Object>;
        match &self.content {
            Content::Text(text) => {
                members.kind("text")?;
                members.plain("text", text)?;
            }
            Content::Raw(_) | Content::Url(_) => {
                members.kind("file")?;
                members.plain("file", &File(spelling, self))?;
            }
            Content::Data(json) => {
                members.kind("data")?;
                let (json, with_mark) = data::pack(json, metadata);
                if spelling.is_rest() {
                    members.plain("data", &Data { data: &json })?;
                } else {
                    members.plain("data", &*json)?;
                }
                marked = with_mark.map(std::borrow::Cow::into_owned);
                metadata = marked.as_ref();
            }
            Content::Missing => {}
        }
        members.some("metadata", metadata)?;
        members.end()
    }
}

#[derive(Serialize)]
struct Data<'a> {
    data: &'a Json,
}

/// What stands in a part's `file`. The base64 is handed on as it is: what a client put into it, its reader gets.
struct File<'a>(Spelling, &'a Part);

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(spelling, part) = self;
        let rest = spelling.is_rest();
        let mut members = Members::new(*spelling, serializer)?;
        match &part.content {
            Content::Raw(base64) => {
                members.plain(if rest { "fileWithBytes" } else { "bytes" }, base64.as_str())?;
            }
            Content::Url(url) => members.plain(if rest { "fileWithUri" } else { "uri" }, url)?,
            Content::Text(_) | Content::Data(_) | Content::Missing => {}
        }
        members.some("mimeType", part.media_type.as_ref())?;
        members.some("name", part.filename.as_ref())?;
        members.end()
    }
}
