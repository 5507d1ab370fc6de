//! Signing in at an OpenID provider: the way there, and the way back.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use baton_store::Actor;
use baton_wire::query::segment;
use http::header::REFERRER_POLICY;
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode};
use maud::{Markup, html};
use url::Url;

use super::super::{Doors, body, fault};
use super::form::Fields;
use super::guard::{binding, binding_cookie, is_ours, session_cookie};
use super::{layout, login, text, words};
use crate::access::ANONYMOUS;
use crate::service::Error;
use crate::service::sign_in::{LIFE, Person, Refused, Returned, SignIn};

/// Bytes of the form: a path.
const FORM_BYTES: usize = 8 * 1024;

/// Bytes of a path that is kept while somebody is at the provider.
const TO_BYTES: usize = 2 * 1024;

/// The button of the page of [`login`].
pub fn offer(sign_in: &SignIn, to: &str) -> Markup {
    html! {
        form.acts method="post" action="/console/login/oidc" #oidc {
            input type="hidden" name="to" value=(to);
            button.primary.grow { "Sign in with " (sign_in.provider()) }
        }
        p.quiet { "Or, on the machine where the node runs, as its user, run" }
    }
}

/// The way there. What follows on a form is held to the page's policy, so this answers with a page that goes on by itself.
pub async fn begin(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, content) = request.into_parts();
    let Some(sign_in) = &doors.service.sign_in else { return nowhere() };
    let base = &doors.service.site.base;
    if !is_ours(&parts.headers, &parts.uri, base) {
        let what = html! { "This was not sent from the console's own page. Nothing was done." };
        return stop(StatusCode::FORBIDDEN, "Not from here", &what);
    }
    let bytes = body::read(content, FORM_BYTES).await.unwrap_or_default();
    let fields = Fields::parse(&bytes);
    let to = login::page_of(fields.text("to"));
    if !is_at(&parts, base) {
        return elsewhere(base, to);
    }
    if let Err(why) = doors.gate.admit_sign_in(&parts) {
        return too_often(why);
    }
    let to = if to.len() <= TO_BYTES { to } else { "/console" };
    match sign_in.begin(to.to_owned(), doors.service.now()).await {
        Ok(begun) => {
            let said = html! { p.quiet { "You sign in there and come back." } };
            let title = format!("To {}", sign_in.provider());
            let page = layout::leads(&title, begun.url.as_str(), &said);
            let mut response = layout::answer(&page);
            let cookie = binding_cookie(is_secret(base), &parts.headers, &parts.uri, begun.browser.reveal());
            response.headers_mut().append(cookie.0, cookie.1);
            response
        }
        Err(why) => refuse(&doors, sign_in, &parts, why).await,
    }
}

/// The way back. It comes from another site, so that the session's cookie, which is strict, is sent only by what follows on
/// a page of ours.
pub async fn come_back(State(doors): State<Arc<Doors>>, parts: Parts) -> Response {
    let Some(sign_in) = &doors.service.sign_in else { return nowhere() };
    let is_secret = is_secret(&doors.service.site.base);
    let fields = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let browser = binding(is_secret, &parts.headers, &parts.uri).unwrap_or_default();
    let now = doors.service.now();
    let found = match returned(&fields, &browser) {
        Some(back) => sign_in.finish(&doors.service.dialer, back, now).await,
        None => Err(Refused::Unknown),
    };
    // Whoever lures a browser here may not end the sign-in that it has begun.
    let over = !matches!(found, Err(Refused::Unknown));
    let mut response = match found {
        Ok((person, to)) => {
            let origin = doors.gate.origin_of(&parts).to_string();
            let (secret, session) = doors.sessions.open(&origin, person.to_string().into(), now);
            doors.service.tell_audit(&session.actor(&origin), ("console.sign-in", "console")).await;
            let said = html! { p.quiet { "As " (text::theirs(&person.subject)) "." } };
            let mut response = layout::answer(&layout::leads("You are signed in", &to, &said));
            let cookie = session_cookie(is_secret, &parts.headers, &parts.uri, secret.reveal());
            response.headers_mut().append(cookie.0, cookie.1);
            response
        }
        Err(why) => refuse(&doors, sign_in, &parts, why).await,
    };
    // The address of this page has a code in it.
    let headers = response.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if over {
        let cookie = binding_cookie(is_secret, &parts.headers, &parts.uri, "");
        headers.append(cookie.0, cookie.1);
    }
    response
}

/// What somebody comes back with; none where anything of it is there twice (RFC 6749 §3.1).
fn returned<'a>(fields: &'a Fields, browser: &'a str) -> Option<Returned<'a>> {
    let once = |name: &'static str| {
        let mut all = fields.all(name);
        let first = all.next();
        all.next().is_none().then_some(first)
    };
    Some(Returned {
        state: once("state")?.unwrap_or_default(),
        code: once("code")?.unwrap_or_default(),
        error: once("error")?.unwrap_or_default(),
        issuer: once("iss")?,
        browser,
    })
}

