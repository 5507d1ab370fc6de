//! What pages of others may ask of the door: a client may run in a browser, as the MCP inspector does. The door knows no
//! cookie, so that a page gets nothing but what it brings the means for.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ORIGIN,
};
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use crate::bindings::media::Media;
use crate::bindings::{Gate, fault};
use crate::service::Error;

/// What of a request comes from a page.
pub enum Page {
    /// Nothing.
    None,
    /// One that may read the answers.
    Let,
    /// In dev mode loopback is all that proves who calls, and pages are loopback too.
    Refused(Error),
}

impl Page {
    pub fn of(gate: &Gate, head: &Parts) -> Self {
        match gate.stranger(head) {
            Err(why) => Self::Refused(why),
            Ok(_) if head.headers.contains_key(ORIGIN) => Self::Let,
            Ok(_) => Self::None,
        }
    }

    /// Answers what browsers ask before they send what a page wants to send.
    pub fn ask_first(self) -> Response {
        if let Self::Refused(why) = self {
            return fault::rest(&fault::of(why, None), Media::Json);
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
            ),
            (ACCESS_CONTROL_MAX_AGE, "3600"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        self.open(response)
    }

    /// Says with every answer to a page that it may be read, and what of its head.
    pub fn open(self, mut response: Response) -> Response {
        if matches!(self, Self::Let) {
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            let read = HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate");
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, read);
        }
        response
    }
}
