//! JSON that is carried, not understood: exact numbers, one line, bounded depth.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use crate::limits::JSON_DEPTH;

/// A JSON value as it was written: `3` stays `3`, `3.0` stays `3.0`, `9007199254740993` survives. Insignificant white
/// space is removed, so that a value never breaks a line-framed stream.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

/// A [`Json`] that is an object (`google.protobuf.Struct`).
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Object(Json);

/// Why a text is not a [`Json`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("JSON is nested deeper than {JSON_DEPTH} levels")]
    TooDeep,
    #[error("half of a UTF-16 surrogate pair stands alone")]
    LoneSurrogate,
    #[error("expected a JSON object")]
    NotAnObject,
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
}

impl Json {
    /// Reads one JSON text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_raw(serde_json::from_str::<Box<RawValue>>(text)?)
    }

    /// Any serialisable value, spelled as JSON.
    pub fn from_serialize(value: &impl Serialize) -> Result<Self, Error> {
        Ok(Self(serde_json::value::to_raw_value(value)?))
    }

    fn from_raw(raw: Box<RawValue>) -> Result<Self, Error> {
        match compact(raw.get())? {
            None => Ok(Self(raw)),
            Some(text) => Ok(Self(RawValue::from_string(text)?)),
        }
    }

    /// The JSON text, one line.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl Object {
    /// Reads one JSON object.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_json(Json::parse(text)?)
    }

    /// An object from any value that serialises to one.
    pub fn from_serialize(value: &impl Serialize) -> Result<Self, Error> {
        Self::from_json(Json::from_serialize(value)?)
    }

    fn from_json(json: Json) -> Result<Self, Error> {
        if json.as_str().starts_with('{') { Ok(Self(json)) } else { Err(Error::NotAnObject) }
    }

    /// The JSON text, one line, from `{` to `}`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// The text without insignificant white space, or `None` where there is none to remove.
fn compact(text: &str) -> Result<Option<String>, Error> {
    let bytes = text.as_bytes();
    let escapes = text.contains("\\u");
    let (mut depth, mut at, mut spaces) = (0_usize, 0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = end_of_string(bytes, at);
                if escapes && has_lone_surrogate(&bytes[at + 1..end]) {
                    return Err(Error::LoneSurrogate);
                }
                at = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b' ' | b'\n' | b'\r' | b'\t' => spaces += 1,
            _ => {}
        }
        if depth > JSON_DEPTH {
            return Err(Error::TooDeep);
        }
        at += 1;
    }
    Ok((spaces > 0).then(|| without_spaces(text, spaces)))
}

fn without_spaces(text: &str, spaces: usize) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() - spaces);
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b'"' {
            at = end_of_string(bytes, at);
        }
        if !matches!(bytes[start], b' ' | b'\n' | b'\r' | b'\t') {
            out.push_str(&text[start..=at]);
        }
        at += 1;
    }
    out
}

/// The index of the closing quote of the string that starts at `start`; the text is known to be valid JSON.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Whether the inside of a string escapes half a character: valid JSON, but no text that could be read again.
fn has_lone_surrogate(inside: &[u8]) -> bool {
    let mut at = 0;
    while at < inside.len() {
        match unit(&inside[at..]) {
            Some(0xD800..=0xDBFF) => match inside.get(at + 6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => at += 12,
                Some(_) | None => return true,
            },
            Some(0xDC00..=0xDFFF) => return true,
            Some(_) => at += 6,
            None => at += if inside[at] == b'\\' { 2 } else { 1 },
        }
    }
    false
}

/// The UTF-16 unit that a `\uXXXX` at the start stands for.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(Box::<RawValue>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Json::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_form_and_white_space_goes() {
        let json = Json::parse("{ \"a\" : [ 3 , 3.0, 9007199254740993, 1e400 ],\n \"b c\": \" x\\\" y \" }")
            .unwrap();
        assert_eq!(json.as_str(), r#"{"a":[3,3.0,9007199254740993,1e400],"b c":" x\" y "}"#);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Json::parse(&deep(JSON_DEPTH)).is_ok());
        assert!(matches!(Json::parse(&deep(JSON_DEPTH + 1)), Err(Error::TooDeep)));
        assert!(Json::parse(&deep(200_000)).is_err());
    }

    #[test]
    fn half_a_surrogate_pair_is_no_text() {
        assert!(Json::parse(r#"["\ud83d\ude00", "\\ud83d", "\u2028\u0000"]"#).is_ok());
        for lone in
            [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#"{"\udbff":1}"#, r#""\ud83d\ud83d\ude00""#]
        {
            assert!(matches!(Json::parse(lone), Err(Error::LoneSurrogate)), "{lone}");
        }
    }

    #[test]
    fn an_object_is_an_object() {
        assert!(Object::parse(" {} ").is_ok());
        assert!(matches!(Object::parse("[]"), Err(Error::NotAnObject)));
    }
}
