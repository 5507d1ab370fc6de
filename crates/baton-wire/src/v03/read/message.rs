//! Messages, artifacts and their parts.

use baton_core::json::{Json, Object};
use baton_core::model::{
    Artifact, Base64, Content, Message, Part, Role, Violation, default_on_null, nonempty, object,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::super::{Spelling, data, names};
use super::each;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LooseMessage {
    #[serde(deserialize_with = "nonempty")]
    kind: Option<String>,
    #[serde(alias = "message_id", deserialize_with = "default_on_null")]
    message_id: String,
    #[serde(alias = "context_id", deserialize_with = "nonempty")]
    context_id: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "nonempty")]
    task_id: Option<String>,
    #[serde(deserialize_with = "names::read_role")]
    role: Role,
    /// REST's name is `content`.
    #[serde(alias = "content", deserialize_with = "default_on_null")]
    parts: Vec<LoosePart>,
    metadata: Option<Object>,
    #[serde(deserialize_with = "default_on_null")]
    extensions: Vec<String>,
    #[serde(alias = "reference_task_ids", deserialize_with = "default_on_null")]
    reference_task_ids: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LooseArtifact {
    #[serde(alias = "artifact_id", deserialize_with = "default_on_null")]
    artifact_id: String,
    #[serde(deserialize_with = "nonempty")]
    name: Option<String>,
    #[serde(deserialize_with = "nonempty")]
    description: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    parts: Vec<LoosePart>,
    metadata: Option<Object>,
    #[serde(deserialize_with = "default_on_null")]
    extensions: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LoosePart {
    #[serde(deserialize_with = "nonempty")]
    kind: Option<String>,
    text: Option<String>,
    #[serde(deserialize_with = "object")]
    file: Option<LooseFile>,
    data: Option<Json>,
    metadata: Option<Object>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LooseFile {
    #[serde(alias = "fileWithBytes", alias = "file_with_bytes", deserialize_with = "base64_text")]
    bytes: Option<Base64>,
    /// Empty is unset: one client writes both members.
    #[serde(alias = "fileWithUri", alias = "file_with_uri", deserialize_with = "nonempty")]
    uri: Option<String>,
    #[serde(alias = "mime_type", deserialize_with = "nonempty")]
    mime_type: Option<String>,
    #[serde(deserialize_with = "nonempty")]
    name: Option<String>,
}

/// REST's data part.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Nested {
    data: Option<Object>,
}

fn base64_text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Base64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(d)? else { return Ok(None) };
    let wrong = |why| serde::de::Error::custom(format_args!("not base64: {why}"));
    Base64::parse(text).map(Some).map_err(wrong)
}

/// How a REST answer to this request is spelled: as the names that its message was written with.
pub fn rest_spelling(body: &[u8]) -> Spelling {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Sent {
        #[serde(alias = "request")]
        message: Named,
    }
    /// By the one field that every message has.
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Named {
        message_id: Option<IgnoredAny>,
    }
    match serde_json::from_slice(body) {
        Ok(Sent { message: Named { message_id: Some(_) } }) => Spelling::RestSnakeCase,
        Ok(Sent { message: Named { message_id: None } }) | Err(_) => Spelling::Rest,
    }
}

/// Reads a message of either spelling.
pub fn read_message(spelling: Spelling, json: &str) -> Result<Message, crate::fault::Fault> {
    let loose: LooseMessage = crate::read::object(json)?;
    Ok(loose.read(spelling)?)
}

impl LooseMessage {
    pub fn is_empty(&self) -> bool {
        self.message_id.is_empty() && self.parts.is_empty() && self.role == Role::Unspecified
    }

    pub fn read(self, spelling: Spelling) -> Result<Message, Violation> {
        check_kind(self.kind.as_deref(), "message")?;
        let parts = if spelling.is_rest() { "content" } else { "parts" };
        Ok(Message {
            message_id: self.message_id,
            context_id: self.context_id,
            task_id: self.task_id,
            role: self.role,
            parts: each(parts, self.parts, |part| part.read(spelling))?,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        })
    }
}

impl LooseArtifact {
    pub fn read(self, spelling: Spelling) -> Result<Artifact, Violation> {
        Ok(Artifact {
            artifact_id: self.artifact_id,
            name: self.name,
            description: self.description,
            parts: each("parts", self.parts, |part| part.read(spelling))?,
            metadata: self.metadata,
            extensions: self.extensions,
        })
    }
}

impl LoosePart {
    fn read(self, spelling: Spelling) -> Result<Part, Violation> {
        // Only REST nests data, and only where the part does not say by its kind that it is JSON-RPC's.
        let nested = spelling.is_rest() && self.kind.is_none();
        let Self { kind, text, file, data, metadata } = self;
        let part = |content, metadata| Part { content, metadata, filename: None, media_type: None };
        let (named, part) = match (text, file, data) {
            (Some(text), None, None) => ("text", part(Content::Text(text), metadata)),
            (None, Some(file), None) => {
                let (filename, media_type) = (file.name, file.mime_type);
                let content = match (file.bytes, file.uri) {
                    (Some(base64), None) => Content::Raw(base64),
                    (None, Some(uri)) => Content::Url(uri),
                    (Some(_), Some(_)) | (None, None) => {
                        return Err(Violation::new("file", "a file needs exactly one of 'bytes' and 'uri'"));
                    }
                };
                ("file", Part { content, metadata, filename, media_type })
            }
            (None, None, Some(json)) => {
                let json = if nested { unnest(&json)? } else { only_object(json)? };
                let (json, metadata) = data::unpack(json, metadata);
                ("data", part(Content::Data(json), metadata))
            }
            (Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(Violation::new("", "a part needs exactly one of 'text', 'file' and 'data'"));
            }
        };
        match kind {
            // JSON-RPC tells parts apart by it, and by nothing else.
            None if spelling == Spelling::JsonRpc => {
                Err(Violation::new("kind", "is required: 'text', 'file' or 'data'"))
            }
            kind => check_kind(kind.as_deref(), named).map(|()| part),
        }
    }
}

fn only_object(json: Json) -> Result<Json, Violation> {
    if json.as_str().starts_with('{') { Ok(json) } else { Err(Violation::new("data", "must be an object")) }
}

fn unnest(json: &Json) -> Result<Json, Violation> {
    let nested: Option<Nested> =
        serde_json::from_str(json.as_str()).ok().filter(|_| json.as_str().starts_with('{'));
    let inner =
        nested.ok_or_else(|| Violation::new("data", "must be an object with the object 'data' in it"))?;
    Json::parse(inner.data.as_ref().map_or("{}", Object::as_str))
        .map_err(|why| Violation::new("data.data", why.to_string()))
}

/// A discriminator may be absent; it must not say something else.
pub(super) fn check_kind(said: Option<&str>, meant: &str) -> Result<(), Violation> {
    match said {
        Some(kind) if kind != meant => Err(Violation::new(
            "kind",
            format!("this is of the kind '{meant}', not '{}'", crate::fault::clip(kind)),
        )),
        Some(_) | None => Ok(()),
    }
}
