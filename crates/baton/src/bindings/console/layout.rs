//! What is around every page: the head, the navigation, what was just done, the keys.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use baton_core::model::TaskState;
use baton_core::time::Timestamp;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::sync::Arc;

use super::super::admin::control::Controls;
use super::super::admin::{needs, status};
use super::super::{Doors, fault};
use super::assets::{MARK_PATH, SCRIPT_PATH, STYLE_PATH};
use super::guard::Visitor;
use super::session::Notice;
use super::{control, words};
use crate::plain::harmless;
use crate::service::{Error, Service};

/// The pages of the navigation, each with its key after `g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    Needs,
    Tasks,
    Agents,
    Grants,
    Requests,
    Deliveries,
    Audit,
    Settings,
}

impl Here {
    const ALL: [Self; 8] = [
        Self::Needs,
        Self::Tasks,
        Self::Agents,
        Self::Grants,
        Self::Requests,
        Self::Deliveries,
        Self::Audit,
        Self::Settings,
    ];

    const fn named(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Needs => ("Needs you", "/console", "n"),
            Self::Tasks => ("Tasks", "/console/tasks", "t"),
            Self::Agents => ("Agents", "/console/agents", "a"),
            Self::Grants => ("Grants", "/console/grants", "g"),
            Self::Requests => ("Friend requests", "/console/requests", "f"),
            Self::Deliveries => ("Deliveries", "/console/deliveries", "d"),
            Self::Audit => ("Audit", "/console/audit", "u"),
            Self::Settings => ("Settings", "/console/settings", "s"),
        }
    }
}

/// What a page says.
pub struct Page {
    pub here: Here,
    pub title: String,
    pub body: Markup,
    pub status: StatusCode,
}

impl Page {
    pub fn new(here: Here, title: impl Into<String>, body: Markup) -> Self {
        // A title may be somebody's text too.
        let title = harmless(&title.into()).into_owned();
        Self { here, title, body, status: StatusCode::OK }
    }
}

/// A page, or why there is none.
pub async fn show(doors: &Doors, visitor: &Visitor, page: Result<Page, Error>) -> Response {
    let page = page.unwrap_or_else(|why| trouble(why, Here::Tasks));
    let shell = match Shell::load(&doors.service).await {
        Ok(shell) => shell,
        Err(why) => {
            let fault = fault::of(why, None);
            return refuse(fault.http_status(), "The node cannot read its store", &fault.message());
        }
    };
    // A page that the script compares with what is shown says nothing twice.
    let notice = (!visitor.refreshes).then(|| doors.sessions.take_notice(&visitor.session)).flatten();
    respond(page.status, &shell.wrap(visitor, notice.as_ref(), &page))
}

/// An error, as a page says it.
fn trouble(why: Error, here: Here) -> Page {
    let fault = fault::of(why, None);
    let body = html! {
        div.bar { h1 { (fault.message()) } }
        p.quiet { "Nothing was changed. " a.link href="/console" { "Go to what needs you" } " or " a.link href="/console/tasks" { "to the tasks" } "." }
    };
    Page { here, title: "Not possible".to_owned(), body, status: fault.http_status() }
}

/// Goes back to a page that says what was done, or why it was not.
pub fn done(doors: &Doors, visitor: &Visitor, result: Result<Markup, Error>, back: &str) -> Response {
    match result {
        Ok(said) => say(doors, visitor, false, &said, back),
        Err(why) => {
            let fault = fault::of(why, None);
            say(doors, visitor, true, &html! { "Not done: " (fault.message()) }, back)
        }
    }
}

/// Goes to a page that says this.
pub fn say(doors: &Doors, visitor: &Visitor, bad: bool, said: &Markup, back: &str) -> Response {
    doors.sessions.tell(&visitor.session, Notice { bad, html: said.0.clone() });
    // What stands in a path may be anything; what goes into a header may not.
    let plain = back.bytes().all(|byte| byte.is_ascii_graphic());
    Redirect::to(if plain { back } else { "/console" }).into_response()
}

/// An answer to somebody to whom no page is shown.
pub fn refuse(status: StatusCode, title: &str, text: &str) -> Response {
    let body = html! {
        main.alone #main {
            (mark())
            h1 { (title) }
            p.quiet { (text) }
            p { a.button href="/console" { "Open the console" } }
        }
    };
    respond(status, &document(title, "refused", &body))
}

pub async fn nowhere(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let body = html! {
        div.bar { h1 { "There is no such page" } }
        p.quiet { "It may have been one of an earlier version. " a.link href="/console" { "Go to what needs you" } "." }
    };
    let page = Page { status: StatusCode::NOT_FOUND, ..Page::new(Here::Needs, "No such page", body) };
    show(&doors, &visitor, Ok(page)).await
}

pub fn respond(status: StatusCode, page: &Markup) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    (status, [(CONTENT_TYPE, kind)], page.0.clone()).into_response()
}

pub fn answer(page: &Markup) -> Response {
    respond(StatusCode::OK, page)
}

pub fn document(title: &str, kind: &str, body: &Markup) -> Markup {
    framed(title, kind, &html! {}, body)
}

