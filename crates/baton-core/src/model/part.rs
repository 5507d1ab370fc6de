//! A part of a message or an artifact (§4.1.6): text, bytes, a URL or structured data.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Violation;
use super::lenient::{nonempty, object};
use crate::json::{Json, Object};

/// One piece of content and what is said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub content: Content,
    pub metadata: Option<Object>,
    pub filename: Option<String>,
    /// A MIME type; of `data` and `text` too.
    pub media_type: Option<String>,
}

/// What a part holds: the `oneof` of the definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    Raw(Base64),
    Url(String),
    Data(Json),
    /// Nothing: read, but never valid.
    Missing,
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), metadata: None, filename: None, media_type: None }
    }

    pub fn data(value: Json) -> Self {
        Self { content: Content::Data(value), metadata: None, filename: None, media_type: None }
    }

    /// The text, where this part is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) | Content::Missing => None,
        }
    }

    /// About how many bytes this part takes as JSON.
    pub fn weight(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) | Content::Url(text) => text.len(),
            Content::Raw(base64) => base64.as_str().len(),
            Content::Data(json) => json.as_str().len(),
            Content::Missing => 0,
        };
        content
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_str().len())
            + self.filename.as_ref().map_or(0, String::len)
            + self.media_type.as_ref().map_or(0, String::len)
            + 16
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        match &self.content {
            Content::Missing => {
                Err(Violation::new("", "a part needs exactly one of 'text', 'raw', 'url' and 'data'"))
            }
            Content::Url(url) if url.is_empty() => Err(Violation::new("url", "must not be empty")),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Data(_) => Ok(()),
        }
    }
}

/// Bytes as base64 text: the standard alphabet with padding, whatever was read. Kept as text, since nobody here looks
/// into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base64(String);

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ANY_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const ANY_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Characters of a piece: whole groups of four, so that each can be read by itself.
const PIECE: usize = 64 * 1024;

impl Base64 {
    pub fn encode(bytes: &[u8]) -> Self {
        Self(BASE64_STANDARD.encode(bytes))
    }

    /// Reads either alphabet, padded or not.
    pub fn parse(text: String) -> Result<Self, base64::DecodeError> {
        let url_safe = text.bytes().any(|b| matches!(b, b'-' | b'_'));
        let bytes = if url_safe { ANY_URL_SAFE.decode(&text)? } else { ANY_STANDARD.decode(&text)? };
        if url_safe || !text.len().is_multiple_of(4) {
            return Ok(Self::encode(&bytes));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many bytes it is.
    pub const fn decoded_len(&self) -> usize {
        let text = self.0.as_bytes();
        let (mut padding, mut at) = (0, text.len());
        while at > 0 && text[at - 1] == b'=' {
            padding += 1;
            at -= 1;
        }
        text.len() / 4 * 3 - padding
    }

    /// The bytes, a piece at a time: a large file is not held a second time.
    pub fn pieces(&self) -> impl Iterator<Item = Vec<u8>> {
        let starts = (0..self.0.len()).step_by(PIECE);
        starts.map(|from| self.decode_groups(from..self.0.len().min(from + PIECE)))
    }

    /// The bytes that these characters stand for: whole groups of four.
    pub fn decode_groups(&self, at: Range<usize>) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.0.as_bytes()[at]).expect("checked when it was read")
    }

    /// The bytes themselves.
    pub fn decode(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.0).expect("checked when it was read")
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(base64) => map.serialize_entry("raw", base64.as_str())?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(json) => map.serialize_entry("data", json)?,
            Content::Missing => {}
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        map.end()
    }
}

/// What may be written, before the `oneof` is checked.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Loose {
    text: Option<String>,
    #[serde(deserialize_with = "base64_text")]
    raw: Option<Base64>,
    url: Option<String>,
    #[serde(deserialize_with = "present")]
    data: Option<Json>,
    metadata: Option<Object>,
    #[serde(deserialize_with = "nonempty")]
    filename: Option<String>,
    #[serde(alias = "media_type", deserialize_with = "nonempty")]
    media_type: Option<String>,
}

/// A member that is there, `null` included: `data` may be the value null.
fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(d).map(Some)
}

fn base64_text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Base64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(d)? else { return Ok(None) };
    Base64::parse(text).map(Some).map_err(|why| de::Error::custom(format_args!("not base64: {why}")))
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Loose { text, raw, url, data, metadata, filename, media_type } =
            object(deserializer)?.unwrap_or_default();
        // A writer that spells every member out writes null for those that it leaves unset.
        let other = text.is_some() || raw.is_some() || url.is_some();
        let data = data.filter(|data| !(other && data.as_str() == "null"));
        let content = match (text, raw, url, data) {
            (Some(text), None, None, None) => Content::Text(text),
            (None, Some(base64), None, None) => Content::Raw(base64),
            (None, None, Some(url), None) => Content::Url(url),
            (None, None, None, Some(json)) => Content::Data(json),
            (None, None, None, None) => Content::Missing,
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(de::Error::custom("a part holds only one of 'text', 'raw', 'url' and 'data'"));
            }
        };
        Ok(Self { content, metadata, filename, media_type })
    }
}
