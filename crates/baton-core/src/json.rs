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
    let (mut depth, mut at, mut spaces) = (0_usize, 0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
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
    fn an_object_is_an_object() {
        assert!(Object::parse(" {} ").is_ok());
        assert!(matches!(Object::parse("[]"), Err(Error::NotAnObject)));
    }
}
