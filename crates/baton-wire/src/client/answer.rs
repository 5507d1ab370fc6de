//! Answers: the result where there is one, otherwise the failure.

use baton_core::model::StreamResponse;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Binding;
use super::failure::{Failure, RemoteError};
use crate::read::json_violation;

/// Reads the answer to a JSON-RPC request, whatever its HTTP status.
pub fn read_jsonrpc<T: DeserializeOwned>(http_status: u16, body: &[u8]) -> Result<T, Failure> {
    let answer = Answer::read(body);
    match answer {
        Some(Answer { error: Some(error), .. }) => Err(refused(http_status, Some(error), body)),
        Some(Answer { result: Some(result), .. }) => typed(result.get(), "result"),
        // A result of null is one, for an operation that has nothing to say.
        Some(Answer { jsonrpc: Some(_), .. }) if is_success(http_status) => typed("null", "result"),
        Some(_) | None if is_success(http_status) => {
            Err(Failure::Unreadable("neither a result nor an error of JSON-RPC".to_owned()))
        }
        Some(_) | None => Err(refused(http_status, whole(body), body)),
    }
}

/// Reads the answer to a REST request.
pub fn read_rest<T: DeserializeOwned>(http_status: u16, body: &[u8]) -> Result<T, Failure> {
    if !is_success(http_status) {
        let nested = Answer::read(body).and_then(|answer| answer.error);
        return Err(refused(http_status, nested.or_else(|| whole(body)), body));
    }
    match std::str::from_utf8(body) {
        Ok(text) if text.trim_ascii().is_empty() => typed("null", ""),
        Ok(text) => typed(text, ""),
        Err(_) => Err(Failure::Unreadable("not UTF-8".to_owned())),
    }
}

/// Reads the data of one event of a stream.
pub fn read_event(binding: Binding, data: &str) -> Result<StreamResponse, Failure> {
    let answer = Answer::read(data.as_bytes());
    match (binding, answer) {
        (_, Some(Answer { error: Some(error), .. })) => Err(refused(200, Some(error), data.as_bytes())),
        (Binding::JsonRpc, Some(Answer { result: Some(result), .. })) => typed(result.get(), "result"),
        (Binding::JsonRpc, _) => {
            Err(Failure::Unreadable("an event with neither a result nor an error of JSON-RPC".to_owned()))
        }
        (Binding::Rest, _) => typed(data, ""),
    }
}

/// The members that tell an answer from an error, in both bindings.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Answer<'a> {
    fn read(body: &'a [u8]) -> Option<Self> {
        let object = body.trim_ascii_start().starts_with(b"{");
        if object { serde_json::from_slice(body).ok() } else { None }
    }
}

/// The body as one JSON value: an error that is not wrapped, as of RFC 9457 or of 0.3.
fn whole(body: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(body).ok()
}

const fn is_success(http_status: u16) -> bool {
    matches!(http_status, 200..=299)
}

fn refused(http_status: u16, error: Option<&RawValue>, body: &[u8]) -> Failure {
    Failure::Remote(Box::new(RemoteError::parse(http_status, error, body)))
}

fn typed<T: DeserializeOwned>(text: &str, parent: &str) -> Result<T, Failure> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(why) => {
            let violation = json_violation(&why);
            let at = if parent.is_empty() { violation } else { violation.within(parent) };
            let (field, description) = (at.field.trim_end_matches('.'), at.description);
            Err(Failure::Unreadable(format!("{field}: {description}").trim_start_matches(": ").to_owned()))
        }
        Ok(_) => Err(Failure::Unreadable("something follows the JSON value".to_owned())),
    }
}