fn is_secret(base: &str) -> bool {
    base.starts_with("https://")
}

/// Whether somebody is at the address that the provider sends people back to: elsewhere their cookie would not be sent.
fn is_at(parts: &Parts, base: &str) -> bool {
    let origin = parts.headers.get(http::header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let origin = origin.and_then(|origin| Url::parse(origin).ok());
    origin.zip(Url::parse(base).ok()).is_some_and(|(one, other)| one.origin() == other.origin())
}

fn elsewhere(base: &str, to: &str) -> Response {
    let there = format!("{base}/console/login?to={}", segment(to));
    let what = html! {
        "The provider sends you back to " span.mono { (base) } ", and you are at another address of this node. "
        a.link href=(there) { "Sign in there" } "."
    };
    stop(StatusCode::CONFLICT, "Not at this address", &what)
}

fn nowhere() -> Response {
    let what = html! { "This node knows no provider: its operator adds " span.mono { "[console.oidc]" } "." };
    stop(StatusCode::NOT_FOUND, "There is no such way to sign in", &what)
}

fn too_often(why: Error) -> Response {
    let wait = match &why {
        Error::RateLimited(wait) => words::span(*wait),
        _ => "a moment".to_owned(),
    };
    let what = html! { "Too many tries from your address. Wait " (wait) "." };
    stop(fault::of(why, None).http_status(), "Not now", &what)
}

/// Says why nobody is signed in, and what to do. What may be a guess is counted, and who is refused is told.
async fn refuse(doors: &Doors, sign_in: &SignIn, parts: &Parts, why: Refused) -> Response {
    let provider = sign_in.provider();
    let guess = match &why {
        Refused::Unknown | Refused::Code | Refused::Unproven | Refused::NotListed(_) => true,
        Refused::Declined(_) | Refused::Unreachable => false,
    };
    if let Refused::NotListed(person) = &why {
        let by = Actor::new(ANONYMOUS, format!("{} as {person}", doors.gate.origin_of(parts)));
        let reason = "not in the list of operators";
        doors.service.tell_refused(&by, ("console.sign-in", "console"), reason).await;
    }
    if guess {
        let heard = doors.gate.failed_to_sign_in(parts);
        if matches!(heard, Error::RateLimited(_)) {
            return too_often(heard);
        }
    }
    let (status, title, what) = said(&provider, &why);
    stop(status, title, &what)
}

fn said(provider: &str, why: &Refused) -> (StatusCode, &'static str, Markup) {
    match why {
        Refused::Unknown => (
            StatusCode::UNAUTHORIZED,
            "This sign-in is over",
            html! { "It was used, or is older than " (words::span(LIFE)) ", or was begun in another browser, or the node has restarted. Begin again." },
        ),
        Refused::Declined(error) if error == "access_denied" => (
            StatusCode::FORBIDDEN,
            "Not signed in",
            html! { (provider) " says that you did not agree, or may not use this node. Begin again, or ask who runs " (provider) "." },
        ),
        Refused::Declined(error) => (
            StatusCode::BAD_GATEWAY,
            "The provider refuses",
            html! { (provider) " says " span.mono { (error) } ". Whoever set it up looks at the client and its redirect URI there, and at " span.mono { "[console.oidc]" } " here." },
        ),
        Refused::Code | Refused::Unproven => (
            StatusCode::UNAUTHORIZED,
            "Not signed in",
            html! { "What came back from " (provider) " proves nothing here. Begin again; where that does not help, the node's log says why." },
        ),
        Refused::Unreachable => (
            StatusCode::BAD_GATEWAY,
            "The provider cannot be reached",
            html! { "This node does not reach " (provider) " now; its log says why. Try again in a minute, or sign in with " span.mono { "baton login" } "." },
        ),
        Refused::NotListed(person) => {
            (StatusCode::FORBIDDEN, "You are no operator of this node", not_listed(person))
        }
    }
}

fn not_listed(person: &Person) -> Markup {
    html! {
        (text::theirs(&person.issuer)) " knows you as " b { (text::theirs(&person.subject)) }
        ", and that is not in the list of operators. Whoever runs the node adds you to "
        span.mono { "[console.oidc] operators" } " and restarts it."
    }
}

/// A page without a form: it may be shown at an address with a code in it, which goes nowhere from there.
fn stop(status: StatusCode, title: &str, what: &Markup) -> Response {
    let body = html! {
        main.alone #main {
            (layout::mark())
            h1 { (title) }
            p.quiet role="alert" { (what) }
            p { a.button href="/console/login" { "Sign in" } }
        }
    };
    layout::respond(status, &layout::document(title, "refused", &body))
}
