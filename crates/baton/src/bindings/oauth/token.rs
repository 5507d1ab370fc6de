//! The token endpoint (RFC 6749 §3.2): client credentials in, a short-lived access token out.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use baton_store::Verb;
use baton_wire::fault::{Fault, Kind};
use baton_wire::response::encode;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use serde::Serialize;
use url::form_urlencoded;

use super::super::media::Media;
use super::super::{Doors, body, fault};
use crate::service::Error;
use crate::service::oauth::{Asked, Issued, Refused};

/// Bytes of a request: a few short parameters.
const BODY: usize = 8 * 1024;

const FORM: &str = "application/x-www-form-urlencoded";

/// RFC 6749 §5.1.
#[derive(Serialize)]
struct Granted<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    scope: String,
}

/// RFC 6749 §5.2.
#[derive(Clone, Copy, Serialize)]
struct Refusal {
    error: &'static str,
    error_description: &'static str,
    #[serde(skip)]
    status: StatusCode,
}

const fn bad(error: &'static str, error_description: &'static str) -> Refusal {
    Refusal { error, error_description, status: StatusCode::BAD_REQUEST }
}

const CLIENT: Refusal = Refusal {
    error: "invalid_client",
    error_description: "The client_id is the id of a grant, and the client_secret its token",
    status: StatusCode::UNAUTHORIZED,
};
const TOO_OFTEN: Refusal = Refusal {
    error: "temporarily_unavailable",
    error_description: "Too many requests; an access token is good for many calls",
    status: StatusCode::TOO_MANY_REQUESTS,
};
const UNAVAILABLE: Refusal = Refusal {
    error: "temporarily_unavailable",
    error_description: "The node cannot do this now; try again soon",
    status: StatusCode::SERVICE_UNAVAILABLE,
};
const SERVER: Refusal = Refusal {
    error: "server_error",
    error_description: "The node failed; its log says why",
    status: StatusCode::INTERNAL_SERVER_ERROR,
};

/// The parameters that mean something here, each of them once at most.
#[derive(Default)]
struct Form<'a> {
    grant_type: Option<Cow<'a, str>>,
    client_id: Option<Cow<'a, str>>,
    client_secret: Option<Cow<'a, str>>,
    scope: Option<Cow<'a, str>>,
}

/// Who a client says it is.
struct Client {
    id: String,
    secret: String,
}

pub async fn exchange(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if doors.service.site.ways.client_credentials.is_none() {
        return fault::rest(&Fault::new(Kind::UnknownPath), Media::Json);
    }
    match run(&doors, &parts, body).await {
        Ok(issued) => granted(&issued),
        Err(Stop::Refused(refusal)) => refused(refusal),
        Err(Stop::Failed(why)) => failed(why),
    }
}

