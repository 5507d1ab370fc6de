//! The forms that clients send to the endpoints of OAuth, and who they say they are.

use std::borrow::Cow;

use axum::body::Body;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use url::form_urlencoded;

use super::super::body;
use super::reply::{Refusal, bad};

/// Bytes of a request: a few short parameters, and a URL or two.
const BODY: usize = 16 * 1024;

const FORM: &str = "application/x-www-form-urlencoded";

/// The parameters that mean something here.
const NAMES: [&str; 10] = [
    "grant_type",
    "client_id",
    "client_secret",
    "scope",
    "code",
    "redirect_uri",
    "code_verifier",
    "refresh_token",
    "resource",
    "token",
];

/// The parameters of a form, each of them once at most.
#[derive(Debug, Default)]
pub struct Form([Option<String>; NAMES.len()]);

/// Who a client says it is.
pub struct Client {
    pub id: String,
    pub secret: String,
}

impl Form {
    pub async fn read(headers: &HeaderMap, content: Body) -> Result<Self, Refusal> {
        let is_form = |value: &HeaderValue| {
            let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case(FORM)
        };
        if !headers.get(CONTENT_TYPE).is_some_and(is_form) {
            let what = "The parameters are the body, as application/x-www-form-urlencoded";
            return Err(bad("invalid_request", what));
        }
        let unreadable = |_| bad("invalid_request", "The body broke off, or is larger than any request is");
        Self::parse(&body::read(content, BODY).await.map_err(unreadable)?)
    }

    /// Parameters without a value count as left out, unknown ones are not looked at (RFC 6749 §3.2).
    fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let (mut form, mut seen) = (Self::default(), [false; NAMES.len()]);
        for (name, value) in form_urlencoded::parse(bytes) {
            let Some(at) = NAMES.iter().position(|known| *known == name) else { continue };
            if std::mem::replace(&mut seen[at], true) {
                return Err(bad("invalid_request", "A parameter is given twice"));
            }
            form.0[at] = Some(value).filter(|value| !value.is_empty()).map(Cow::into_owned);
        }
        Ok(form)
    }

    /// A parameter's value; none where it is left out.
    pub fn get(&self, name: &'static str) -> Option<&str> {
        let at = NAMES.iter().position(|known| *known == name).expect("it is one of the names");
        self.0[at].as_deref()
    }

    /// The same where it must be there.
    pub fn need(&self, name: &'static str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| bad("invalid_request", format!("The {name} is missing")))
    }

    /// What a client says of itself, in the one way that it chose (RFC 6749 §2.3.1); none where that is nothing that can be
    /// read.
    pub fn client(&self, headers: &HeaderMap) -> Result<Option<Client>, Refusal> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let Some(header) = sent.next() else {
            let (Some(id), Some(secret)) = (self.get("client_id"), self.get("client_secret")) else {
                return Ok(None);
            };
            return Ok(Some(Client { id: id.to_owned(), secret: secret.to_owned() }));
        };
        if sent.next().is_some() || self.get("client_secret").is_some() {
            return Err(bad("invalid_request", "The client's credentials are given in two ways"));
        }
        let client = header.to_str().ok().and_then(basic);
        match (&client, self.get("client_id")) {
            (Some(client), Some(id)) if client.id != *id => {
                Err(bad("invalid_request", "The client_id is not that of the Authorization header"))
            }
            (_, _) => Ok(client),
        }
    }

    /// The id of a client that proves nothing by a secret: it may come as the user of an empty password too.
    pub fn public_client(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        let by_header = self.client(headers)?.map(|client| client.id);
        let id = by_header.or_else(|| self.get("client_id").map(str::to_owned));
        id.ok_or_else(|| bad("invalid_request", "The client_id is missing"))
    }
}

/// `Basic`, with both parts in the encoding of forms.
fn basic(header: &str) -> Option<Client> {
    let (scheme, text) = header.split_once(' ')?;
    let text = scheme.eq_ignore_ascii_case("basic").then(|| BASE64_STANDARD.decode(text.trim()).ok())??;
    let text = String::from_utf8(text).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some(Client {
        id: decoded(id)?,
        secret: if secret.is_empty() { String::new() } else { decoded(secret)? },
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (Some((name, value)), None) if value.is_empty() => Some(name.into_owned()),
        (_, _) => None,
    }
}
