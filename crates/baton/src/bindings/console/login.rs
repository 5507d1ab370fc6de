//! Signing in with the link of `baton login`, and signing out.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use baton_store::Actor;
use baton_wire::query::segment;
use http::{HeaderMap, Request, StatusCode, Uri};
use maud::{Markup, html};

use super::super::{Doors, body, fault};
use super::form::{Fields, Form};
use super::guard::{is_ours, set_cookie};
use super::{layout, oidc, words};
use crate::service::Error;
use crate::service::sign_in::SignIn;

/// Bytes of the form: a code and a path.
const FORM_BYTES: usize = 8 * 1024;

/// The way to sign in for somebody who is not, and back to the page that was asked for.
pub fn ask_for(at: &str) -> Response {
    Redirect::to(&format!("/console/login?to={}", segment(at))).into_response()
}

pub async fn show(State(doors): State<Arc<Doors>>, request: http::request::Parts) -> Response {
    let fields = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    layout::answer(&page(doors.service.sign_in.as_deref(), fields.text("to"), None))
}

/// The page of the console that somebody wants who is sent to sign in; the first where it is none.
pub fn page_of(to: &str) -> &str {
    let page = to.starts_with("/console") && !to.starts_with("/console/log");
    if page && to.bytes().all(|byte| byte.is_ascii_graphic()) { to } else { "/console" }
}

fn page(sign_in: Option<&SignIn>, to: &str, wrong: Option<&str>) -> Markup {
    let body = html! {
        main.alone #main {
            (layout::mark())
            h1 { "Sign in to this node" }
            @match sign_in {
                Some(sign_in) => (oidc::offer(sign_in, to)),
                None => p.quiet { "On the machine where the node runs, as its user, run" },
            }
            pre.mono { "baton login" }
            p.quiet { "and open the link that it prints, or paste the code here. A code works once, within 5 minutes." }
            @if let Some(wrong) = wrong {
                p.notice.bad role="alert" { (wrong) }
            }
            form.acts method="post" action="/console/login" #login {
                input type="hidden" name="to" value=(to);
                input.grow type="password" name="code" aria-label="The code" placeholder="Code" autocomplete="one-time-code" required autofocus[sign_in.is_none()];
                button.primary[sign_in.is_none()] { "Sign in" }
            }
            p.faint {
                "You are signed out after " (words::span(super::session::IDLE)) " without a click, after "
                (words::span(super::session::LIFE)) " in any case, and when the node restarts."
            }
        }
    };
    layout::document("Sign in", "login", &body)
}

pub async fn enter(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, content) = request.into_parts();
    let refuse = |status, to: &str, wrong: &str| {
        layout::respond(status, &page(doors.service.sign_in.as_deref(), to, Some(wrong)))
    };
    if !is_ours(&parts.headers, &parts.uri, &doors.service.site.base) {
        return refuse(
            StatusCode::FORBIDDEN,
            "",
            "This was not sent from the console's own page. Paste the code here.",
        );
    }
    let Ok(bytes) = body::read(content, FORM_BYTES).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "", "That is no code.");
    };
    let fields = Fields::parse(&bytes);
    let (now, origin) = (doors.service.now(), doors.gate.origin_of(&parts).to_string());
    let Some((secret, _)) = doors.sessions.redeem(fields.text("code"), &origin, now) else {
        let why = doors.gate.failed_to_sign_in(&parts);
        let wrong = match &why {
            Error::RateLimited(wait) => format!("Too many tries. Wait {} and take a new code.", words::span(*wait)),
            _ => "This code is not known any more: it was used, or it is older than 5 minutes. Run `baton login` again.".to_owned(),
        };
        return refuse(fault::of(why, None).http_status(), fields.text("to"), &wrong);
    };
    let by = Actor::new("operator", origin);
    doors.service.tell_audit(&by, ("console.sign-in", "console")).await;
    let to = page_of(fields.text("to"));
    let cookie = set_cookie(&parts.headers, &parts.uri, secret.reveal());
    ([cookie], Redirect::to(to)).into_response()
}

pub async fn leave(State(doors): State<Arc<Doors>>, headers: HeaderMap, uri: Uri, form: Form) -> Response {
    doors.sessions.end(&form.visitor.session);
    doors.service.tell_audit(&form.visitor.by, ("console.sign-out", "console")).await;
    ([set_cookie(&headers, &uri, "")], Redirect::to("/console/login")).into_response()
}
