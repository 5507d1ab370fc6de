//! JSON and `google.protobuf.Value`.
//!
//! A Value holds numbers as doubles and members in no order. So what is lost on the way into one: digits beyond a
//! double's 53 bits, the spelling of a number (`3.0` comes back as `3`), the order of members, and all but the last of
//! members of one name. A number that is too large for a double becomes the largest one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use baton_core::json::{Json, Object};
use baton_core::model::Violation;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};

/// Whole numbers below it, down to its negative, are 64-bit integers.
const WHOLE: f64 = 9_223_372_036_854_775_808.0;

/// The JSON of a value that was received.
pub(super) fn to_json(value: &Value) -> Result<Json, Violation> {
    let mut out = String::new();
    write_value(&mut out, value)?;
    Json::parse(&out).map_err(|why| Violation::new("", why.to_string()))
}

/// The JSON object of a struct that was received; no object where there is none.
pub(super) fn to_object(fields: Option<&Struct>) -> Result<Option<Object>, Violation> {
    let Some(fields) = fields else { return Ok(None) };
    let mut out = String::new();
    write_struct(&mut out, fields)?;
    Object::parse(&out).map(Some).map_err(|why| Violation::new("", why.to_string()))
}

fn write_value(out: &mut String, value: &Value) -> Result<(), Violation> {
    match &value.kind {
        Some(Kind::NullValue(_)) => out.push_str("null"),
        Some(Kind::BoolValue(truth)) => out.push_str(if *truth { "true" } else { "false" }),
        Some(Kind::NumberValue(number)) => write_number(out, *number)?,
        Some(Kind::StringValue(text)) => write_text(out, text),
        Some(Kind::StructValue(fields)) => write_struct(out, fields)?,
        Some(Kind::ListValue(list)) => {
            write_all(out, ['[', ']'], &list.values, write_value)?;
        }
        None => return Err(Violation::new("", "a google.protobuf.Value has one of its six kinds")),
    }
    Ok(())
}

fn write_struct(out: &mut String, fields: &Struct) -> Result<(), Violation> {
    write_all(out, ['{', '}'], &fields.fields, |out, (name, value)| {
        write_text(out, name);
        out.push(':');
        write_value(out, value)
    })
}

/// Items between two brackets, commas between them.
fn write_all<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item)?;
    }
    out.push(close);
    Ok(())
}

/// A whole number is written as one: `42`, not `42.0`.
fn write_number(out: &mut String, number: f64) -> Result<(), Violation> {
    if !number.is_finite() {
        return Err(Violation::new("", format!("{number} is no number of JSON")));
    }
    let spelled = if number.fract() == 0.0 && (-WHOLE..WHOLE).contains(&number) {
        write!(out, "{number:.0}")
    } else {
        write!(out, "{number:?}")
    };
    spelled.expect("writing to a String does not fail");
    Ok(())
}

fn write_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}

/// The value of JSON that is sent.
pub(super) fn from_json(json: &Json) -> Value {
    Reader { text: json.as_str(), at: 0 }.value()
}

/// The struct of an object that is sent.
pub(super) fn from_object(object: &Object) -> Struct {
    Reader { text: object.as_str(), at: 0 }.fields()
}

/// Walks through a text that is known to be JSON on one line, without white space and of bounded depth.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self) -> Value {
        let kind = match self.peek() {
            b'{' => Kind::StructValue(self.fields()),
            b'[' => {
                let mut values = Vec::new();
                self.all(b']', |reader| values.push(reader.value()));
                Kind::ListValue(ListValue { values })
            }
            b'"' => Kind::StringValue(self.string()),
            _ => match self.word() {
                "null" => Kind::NullValue(0),
                "true" => Kind::BoolValue(true),
                "false" => Kind::BoolValue(false),
                number => {
                    let number: f64 = number.parse().expect("the text is JSON");
                    Kind::NumberValue(number.clamp(f64::MIN, f64::MAX))
                }
            },
        };
        Value { kind: Some(kind) }
    }

    fn fields(&mut self) -> Struct {
        let mut fields = BTreeMap::new();
        self.all(b'}', |reader| {
            let name = reader.string();
            reader.at += 1;
            fields.insert(name, reader.value());
        });
        Struct { fields }
    }

    /// The items of an object or an array, from its opening bracket to its closing one.
    fn all(&mut self, close: u8, mut item: impl FnMut(&mut Self)) {
        self.at += 1;
        while self.peek() != close {
            item(self);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn string(&mut self) -> String {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let mut end = start + 1;
        while bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        let inside = &self.text[start + 1..end];
        if inside.contains('\\') {
            return serde_json::from_str(&self.text[start..=end]).expect("the text is JSON");
        }
        inside.to_owned()
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}