/// Why there is no token.
enum Stop {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

async fn run(doors: &Doors, parts: &Parts, body: Body) -> Result<Issued, Stop> {
    let is_form = |value: &HeaderValue| {
        let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case(FORM)
    };
    if !parts.headers.get(CONTENT_TYPE).is_some_and(is_form) {
        return Err(bad(
            "invalid_request",
            "The parameters are the body, as application/x-www-form-urlencoded",
        )
        .into());
    }
    let unreadable = bad("invalid_request", "The body broke off, or is larger than any request is");
    let body = body::read(body, BODY).await.map_err(|_| unreadable)?;
    let form = Form::read(&body)?;
    match form.grant_type.as_deref() {
        Some("client_credentials") => {}
        Some(_) => {
            return Err(
                bad("unsupported_grant_type", "The grant_type taken here is client_credentials").into()
            );
        }
        None => return Err(bad("invalid_request", "The grant_type is missing").into()),
    }
    let Some(client) = client(&parts.headers, &form)? else { return Err(unknown(doors, parts)) };
    let service = &doors.service;
    let asked = Asked { client: &client.id, secret: &client.secret };
    let known = match service.load_client(asked).await {
        Ok(known) => known,
        Err(Refused::Client) => return Err(unknown(doors, parts)),
        Err(why) => return Err(said(why)),
    };
    // Whoever is no client uses up nothing here of the clients that share its address.
    doors.gate.admit_client(parts).map_err(Stop::Failed)?;
    doors.gate.count(&known.grant).map_err(Stop::Failed)?;
    let lifetime = service.site.ways.client_credentials.unwrap_or_default();
    match service.issue(&known, form.scope.as_deref(), lifetime).await {
        Ok(issued) => Ok(issued),
        Err(Refused::Client) => Err(unknown(doors, parts)),
        Err(why) => Err(said(why)),
    }
}

/// Who fails is counted as all are whose credentials are refused.
fn unknown(doors: &Doors, parts: &Parts) -> Stop {
    match doors.gate.refuse_client(parts) {
        Error::Unauthenticated => CLIENT.into(),
        why => Stop::Failed(why),
    }
}

fn said(why: Refused) -> Stop {
    match why {
        Refused::Client => CLIENT.into(),
        Refused::Scope => bad("invalid_scope", "The scope has verbs in it that the grant has not").into(),
        Refused::Paused => bad("unauthorized_client", "The grant is paused").into(),
        Refused::Failed(why) => Stop::Failed(why),
    }
}

impl<'a> Form<'a> {
    /// Parameters without a value count as left out, unknown ones are not looked at (§3.2).
    fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        let mut form = Self::default();
        let mut seen = [false; 4];
        for (name, value) in form_urlencoded::parse(body) {
            let (at, place) = match &*name {
                "grant_type" => (0, &mut form.grant_type),
                "client_id" => (1, &mut form.client_id),
                "client_secret" => (2, &mut form.client_secret),
                "scope" => (3, &mut form.scope),
                _ => continue,
            };
            if std::mem::replace(&mut seen[at], true) {
                return Err(bad("invalid_request", "A parameter is given twice"));
            }
            *place = (!value.is_empty()).then_some(value);
        }
        Ok(form)
    }
}

/// What a client says of itself, in the one way that it chose (§2.3.1); none where that is nothing that can be read.
fn client(headers: &HeaderMap, form: &Form<'_>) -> Result<Option<Client>, Refusal> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let Some(header) = sent.next() else {
        let (Some(id), Some(secret)) = (&form.client_id, &form.client_secret) else { return Ok(None) };
        return Ok(Some(Client { id: id.to_string(), secret: secret.to_string() }));
    };
    if sent.next().is_some() || form.client_secret.is_some() {
        return Err(bad("invalid_request", "The client's credentials are given in two ways"));
    }
    let client = header.to_str().ok().and_then(basic);
    match (&client, &form.client_id) {
        (Some(client), Some(id)) if client.id != **id => {
            Err(bad("invalid_request", "The client_id is not that of the Authorization header"))
        }
        (_, _) => Ok(client),
    }
}

/// `Basic`, with both parts in the encoding of forms.
fn basic(header: &str) -> Option<Client> {
    let (scheme, text) = header.split_once(' ')?;
    let text = scheme.eq_ignore_ascii_case("basic").then(|| BASE64_STANDARD.decode(text.trim()).ok())??;
    let text = String::from_utf8(text).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some(Client { id: decoded(id)?, secret: decoded(secret)? })
}

fn decoded(text: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (Some((name, value)), None) if value.is_empty() => Some(name.into_owned()),
        (_, _) => None,
    }
}

fn granted(issued: &Issued) -> Response {
    let verbs: Vec<&str> = issued.verbs.iter().map(|verb: &Verb| verb.as_str()).collect();
    respond(
        StatusCode::OK,
        &Granted {
            access_token: issued.token.reveal(),
            token_type: "Bearer",
            expires_in: issued.lifetime.as_secs(),
            scope: verbs.join(" "),
        },
    )
}

fn refused(refusal: Refusal) -> Response {
    let mut response = respond(refusal.status, &refusal);
    // HTTP wants one, whichever way the client tried.
    if refusal.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"baton\""));
    }
    response
}

fn failed(why: Error) -> Response {
    let fault = fault::of(why, None);
    let refusal = match fault.http_status() {
        StatusCode::TOO_MANY_REQUESTS => TOO_OFTEN,
        StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
        _ => SERVER,
    };
    let mut response = respond(refusal.status, &refusal);
    response.headers_mut().extend(fault.headers().filter(|(name, _)| *name == RETRY_AFTER));
    response
}

fn respond(status: StatusCode, said: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(encode(said)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, Media::Json.header());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
