//! From what a use case refuses to what a caller reads.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use baton_store::Verb;
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tracing::error;

use super::media::Media;
use crate::access::Foreign;
use crate::service::Error;

/// When a caller may come again while the node is stopping.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// When a caller may come again while intake is frozen: a person has to let it go first.
const RETRY_FROZEN_AFTER: Duration = Duration::from_mins(1);

/// The fault of an error; `id` is the task that the caller named, if it named one. An internal error is logged here,
/// once, and told to nobody.
pub fn of(why: Error, id: Option<&str>) -> Fault {
    match why {
        Error::TaskNotFound => id.map_or_else(|| Fault::new(Kind::TaskNotFound), Fault::task_not_found),
        Error::TaskNotCancelable => Fault::new(Kind::TaskNotCancelable),
        Error::Unsupported(text) => Fault::new(Kind::UnsupportedOperation).with_message(sentence(text)),
        Error::PushNotSupported => Fault::new(Kind::PushNotificationNotSupported),
        Error::Invalid(violation) => violation.into(),
        Error::AgentNotFound => Fault::new(Kind::UnknownPath).with_message("There is no such agent here"),
        Error::GrantNotFound => Fault::new(Kind::UnknownPath).with_message("There is no grant of this id"),
        Error::FriendRequestNotFound => Fault::new(Kind::UnknownPath)
            .with_message("There is no friend request of this id, or its secret is another"),
        Error::ClientNotFound => {
            Fault::new(Kind::UnknownPath).with_message("No client is signed in by this id")
        }
        Error::PeerNotFound => Fault::new(Kind::UnknownPath).with_message("There is no peer of this id"),
        Error::PeerFailed(why) => Fault::new(Kind::UnsupportedOperation).with_message(sentence(&why)),
        Error::TooManyFriends(wait) => Fault::new(Kind::RateLimited)
            .with_message("As many friend requests have come as may: try again later")
            .with_retry_after(wait),
        Error::GrantPaused => Fault::new(Kind::GrantPaused),
        Error::OverQuota { what, again_in } => {
            Fault::new(Kind::QuotaExceeded).with_message(what).with_retry_after(again_in)
        }
        Error::IssuerUnreachable => Fault::new(Kind::Unavailable)
            .with_message("The issuer of the token cannot be reached to check it; try again soon")
            .with_retry_after(RETRY_AFTER),
        Error::Unauthenticated => Fault::new(Kind::Unauthenticated),
        Error::Challenged(challenge) => Fault::new(Kind::Unauthenticated).with_challenge(&challenge),
        Error::Forbidden(verb) => Fault::new(Kind::PermissionDenied)
            .with_message(format!("The grant does not allow this: {}", verb.as_str()))
            .with_challenge(&insufficient(verb)),
        Error::Denied(text) => Fault::new(Kind::PermissionDenied).with_message(sentence(text)),
        Error::ContentType(text) => Fault::new(Kind::ContentTypeNotSupported).with_message(sentence(&text)),
        Error::NoExtendedCard => Fault::new(Kind::ExtendedAgentCardNotConfigured),
        Error::RateLimited(wait) => Fault::new(Kind::RateLimited).with_retry_after(wait),
        Error::TooManyStreams => {
            Fault::new(Kind::RateLimited).with_message("Too many open streams; close some first")
        }
        Error::TooManySessions => {
            Fault::new(Kind::RateLimited).with_message("Too many open sessions; end some first")
        }
        Error::Draining => Fault::new(Kind::Unavailable)
            .with_message("The node is shutting down; try again soon")
            .with_retry_after(RETRY_AFTER),
        Error::Frozen(text) => {
            Fault::new(Kind::Unavailable).with_message(sentence(text)).with_retry_after(RETRY_FROZEN_AFTER)
        }
        Error::Conflict(why) => Fault::new(Kind::Conflict).with_message(sentence(&why)),
        Error::Unavailable(why) => {
            error!(error = %why, "answered that the node is not available");
            Fault::new(Kind::Unavailable).with_retry_after(RETRY_AFTER)
        }
        Error::Internal(why) => {
            error!(error = %why, "internal error");
            Fault::new(Kind::Internal)
        }
    }
}

/// A verb is a scope (RFC 6750 §3.1).
fn insufficient(verb: Verb) -> String {
    format!("Bearer realm=\"baton\", error=\"insufficient_scope\", scope=\"{}\"", verb.as_str())
}

impl From<Foreign> for Error {
    fn from(foreign: Foreign) -> Self {
        match foreign {
            Foreign::Host | Foreign::Origin => {
                Self::Denied("dev mode takes requests of this machine's programs only, not of web pages")
            }
            Foreign::ContentType => Self::ContentType("the body is sent as application/json".into()),
        }
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A fault as a REST answer.
pub fn rest(fault: &Fault, media: Media) -> Response {
    respond(fault, fault.http_status(), fault.to_rest().into(), media.header())
}

/// A fault as a REST answer of 0.3.
pub fn rest_v03(fault: &Fault, media: Media) -> Response {
    respond(fault, fault.http_status(), fault.to_rest_v03().into(), media.header())
}

/// A fault as a JSON-RPC answer.
pub fn rpc(fault: &Fault, id: &Id) -> Response {
    respond(fault, fault.jsonrpc_http_status(), jsonrpc::error(id, fault).into(), Media::Json.header())
}

fn respond(fault: &Fault, status: StatusCode, body: Body, media: HeaderValue) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media);
    response.headers_mut().extend(fault.headers());
    response
}
