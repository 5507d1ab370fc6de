//! The canonical form of JSON (RFC 8785): one text for one value, so that it can be signed.
//!
//! Members are ordered by UTF-16 code units, text escapes only what it must, numbers are spelled as ECMAScript spells a
//! double. What a double cannot hold, a member given twice and half a surrogate pair have no canonical form: two readers
//! could take them for two values.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Json};

/// A JSON value, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Self>),
    /// In the order in which they were written; no name comes twice.
    Object(Vec<(String, Self)>),
}

/// Why a text has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the number {0} is not exactly a double, so readers would not agree on it; write it as text")]
    Number(String),
    #[error("the member `{0}` is given more than once")]
    Twice(String),
    #[error(transparent)]
    Json(#[from] json::Error),
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
}

/// The canonical form of a JSON text.
pub fn canonical(text: &str) -> Result<String, Error> {
    Ok(Tree::parse(text)?.to_string())
}

impl Tree {
    /// Reads one JSON text; how deep it may be is [`Json`]'s limit.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read(Json::parse(text)?.as_str())
    }

    /// The text is known to be JSON without white space between its parts, and not too deep.
    fn read(text: &str) -> Result<Self, Error> {
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(raw) = serde_json::from_str(text)?;
                if let Some(name) = twice(&raw) {
                    return Err(Error::Twice(name.to_owned()));
                }
                let read = |(name, value): (Cow<'_, str>, &RawValue)| {
                    Ok((name.into_owned(), Self::read(value.get())?))
                };
                raw.into_iter().map(read).collect::<Result<_, Error>>().map(Self::Object)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                items.into_iter().map(|item| Self::read(item.get())).collect::<Result<_, _>>().map(Self::List)
            }
            Some(b'"') => Ok(Self::Text(serde_json::from_str(text)?)),
            Some(b't') => Ok(Self::Bool(true)),
            Some(b'f') => Ok(Self::Bool(false)),
            Some(b'n') => Ok(Self::Null),
            Some(_) | None => number(text).map(Self::Number),
        }
    }

    /// A member of an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Takes a member out of an object.
    pub fn remove(&mut self, name: &str) -> Option<Self> {
        match self {
            Self::Object(members) => {
                let at = members.iter().position(|(known, _)| known == name)?;
                Some(members.remove(at).1)
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The value without what says nothing, at any depth: `null`, empty text, empty lists and objects. `None` where
    /// nothing is left.
    pub fn without_empty(self) -> Option<Self> {
        match self {
            Self::Null => None,
            Self::Text(text) => (!text.is_empty()).then_some(Self::Text(text)),
            Self::List(items) => {
                let items: Vec<_> = items.into_iter().filter_map(Self::without_empty).collect();
                (!items.is_empty()).then_some(Self::List(items))
            }
            Self::Object(members) => {
                let some = |(name, value): (String, Self)| Some((name, value.without_empty()?));
                let members: Vec<_> = members.into_iter().filter_map(some).collect();
                (!members.is_empty()).then_some(Self::Object(members))
            }
            Self::Bool(_) | Self::Number(_) => Some(self),
        }
    }
}

/// The canonical form.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => spell(*value, f),
            Self::Text(text) => quote(text, f),
            Self::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    f.write_char(if at == 0 { '[' } else { ',' })?;
                    item.fmt(f)?;
                }
                f.write_str(if items.is_empty() { "[]" } else { "]" })
            }
            Self::Object(members) => {
                let mut sorted: Vec<&(String, Self)> = members.iter().collect();
                sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                for (at, (name, value)) in sorted.into_iter().enumerate() {
                    f.write_char(if at == 0 { '{' } else { ',' })?;
                    quote(name, f)?;
                    f.write_char(':')?;
                    value.fmt(f)?;
                }
                f.write_str(if members.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

/// A name that comes twice. Sorted rather than compared each with each: a stranger's card may have very many.
fn twice<'m>(members: &'m [(Cow<'_, str>, &RawValue)]) -> Option<&'m str> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The double that a JSON number means. A whole number that no double is exactly is refused, as some readers keep it and
/// others round it; a fraction is rounded by everyone.
fn number(text: &str) -> Result<f64, Error> {
    let wrong = || Error::Number(text.to_owned());
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if !value.is_finite() {
        return Err(wrong());
    }
    let whole = !text.contains(['.', 'e', 'E']);
    let exact = value.abs() <= SAFE || Tree::Number(value).to_string() == text;
    if !whole || exact { Ok(value) } else { Err(wrong()) }
}

/// Up to here every whole number is a double of its own.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// `Number::toString` of ECMAScript: the fewest digits that mean this double, in full where the point lies within 21
/// digits, else with an exponent.
fn spell(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value == 0.0 {
        return f.write_char('0');
    }
    let text = shortest(value.abs());
    let (digits, exponent) = text.split_once('e').ok_or(fmt::Error)?;
    let digits = digits.replace('.', "");
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    if value < 0.0 {
        f.write_char('-')?;
    }
    let count = i32::try_from(digits.len()).map_err(|_| fmt::Error)?;
    // Digits before the point.
    let before = exponent + 1;
    match before {
        _ if (count..=21).contains(&before) => {
            f.write_str(&digits)?;
            (count..before).try_for_each(|_| f.write_char('0'))
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(before).map_err(|_| fmt::Error)?);
            write!(f, "{whole}.{fraction}")
        }
        -5..=0 => {
            f.write_str("0.")?;
            (before..0).try_for_each(|_| f.write_char('0'))?;
            f.write_str(&digits)
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(f, "{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

/// The fewest digits that mean this double and, of those, the ones that are nearest to it, the even ones where two are
/// equally near; written as `d.ddd` and an exponent. Rust finds how many digits it takes, and may choose the odd ones.
fn shortest(value: f64) -> String {
    let some = format!("{value:e}");
    let digits = some.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let nearest = format!("{value:.*e}", digits - 1);
    // Next to a power of two the nearest may mean the neighbour.
    if nearest.parse() == Ok(value) { nearest } else { some }
}

/// serde_json escapes what RFC 8785 wants escaped, in the same way, and nothing else.
fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

/// The members of an object as they are written, one after another.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests;
