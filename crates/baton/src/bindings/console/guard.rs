//! Who may see a page, and what keeps another page from acting in a person's name: the session's cookie, where a request
//! comes from, and the headers that every answer carries.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use baton_store::Actor;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use url::Url;

use super::super::Doors;
use super::login;
use super::session::Session;
use crate::service::sign_in;

/// Nothing but our own files, and nothing of ours in a frame.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

/// What a file of an agent may do when it is opened by itself: nothing.
pub const FILE_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The cookie where the connection is secret: browsers keep it from every other host and from plain HTTP.
const SECURE_COOKIE: &str = "__Host-baton";

/// The cookie of a sign-in that has begun at a provider.
const SECURE_BINDING: &str = "__Host-baton-oidc";

/// Adds what every answer of the console carries, where it does not say otherwise itself.
pub async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // Our own forms must say where they come from, so not `no-referrer`.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (OPENER, HeaderValue::from_static("same-origin")),
        (RESOURCE, HeaderValue::from_static("same-origin")),
    ] {
        headers.entry(name).or_insert(value);
    }
    response
}

/// Somebody who is signed in, and the request of theirs.
#[derive(Debug)]
pub struct Visitor {
    pub session: Session,
    /// Who that is, for the audit log.
    pub by: Actor,
    /// The path and the query of the page that was asked for; the first page's where a form was sent.
    pub at: String,
    /// The page is fetched by the script, to be compared with what is shown.
    pub refreshes: bool,
}

impl FromRequestParts<Arc<Doors>> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Response> {
        let refreshes = parts.headers.contains_key("x-baton-refresh");
        let by_person = !refreshes && parts.uri.path() != "/console/live";
        let found = secrets(&parts.headers, &parts.uri)
            .find_map(|secret| doors.sessions.find(&secret, by_person, doors.service.now()));
        let page = matches!(parts.method, Method::GET | Method::HEAD);
        let at =
            parts.uri.path_and_query().filter(|_| page).map_or("/console".to_owned(), ToString::to_string);
        let Some(session) = found else { return Err(login::ask_for(&at)) };
        let by = session.actor(&doors.gate.origin_of(parts).to_string());
        Ok(Self { session, by, at, refreshes })
    }
}

/// Whether a request that changes something comes from one of our own pages. Browsers say so of every POST.
pub fn is_ours(headers: &HeaderMap, uri: &Uri, base: &str) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin") {
        return false;
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let Some(origin) = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok()) else { return false };
    let same = |other: &str| Url::parse(other).is_ok_and(|other| other.origin() == origin.origin());
    let host = host(headers, uri);
    matches!(origin.scheme(), "http" | "https")
        && (host.is_some_and(|host| same(&format!("{}://{host}", origin.scheme()))) || same(base))
}

/// Whether the page that a form is on came over a secret connection, whatever stands between it and us.
fn is_secret(headers: &HeaderMap) -> bool {
    headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| uri.authority().map(http::uri::Authority::as_str))
}

/// The name of the cookie over plain HTTP. Browsers do not tell the ports of a host apart, so the name does: two nodes on
/// one machine do not sign each other out.
fn plain_cookie(headers: &HeaderMap, uri: &Uri) -> String {
    let port = host(headers, uri).and_then(|host| host.rsplit_once(':')).map_or("80", |(_, port)| port);
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    format!("baton-{}", if digits { port } else { "80" })
}

/// The header that makes a browser keep a session, or forget it where `secret` is empty.
pub fn set_cookie(headers: &HeaderMap, uri: &Uri, secret: &str) -> (HeaderName, HeaderValue) {
    session_cookie(is_secret(headers), headers, uri, secret)
}

/// The same where it is known whether the connection is secret.
pub fn session_cookie(
    is_secret: bool,
    headers: &HeaderMap,
    uri: &Uri,
    secret: &str,
) -> (HeaderName, HeaderValue) {
    let age = if secret.is_empty() { "; Max-Age=0" } else { "" };
    cookie(&if is_secret {
        format!("{SECURE_COOKIE}={secret}; Path=/; Secure; HttpOnly; SameSite=Strict{age}")
    } else {
        let name = plain_cookie(headers, uri);
        format!("{name}={secret}; Path=/console; HttpOnly; SameSite=Strict{age}")
    })
}

/// The header that ties a sign-in to the browser that began it, or forgets it where `secret` is empty. The way back comes
/// from another site, where nothing `Strict` is sent along.
pub fn binding_cookie(
    is_secret: bool,
    headers: &HeaderMap,
    uri: &Uri,
    secret: &str,
) -> (HeaderName, HeaderValue) {
    let age = if secret.is_empty() { 0 } else { sign_in::LIFE.as_secs() };
    cookie(&if is_secret {
        format!("{SECURE_BINDING}={secret}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}")
    } else {
        let name = plain_binding(headers, uri);
        format!("{name}={secret}; Path=/console/login; HttpOnly; SameSite=Lax; Max-Age={age}")
    })
}

