//! What a form of the console sends: read up to a limit, and taken only from a page of ours in a session that goes on.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _};
use axum::response::Response;
use http::{Request, StatusCode};
use subtle::ConstantTimeEq as _;
use url::form_urlencoded;

use super::super::{Doors, body};
use super::guard::{Visitor, is_ours};
use super::layout;

/// Bytes of a form: an answer that a person writes.
const FORM_BYTES: usize = 256 * 1024;

/// The fields of a form, in their order.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The value of a field, without the white space around it; empty where it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// The value, where it says anything.
    pub fn said(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Every value of a field.
    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.trim())
    }
}

/// A form that somebody signed in has sent from a page of ours.
#[derive(Debug)]
pub struct Form {
    pub visitor: Visitor,
    pub fields: Fields,
}

impl Form {
    /// The page of ours that the form says it is on, else `otherwise`.
    pub fn back(&self, otherwise: &str) -> String {
        let back = self.fields.text("back");
        let path = back.strip_prefix("/console").unwrap_or("-");
        let ours = path.is_empty() || path.starts_with(['/', '?']);
        let plain = back.bytes().all(|byte| byte.is_ascii_graphic());
        if ours && plain { back.to_owned() } else { otherwise.to_owned() }
    }
}

impl FromRequest<Arc<Doors>> for Form {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, doors: &Arc<Doors>) -> Result<Self, Response> {
        let (mut parts, content) = request.into_parts();
        if !is_ours(&parts.headers, &parts.uri, &doors.service.site.base) {
            return Err(layout::refuse(
                StatusCode::FORBIDDEN,
                "This was not sent from a page of this console",
                "Nothing was done. Open the console in this browser and try again there.",
            ));
        }
        let visitor = Visitor::from_request_parts(&mut parts, doors).await?;
        let bytes = body::read(content, FORM_BYTES).await.map_err(|fault| {
            layout::refuse(StatusCode::PAYLOAD_TOO_LARGE, "That is too much for one form", &fault.message())
        })?;
        let fields = Fields::parse(&bytes);
        let token = fields.text("csrf").as_bytes();
        if !bool::from(token.ct_eq(visitor.session.csrf.as_bytes())) {
            return Err(layout::refuse(
                StatusCode::FORBIDDEN,
                "This page is of an earlier session",
                "Nothing was done. Load the page again and repeat what you did.",
            ));
        }
        Ok(Self { visitor, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_a_browser_writes_them() {
        let fields = Fields::parse(b"text=Keep+0042%21&verb=send&verb=read&empty=&spaced=+a+");
        assert_eq!(fields.text("text"), "Keep 0042!");
        assert_eq!(fields.all("verb").collect::<Vec<_>>(), ["send", "read"]);
        assert_eq!((fields.said("empty"), fields.said("none")), (None, None));
        assert_eq!(fields.said("spaced").as_deref(), Some("a"));
    }
}
