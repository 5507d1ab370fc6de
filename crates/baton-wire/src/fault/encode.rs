//! A fault as JSON: the error object of JSON-RPC (§9.5) and `google.rpc.Status` (§11.6).

use baton_core::model::Violation;
use bytes::Bytes;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Fault;
use crate::response::encode;

impl Fault {
    /// The body of a REST answer, and the data of a REST stream's error event.
    pub fn to_rest(&self) -> Bytes {
        encode(&Body { error: Status(self) })
    }

    /// The body of a REST answer of 0.3: one client reads the code of JSON-RPC at the top, another the status inside.
    pub fn to_rest_v03(&self) -> Bytes {
        encode(&BodyV03 { code: self.kind.row().code, message: &self.message(), error: Status(self) })
    }
}

#[derive(Serialize)]
struct BodyV03<'a> {
    code: i32,
    message: &'a str,
    error: Status<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: Status<'a>,
}

/// `google.rpc.Status`, its code being the HTTP status.
struct Status<'a>(&'a Fault);

impl Serialize for Status<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0.kind.row();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("code", &row.http.as_u16())?;
        map.serialize_entry("status", row.grpc.as_str())?;
        map.serialize_entry("message", &self.0.message())?;
        map.serialize_entry("details", &Details(self.0))?;
        map.end()
    }
}

/// The error object of JSON-RPC.
pub(crate) struct RpcError<'a>(pub &'a Fault);

impl Serialize for RpcError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", &self.0.kind.row().code)?;
        map.serialize_entry("message", &self.0.message())?;
        map.serialize_entry("data", &Details(self.0))?;
        map.end()
    }
}

/// The list of details, each with its `@type`.
struct Details<'a>(&'a Fault);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&ErrorInfo(self.0))?;
        if !self.0.violations.is_empty() {
            let field_violations = self.0.violations.iter().map(FieldViolation::from).collect();
            list.serialize_element(&BadRequest { of: BAD_REQUEST, field_violations })?;
        }
        if let Some(wait) = self.0.retry_after {
            let retry_delay = format!("{}s", super::whole_seconds(wait));
            list.serialize_element(&RetryInfo { of: RETRY_INFO, retry_delay })?;
        }
        list.end()
    }
}

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

struct ErrorInfo<'a>(&'a Fault);

impl Serialize for ErrorInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0.kind.row();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("@type", ERROR_INFO)?;
        map.serialize_entry("reason", row.reason)?;
        map.serialize_entry("domain", row.domain)?;
        if !self.0.metadata.is_empty() {
            map.serialize_entry("metadata", &Metadata(self.0))?;
        }
        map.end()
    }
}

struct Metadata<'a>(&'a Fault);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.metadata.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BadRequest<'a> {
    #[serde(rename = "@type")]
    of: &'static str,
    field_violations: Vec<FieldViolation<'a>>,
}

#[derive(Serialize)]
struct FieldViolation<'a> {
    field: &'a str,
    description: &'a str,
}

impl<'a> From<&'a Violation> for FieldViolation<'a> {
    fn from(Violation { field, description }: &'a Violation) -> Self {
        Self { field, description }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetryInfo {
    #[serde(rename = "@type")]
    of: &'static str,
    retry_delay: String,
}