fn plain_binding(headers: &HeaderMap, uri: &Uri) -> String {
    format!("{}-oidc", plain_cookie(headers, uri))
}

fn cookie(text: &str) -> (HeaderName, HeaderValue) {
    (SET_COOKIE, HeaderValue::from_str(text).expect("a secret and a port are plain ASCII"))
}

/// What the request brings as the secret of a session.
fn secrets<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> impl Iterator<Item = String> + use<'r> {
    let plain = plain_cookie(headers, uri);
    cookies(headers, move |name| name == SECURE_COOKIE || name == plain)
}

/// What the request brings as the secret of a sign-in that has begun.
pub fn binding(is_secret: bool, headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let known = if is_secret { SECURE_BINDING.to_owned() } else { plain_binding(headers, uri) };
    cookies(headers, |name| name == known).next()
}

fn cookies(headers: &HeaderMap, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(name, _)| wanted(name)).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://agents.example.com";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn ours(pairs: &[(&'static str, &'static str)]) -> bool {
        is_ours(&headers(pairs), &Uri::from_static("/console/login"), BASE)
    }

    #[test]
    fn a_form_of_ours() {
        let host = ("host", "127.0.0.1:8420");
        assert!(ours(&[host, ("origin", "http://127.0.0.1:8420")]));
        assert!(ours(&[host, ("origin", "http://127.0.0.1:8420"), ("sec-fetch-site", "same-origin")]));
        assert!(
            ours(&[("host", "10.0.0.3:8420"), ("origin", "https://agents.example.com")]),
            "behind a proxy"
        );
        assert!(ours(&[("host", "Agents.example.com:443"), ("origin", "https://agents.example.com")]));
    }

    #[test]
    fn a_form_of_somebody_else() {
        let host = ("host", "127.0.0.1:8420");
        assert!(!ours(&[host]), "a browser says where a form comes from");
        for origin in ["http://127.0.0.1:3000", "https://evil.example", "null", "", "http://localhost:8420"] {
            assert!(!ours(&[host, ("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            assert!(!ours(&[host, ("origin", "http://127.0.0.1:8420"), ("sec-fetch-site", site)]), "{site}");
        }
        let twice = [host, ("origin", "http://127.0.0.1:8420"), ("origin", "https://evil.example")];
        let mut both = HeaderMap::new();
        for (name, value) in twice {
            both.append(name, HeaderValue::from_static(value));
        }
        assert!(!is_ours(&both, &Uri::from_static("/console"), BASE));
    }

    #[test]
    fn cookies_are_as_strict_as_they_can_be() {
        let uri = Uri::from_static("/console/login");
        let plain = set_cookie(
            &headers(&[("host", "127.0.0.1:8420"), ("origin", "http://127.0.0.1:8420")]),
            &uri,
            "s",
        );
        assert_eq!(plain.1, "baton-8420=s; Path=/console; HttpOnly; SameSite=Strict");
        let secret =
            set_cookie(&headers(&[("host", "a.example"), ("origin", "https://a.example")]), &uri, "s");
        assert_eq!(secret.1, "__Host-baton=s; Path=/; Secure; HttpOnly; SameSite=Strict");
        let sent = headers(&[
            ("host", "127.0.0.1:8420"),
            ("cookie", "a=b; baton-8421=x; baton-8420=y; __Host-baton=z"),
        ]);
        assert_eq!(secrets(&sent, &uri).collect::<Vec<_>>(), ["y", "z"]);
    }

    #[test]
    fn a_sign_in_is_tied_to_a_browser_that_comes_back_from_elsewhere() {
        let (uri, here) =
            (Uri::from_static("/console/login/callback"), headers(&[("host", "127.0.0.1:8420")]));
        let plain = binding_cookie(false, &here, &uri, "s").1;
        assert_eq!(plain, "baton-8420-oidc=s; Path=/console/login; HttpOnly; SameSite=Lax; Max-Age=600");
        let secret = binding_cookie(true, &here, &uri, "s").1;
        assert_eq!(secret, "__Host-baton-oidc=s; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600");
        assert!(binding_cookie(true, &here, &uri, "").1.to_str().unwrap().ends_with("Max-Age=0"));
        let sent = headers(&[
            ("host", "127.0.0.1:8420"),
            ("cookie", "baton-8420=a; baton-8421-oidc=b; baton-8420-oidc=c; __Host-baton-oidc=d"),
        ]);
        assert_eq!(binding(false, &sent, &uri).as_deref(), Some("c"));
        assert_eq!(binding(true, &sent, &uri).as_deref(), Some("d"), "a plain one counts for nothing there");
        assert_eq!(secrets(&sent, &uri).collect::<Vec<_>>(), ["a"], "and is no session");
    }
}
