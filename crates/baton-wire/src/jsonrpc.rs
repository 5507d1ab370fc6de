//! The envelope of JSON-RPC 2.0 (§9): requests read, answers written.

use std::borrow::Cow;

use baton_core::model::Violation;
use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::fault::{Fault, Kind, RpcError};
use crate::read;
use crate::response::write;

/// A request, its parameters not yet read.
#[derive(Debug)]
pub struct Request<'a> {
    pub id: Id,
    pub method: Cow<'a, str>,
    /// An object, or absent.
    pub params: Option<&'a RawValue>,
}

/// The id of a request, exactly as it was written: text, a whole number or `null`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(Cow<'static, str>);

/// A request that cannot be read, and the id its answer carries.
#[derive(Debug)]
pub struct Rejected {
    pub id: Id,
    pub fault: Box<Fault>,
}

/// Bytes of an id: every answer and every event of a stream repeats it.
const ID_BYTES: usize = 1024;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Reads one request. The parameters are the caller's next step, with [`crate::request::Call::from_params`].
pub fn read(body: &[u8]) -> Result<Request<'_>, Rejected> {
    let reject = |id, fault| Rejected { id, fault: Box::new(fault) };
    let text = read::text(body).map_err(|fault| reject(Id::NULL, fault))?;
    let envelope = envelope(text).map_err(|fault| reject(Id::NULL, fault))?;
    let id = match envelope.id {
        None => Id::NULL,
        Some(raw) => Id::parse(raw.get()).ok_or_else(|| {
            reject(Id::NULL, invalid("'id' must be text, a whole number or null, and not longer than 1 KiB"))
        })?,
    };
    match method_and_params(&envelope) {
        Ok((method, params)) => Ok(Request { id, method, params }),
        Err(fault) => Err(reject(id, fault)),
    }
}

fn envelope(text: &str) -> Result<Envelope<'_>, Fault> {
    let start = text.trim_ascii_start();
    if start.starts_with('{')
        && let Ok(envelope) = serde_json::from_str(text)
    {
        return Ok(envelope);
    }
    if let Err(why) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return Err(read::parse_fault(&why.to_string()));
    }
    Err(invalid(match start.as_bytes().first() {
        Some(b'[') => "batches are not supported: send one request object",
        Some(b'{') => "a member is given more than once",
        _ => "expected a request object",
    }))
}

fn method_and_params<'a>(envelope: &Envelope<'a>) -> Result<(Cow<'a, str>, Option<&'a RawValue>), Fault> {
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(invalid("'jsonrpc' must be \"2.0\""));
    }
    let method = envelope.method.and_then(|raw| text_of(raw.get()));
    let method = method.ok_or_else(|| invalid("'method' must be text"))?;
    if envelope.params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(Violation::new("params", "must be an object").into());
    }
    Ok((method, envelope.params))
}

/// The text that a JSON string spells, without a copy where nothing is escaped.
fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        return serde_json::from_str::<String>(raw).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inside))
}

fn invalid(why: &str) -> Fault {
    Fault::new(Kind::InvalidRequest).with_message(format!("{}: {why}", Kind::InvalidRequest.row().text))
}

impl Id {
    /// Where the id of the request cannot be known.
    pub const NULL: Self = Self(Cow::Borrowed("null"));

    /// An id for a request of our own.
    pub fn number(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }

    fn parse(raw: &str) -> Option<Self> {
        let digits = raw.strip_prefix('-').unwrap_or(raw);
        let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        ((whole || raw.starts_with('"')) && raw.len() <= ID_BYTES).then(|| Self(Cow::Owned(raw.to_owned())))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).expect("an id is JSON as it was read");
        raw.serialize(serializer)
    }
}

/// An answer with a result.
pub fn result(id: &Id, result: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    write_result(&mut out, id, result);
    out.into()
}

/// An answer with an error.
pub fn error(id: &Id, fault: &Fault) -> Bytes {
    let mut out = Vec::with_capacity(512);
    write_error(&mut out, id, fault);
    out.into()
}

pub(crate) fn write_result(out: &mut Vec<u8>, id: &Id, result: &impl Serialize) {
    write_head(out, id, "result");
    write(out, result);
    out.push(b'}');
}

pub(crate) fn write_error(out: &mut Vec<u8>, id: &Id, fault: &Fault) {
    write_head(out, id, "error");
    write(out, &RpcError(fault));
    out.push(b'}');
}

fn write_head(out: &mut Vec<u8>, id: &Id, member: &str) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_str().as_bytes());
    out.extend_from_slice(b",\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
}
