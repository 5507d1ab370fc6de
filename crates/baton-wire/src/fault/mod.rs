//! What a caller sees when something is refused: one value for every binding.
//!
//! What a fault says comes from its row in [`Kind`]'s table. It must not depend on what the caller may not know: an id
//! that belongs to someone else and an id that was made up give the same fault.

mod encode;
mod kind;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use baton_core::model::Violation;
use http::StatusCode;
use http::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

pub(crate) use encode::RpcError;
pub use kind::{GrpcCode, Kind, Row};

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    /// Replaces the public text of the kind's row.
    pub message: Option<Cow<'static, str>>,
    /// Which fields are wrong; with [`Kind::InvalidParams`].
    pub violations: Vec<Violation>,
    /// `ErrorInfo.metadata`: nothing but what the caller gave itself, or what is the same for every caller.
    pub metadata: Vec<(&'static str, Cow<'static, str>)>,
    pub retry_after: Option<Duration>,
    /// The methods that the path has, with [`Kind::MethodNotAllowed`].
    pub allow: Option<&'static str>,
    /// How credentials are to be brought, where that is more than the kind says (`WWW-Authenticate`).
    pub challenge: Option<Box<HeaderValue>>,
}

impl Fault {
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            message: None,
            violations: Vec::new(),
            metadata: Vec::new(),
            retry_after: None,
            allow: None,
            challenge: None,
        }
    }

    /// The task that the caller named is not there, or not the caller's.
    pub fn task_not_found(id: &str) -> Self {
        Self::new(Kind::TaskNotFound).with_metadata("taskId", clip(id).into_owned())
    }

    /// The path is there, the method is not; `allow` lists those that are.
    pub const fn method_not_allowed(allow: &'static str) -> Self {
        let mut fault = Self::new(Kind::MethodNotAllowed);
        fault.allow = Some(allow);
        fault
    }

    /// Another text than the row's. It is public: nothing internal, nothing that the caller may not know.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = Some(message.into());
        self
    }

    #[must_use]
    pub fn with_metadata(mut self, key: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    #[must_use]
    pub fn with_violation(mut self, violation: Violation) -> Self {
        self.violations.push(violation);
        self
    }

    #[must_use]
    pub const fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    #[must_use]
    pub fn with_challenge(mut self, challenge: &str) -> Self {
        self.challenge = HeaderValue::from_str(challenge).ok().map(Box::new);
        self
    }

    /// How credentials are to be brought: whoever is refused for want of them is always told (RFC 9110 §15.5.2).
    pub fn challenge(&self) -> Option<HeaderValue> {
        match &self.challenge {
            Some(challenge) => Some(HeaderValue::clone(challenge)),
            None => (self.kind == Kind::Unauthenticated).then_some(CHALLENGE),
        }
    }

    /// The public text.
    pub fn message(&self) -> Cow<'_, str> {
        let text = self.kind.row().text;
        match (&self.message, self.violations.first()) {
            (Some(message), _) => Cow::Borrowed(message),
            (None, Some(Violation { field, description })) if field.is_empty() => {
                format!("{text}: {description}").into()
            }
            (None, Some(Violation { field, description })) => {
                format!("{text}: {field}: {description}").into()
            }
            (None, None) => Cow::Borrowed(text),
        }
    }

    /// The HTTP status of a REST answer.
    pub const fn http_status(&self) -> StatusCode {
        self.kind.row().http
    }

    /// The HTTP status of a JSON-RPC answer: 200, but for what stands in front of the protocol.
    pub const fn jsonrpc_http_status(&self) -> StatusCode {
        self.kind.jsonrpc_http_status()
    }

    /// The headers that belong to the answer, whatever its binding: `Allow`, `Retry-After`, `WWW-Authenticate`.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let allow = self.allow.map(|methods| (ALLOW, HeaderValue::from_static(methods)));
        let retry = self.retry_after.map(|wait| (RETRY_AFTER, HeaderValue::from(whole_seconds(wait))));
        let challenge = self.challenge().map(|challenge| (WWW_AUTHENTICATE, challenge));
        allow.into_iter().chain(retry).chain(challenge)
    }
}

impl From<Kind> for Fault {
    fn from(kind: Kind) -> Self {
        Self::new(kind)
    }
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Self {
        Self::new(Kind::InvalidParams).with_violation(violation)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Fault {}

/// Rounded up: a client that waits this long is never early.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// How credentials are brought to every node.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"baton\"");

/// Bytes of a caller's text that a fault repeats at most.
const ECHO_BYTES: usize = 256;

/// The start of a caller's text, short enough to be repeated in a fault.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    if text.len() <= ECHO_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(ECHO_BYTES)]))
}