/// A page that goes on by itself to another, which may be elsewhere. A redirect would not do: browsers hold what follows on a
/// form to `form-action`, and keep strict cookies back where a redirect came from another site.
pub fn leads(title: &str, to: &str, body: &Markup) -> Markup {
    let body = html! {
        main.alone #main {
            (mark())
            h1 { (title) }
            (body)
            p { a.button href=(to) { "Continue" } }
        }
    };
    framed(title, "refused", &html! { meta http-equiv="refresh" content={ "0;url=" (to) }; }, &body)
}

fn framed(title: &str, kind: &str, head: &Markup, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
                title { (title) " · Baton" }
                link rel="icon" href=(*MARK_PATH) type="image/svg+xml";
                link rel="stylesheet" href=(*STYLE_PATH);
                script src=(*SCRIPT_PATH) defer {}
            }
            body class=(kind) data-page=(kind) { (body) }
        }
    }
}

pub fn mark() -> Markup {
    html! {
        div.mark {
            svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true" {
                rect x="1" y="7" width="16" height="4" rx="2" fill="var(--accent)" transform="rotate(-35 9 9)" {}
            }
            "Baton"
        }
    }
}

/// What every page shows of the node.
struct Shell {
    needs: usize,
    host: String,
    open: u64,
    controls: Controls,
    now: Timestamp,
}

impl Shell {
    async fn load(service: &Service) -> Result<Self, Error> {
        let status = status::load(service).await?;
        let open =
            [TaskState::Submitted, TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];
        let open = open.iter().filter_map(|state| status.store.tasks.get(state.as_str())).sum();
        let base = &service.site.base;
        let host = base.split_once("://").map_or(&**base, |(_, host)| host).to_owned();
        let (controls, now) = (Controls::of(service), service.now());
        Ok(Self { needs: needs::count(service).await?.total(), host, open, controls, now })
    }

    fn wrap(&self, visitor: &Visitor, notice: Option<&Notice>, page: &Page) -> Markup {
        let title = match (page.here, self.needs) {
            (_, 0) => page.title.clone(),
            (Here::Needs, needs) => format!("{} ({needs})", page.title),
            (_, needs) => format!("({needs}) {}", page.title),
        };
        let body = html! {
            a.skip href="#main" { "Skip to the page" }
            (self.nav(visitor, page.here))
            main #main data-title=(page.title) data-here=(page.here.named().1) {
                p.offline #offline hidden role="status" { "The connection to the node is lost. What you see is from before; trying again." }
                div #held data-region { (control::banner(visitor, &self.controls, self.now)) }
                div #notice role="status" aria-live="polite" {
                    @if let Some(notice) = notice {
                        p.notice.bad[notice.bad] { (PreEscaped(&notice.html)) }
                    }
                }
                (page.body)
            }
            (keys())
        };
        document(&title, "shell", &body)
    }

    fn nav(&self, visitor: &Visitor, here: Here) -> Markup {
        html! {
            nav aria-label="Main" {
                (mark())
                @for one in Here::ALL {
                    @let (name, path, key) = one.named();
                    a href=(path) data-key=(key) aria-current=[(one == here).then_some("page")] {
                        (name)
                        @if one == Here::Needs {
                            " " span.count #needs hidden[self.needs == 0] { (self.needs) }
                        }
                    }
                }
                footer {
                    (self.host) br;
                    "1 node · " (words::count(self.open, "open task", "open tasks"))
                    form method="post" action="/console/logout" {
                        (hidden(visitor))
                        button.plain title={ "signed in from " (visitor.session.origin) @if let Some(person) = &visitor.session.person { " as " (harmless(person)) } } { "Sign out" }
                    }
                }
            }
        }
    }
}

/// What every form carries: whose it is, and where it goes back to.
pub fn hidden(visitor: &Visitor) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(visitor.session.csrf);
        input type="hidden" name="back" value=(visitor.at);
    }
}

/// A form of one button.
pub fn button(visitor: &Visitor, action: &str, class: &str, label: &str) -> Markup {
    html! {
        form method="post" action=(action) data-act {
            (hidden(visitor))
            button class=(class) { (label) }
        }
    }
}

/// An act that cannot be undone: it says what will happen before it does.
pub fn confirmed(visitor: &Visitor, action: &str, (label, what, sure): (&str, Markup, &str)) -> Markup {
    html! {
        details.confirm {
            summary.button.danger { (label) "…" }
            form.card method="post" action=(action) data-act {
                (hidden(visitor))
                p { (what) }
                div.acts { button.danger { (sure) } }
            }
        }
    }
}

fn keys() -> Markup {
    let go = Here::ALL.map(Here::named);
    html! {
        dialog #keys aria-label="Keys" {
            h2 { "Keys" }
            dl {
                @for (key, what) in [("j k", "next, previous"), ("Enter", "open"), ("a", "answer"), ("/", "search"), ("Esc", "leave a field"), ("?", "these keys")] {
                    dt { @for key in key.split(' ') { kbd { (key) } " " } }
                    dd { (what) }
                }
                @for (name, _, key) in go {
                    dt { kbd { "g" } " " kbd { (key) } }
                    dd { (name) }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
