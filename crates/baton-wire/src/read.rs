//! From bytes to a typed value: one pass where all is well, further passes only to say exactly what is wrong.

use std::fmt::Write as _;

use baton_core::json;
use baton_core::limits::JSON_DEPTH;
use baton_core::model::Violation;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_path_to_error::{Path, Segment};

use crate::fault::{Fault, Kind, clip};

/// A body as text: UTF-8, and not nested beyond the limit.
pub(crate) fn text(body: &[u8]) -> Result<&str, Fault> {
    let text = std::str::from_utf8(body)
        .map_err(|why| parse_fault(&format!("not UTF-8 at byte {}", why.valid_up_to())))?;
    if is_too_deep(body) {
        return Err(parse_fault(&format!("nested deeper than {JSON_DEPTH} levels")));
    }
    if text.trim_ascii().is_empty() {
        return Err(parse_fault("the body is empty"));
    }
    Ok(text)
}

/// Nearly every body has fewer brackets than levels are allowed, and counting them costs next to nothing.
fn is_too_deep(body: &[u8]) -> bool {
    let opening = body.iter().filter(|&&byte| byte == b'{' || byte == b'[').count();
    opening > JSON_DEPTH && depth(body) > JSON_DEPTH
}

/// The deepest level, with brackets inside strings left out.
fn depth(body: &[u8]) -> usize {
    let (mut now, mut deepest, mut at, mut inside) = (0_usize, 0, 0, false);
    while at < body.len() {
        match (inside, body[at]) {
            (true, b'\\') => at += 1,
            (_, b'"') => inside = !inside,
            (false, b'{' | b'[') => {
                now += 1;
                deepest = deepest.max(now);
            }
            (false, b'}' | b']') => now = now.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Reads an object. What is no JSON is a parse fault, what is the wrong JSON an invalid parameter with its path.
pub(crate) fn object<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Fault> {
    if text.trim_ascii_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    Err(diagnose::<T>(text))
}

#[cold]
fn diagnose<'de, T: Deserialize<'de>>(text: &'de str) -> Fault {
    if let Err(why) = serde_json::from_str::<IgnoredAny>(text) {
        return parse_fault(&why.to_string());
    }
    if !text.trim_ascii_start().starts_with('{') {
        return Violation::new("", "expected a JSON object").into();
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(why) => json_violation(&why).into(),
        Ok(_) => Fault::new(Kind::InvalidParams),
    }
}

pub(crate) fn parse_fault(why: &str) -> Fault {
    Fault::new(Kind::Parse).with_message(format!("{}: {why}", Kind::Parse.row().text))
}

/// The violation behind an error in a text that is valid JSON, without the line and column that serde_json adds: they
/// count from the wrong place.
pub(crate) fn json_violation(why: &serde_path_to_error::Error<serde_json::Error>) -> Violation {
    let inner = why.inner();
    let text = inner.to_string();
    if inner.is_syntax() && text.contains("hex escape") {
        return violation(why.path(), &json::Error::LoneSurrogate.to_string());
    }
    let position = format!(" at line {} column {}", inner.line(), inner.column());
    violation(why.path(), text.strip_suffix(&position).unwrap_or(&text))
}

/// A violation at a path. A member given twice is reported by its parent: the name is taken from the message.
pub(crate) fn violation(path: &Path, description: &str) -> Violation {
    let violation = Violation::new(spell(path), clip(description));
    let twice = description.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`'));
    match twice {
        Some(name) => {
            let member = Violation::new(name, "is given more than once");
            if violation.field.is_empty() { member } else { member.within(&violation.field) }
        }
        None => violation,
    }
}

/// `message.parts[0].mediaType`, whichever spelling was written.
fn spell(path: &Path) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                write!(out, "[{index}]").expect("writing to a String does not fail");
            }
            Segment::Map { key } | Segment::Enum { variant: key } => {
                if !out.is_empty() {
                    out.push('.');
                }
                push_camel(&mut out, &clip(key));
            }
            Segment::Unknown => {}
        }
    }
    out
}

fn push_camel(out: &mut String, name: &str) {
    let mut words = name.split('_');
    out.push_str(words.next().unwrap_or_default());
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
}
