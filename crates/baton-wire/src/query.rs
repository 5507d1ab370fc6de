//! Query parameters (§11.5): percent-encoding, and requests read from them with the same fields and the same
//! violations as from JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use baton_core::model::Violation;
use serde::de::value::{Error, MapDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::fault::{Fault, clip};
use crate::read::violation;

/// Reads a request from its query. A parameter without a value is unset; an unknown one is ignored.
pub(crate) fn object<'de, T: Deserialize<'de>>(query: &'de str) -> Result<T, Fault> {
    let pairs = decoded(query)?;
    let entries = || MapDeserializer::<_, Error>::new(pairs.iter().map(|(name, text)| (&**name, Text(text))));
    T::deserialize(entries()).or_else(|_| {
        serde_path_to_error::deserialize(entries())
            .map_err(|why| violation(why.path(), &why.inner().to_string()).into())
    })
}

type Pairs<'q> = Vec<(Cow<'q, str>, Cow<'q, str>)>;

fn decoded(query: &str) -> Result<Pairs<'_>, Fault> {
    let wrong = |name: &str| Violation::new(clip(name), "is not percent-encoded UTF-8");
    pairs(query)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            let name = form_decode(name).ok_or_else(|| wrong(name))?;
            let value = form_decode(value).ok_or_else(|| wrong(&name))?;
            Ok((name, value))
        })
        .collect()
}

/// The names and values of a query, as they are written.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Decodes a value of a query, where a plus is a space, as browsers and most clients write it.
pub(crate) fn form_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('+') {
        return percent_decode(text);
    }
    let spaced = text.replace('+', " ");
    percent_decode(&spaced).map(|text| Cow::Owned(text.into_owned()))
}

/// Decodes `%XX`; `None` where that is malformed or gives no UTF-8.
pub(crate) fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(hex(digits[0])? << 4 | hex(digits[1])?);
            rest = after;
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Writes text so that it is one segment of a path or one value of a query: all but the unreserved is escaped
/// (RFC 3986 §2.3).
pub fn percent_encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to a String does not fail");
        }
    }
}

/// One segment of a path, or one value of a query, by itself.
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent_encode(&mut out, text);
    out
}

/// A value of a query: text, in whatever form the field wants it.
struct Text<'a>(&'a str);

impl IntoDeserializer<'_, Error> for Text<'_> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
