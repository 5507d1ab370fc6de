//! A fault as `google.rpc.Status`, which `grpc-status-details-bin` carries.

use baton_core::model::Violation;
use prost::Message;
use prost_types::{Any, Duration};

use super::generated::rpc::{BadRequest, ErrorInfo, RetryInfo, Status, bad_request::FieldViolation};
use crate::fault::{Fault, whole_seconds};

impl Fault {
    /// The code, the text and the details of a gRPC answer.
    pub fn to_grpc(&self) -> Status {
        let row = self.kind.row();
        let info = ErrorInfo {
            reason: row.reason.to_owned(),
            domain: row.domain.to_owned(),
            metadata: self
                .metadata
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (**value).to_owned()))
                .collect(),
        };
        let mut details = vec![any("ErrorInfo", &info)];
        if !self.violations.is_empty() {
            let field_violations = self.violations.iter().map(FieldViolation::from).collect();
            details.push(any("BadRequest", &BadRequest { field_violations }));
        }
        if let Some(wait) = self.retry_after {
            let seconds = i64::try_from(whole_seconds(wait)).unwrap_or(i64::MAX);
            details.push(any("RetryInfo", &RetryInfo { retry_delay: Some(Duration { seconds, nanos: 0 }) }));
        }
        Status { code: row.grpc.number(), message: self.message().into_owned(), details }
    }
}

fn any(name: &str, message: &impl Message) -> Any {
    Any { type_url: format!("type.googleapis.com/google.rpc.{name}"), value: message.encode_to_vec() }
}

impl From<&Violation> for FieldViolation {
    fn from(Violation { field, description }: &Violation) -> Self {
        Self { field: field.clone(), description: description.clone() }
    }
}
