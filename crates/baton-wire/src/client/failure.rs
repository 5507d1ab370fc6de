//! Why there is no answer: the other side refused, or what it said cannot be read.

use std::fmt;

use baton_core::model::{Violation, default_on_null};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fault::{Kind, clip};

/// No answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The other side answered with an error.
    #[error(transparent)]
    Remote(Box<RemoteError>),
    /// The answer is not A2A 1.0; the text says where and why.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

/// An error of the other side, as far as it could be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct RemoteError {
    /// `None` for an error that this version of A2A does not know.
    pub kind: Option<Kind>,
    pub http_status: u16,
    /// JSON-RPC's.
    pub code: Option<i32>,
    /// The reason of its ErrorInfo.
    pub reason: Option<String>,
    pub message: String,
    pub violations: Vec<Violation>,
    /// The metadata of its ErrorInfo.
    pub metadata: Vec<(String, String)>,
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.code) {
            (Some(reason), _) => write!(f, "{} ({reason})", self.message),
            (None, Some(code)) => write!(f, "{} ({code})", self.message),
            (None, None) => write!(f, "{} (HTTP {})", self.message, self.http_status),
        }
    }
}

impl RemoteError {
    /// From the error object of JSON-RPC, of `google.rpc.Status`, of RFC 9457, or from any other body.
    pub(super) fn parse(http_status: u16, error: Option<&RawValue>, body: &[u8]) -> Self {
        let raw = error.map(RawValue::get);
        let loose = raw.and_then(|raw| serde_json::from_str::<Loose<'_>>(raw).ok()).unwrap_or_default();
        let mut remote = Self { http_status, ..Self::default() };
        remote.code = number(loose.code).filter(|code| *code < 0);
        for detail in list(loose.data).into_iter().chain(list(loose.details)) {
            remote.add(detail);
        }
        remote.kind = remote
            .reason
            .as_deref()
            .and_then(Kind::from_reason)
            .or_else(|| remote.code.and_then(Kind::from_code))
            .or_else(|| from_status(http_status));
        let said = [loose.message, loose.detail, loose.title].into_iter().find_map(text);
        remote.message = said.or_else(|| text(error)).unwrap_or_else(|| outside(http_status, body));
        remote
    }

    fn add(&mut self, detail: Detail) {
        if detail.of.ends_with("ErrorInfo") {
            self.reason = Some(detail.reason).filter(|reason| !reason.is_empty());
            self.metadata = detail.metadata.into_iter().collect();
        }
        let violations = detail.field_violations.into_iter();
        self.violations
            .extend(violations.map(|Named { field, description }| Violation { field, description }));
    }
}

/// Where neither a reason nor a code is known; 400 and 404 could be anything.
fn from_status(status: u16) -> Option<Kind> {
    match status {
        401 => Some(Kind::Unauthenticated),
        403 => Some(Kind::PermissionDenied),
        413 => Some(Kind::TooLarge),
        429 => Some(Kind::RateLimited),
        503 => Some(Kind::Unavailable),
        _ => None,
    }
}

/// What a proxy or a framework says instead of A2A: the start of its body.
fn outside(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.trim() {
        "" => format!("HTTP status {status} without a body"),
        text => clip(text).into_owned(),
    }
}

/// The members of all the error objects that are about, each possibly of another type than expected.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Loose<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Detail {
    #[serde(rename = "@type", deserialize_with = "default_on_null")]
    of: String,
    #[serde(deserialize_with = "default_on_null")]
    reason: String,
    #[serde(deserialize_with = "default_on_null")]
    metadata: std::collections::BTreeMap<String, String>,
    #[serde(alias = "field_violations", deserialize_with = "default_on_null")]
    field_violations: Vec<Named>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Named {
    #[serde(deserialize_with = "default_on_null")]
    field: String,
    #[serde(deserialize_with = "default_on_null")]
    description: String,
}

fn number(raw: Option<&RawValue>) -> Option<i32> {
    serde_json::from_str(raw?.get()).ok()
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str::<String>(raw?.get()).ok().filter(|text| !text.is_empty())
}

/// A list of details, or one detail by itself; what is neither is left out.
fn list(raw: Option<&RawValue>) -> Vec<Detail> {
    let Some(raw) = raw else { return Vec::new() };
    match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        Ok(items) => items.into_iter().filter_map(detail).collect(),
        Err(_) => detail(raw).into_iter().collect(),
    }
}

fn detail(raw: &RawValue) -> Option<Detail> {
    if raw.get().starts_with('{') { serde_json::from_str(raw.get()).ok() } else { None }
}
