//! *Audit*: who did what to which object, when and from where; and whether that log is as it was written.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_core::time::Timestamp;
use baton_wire::query::segment;
use http::request::Parts;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::audit::{self, Outcome, Report, Shown};
use super::form::{Fields, Form};
use super::guard::Visitor;
use super::layout::{Here, Page, button};
use super::names::Names;
use super::{layout, text, words};
use crate::service::audit::ListAudit;
use crate::service::{Error, Service};

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, request: Parts) -> Response {
    let fields = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    let page = list(&doors.service, &visitor, &fields).await;
    layout::show(&doors, &visitor, page).await
}

async fn list(service: &Service, visitor: &Visitor, fields: &Fields) -> Result<Page, Error> {
    let wanted = ListAudit {
        actor: fields.said("actor"),
        target: fields.said("target"),
        action: fields.said("action"),
        allowed: match fields.text("outcome") {
            "refused" => Some(false),
            "allowed" => Some(true),
            _ => None,
        },
        page_token: fields.said("page"),
        ..ListAudit::default()
    };
    let (page, names, now) =
        (audit::page(service, wanted).await?, Names::load(service).await?, service.now());
    let body = html! {
        div.bar {
            h1 { "Audit" }
            span.faint { "who did what, the newest first" }
            span.grow {}
            (button(visitor, "/console/audit/verify", "", "Is it whole?"))
        }
        (filter(fields))
        @if page.rows.is_empty() { div.empty { p { b { "Nothing of this kind." } } } }
        @else { (table(&page.rows, &names, now)) }
        @if !page.next_page_token.is_empty() { p { a.button rel="next" href=(next(fields, &page.next_page_token)) { "Older" } } }
    };
    Ok(Page::new(Here::Audit, "Audit", body))
}

fn filter(fields: &Fields) -> Markup {
    html! {
        form.acts.search method="get" action="/console/audit" {
            select name="outcome" aria-label="Outcome" data-submits {
                @for (value, label) in [("", "allowed and refused"), ("allowed", "allowed"), ("refused", "refused")] {
                    option value=(value) selected[fields.text("outcome") == value] { (label) }
                }
            }
            input type="text" name="action" value=(fields.text("action")) aria-label="Action" placeholder="Action, such as grant" data-search;
            input type="text" name="target" value=(fields.text("target")) aria-label="Target" placeholder="Target, by its id";
            button { "Show" }
        }
        br;
    }
}

fn next(fields: &Fields, token: &str) -> String {
    let kept = ["actor", "target", "action", "outcome"].into_iter();
    let kept = kept.filter_map(|name| Some(format!("{name}={}&", segment(&fields.said(name)?))));
    format!("/console/audit?{}page={token}", kept.collect::<String>())
}

fn table(rows: &[Shown], names: &Names, now: Timestamp) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "What" } th { "Who" } th { "To what" } th { "From" } th { "When" } } }
            tbody {
                @for row in rows {
                    tr data-item #{ "row-" (row.id) } {
                        td {
                            span.mono { (text::theirs(&row.action)) }
                            @if row.outcome == Outcome::Refused { " " span.chip.bad { "refused" } }
                        }
                        td { (who(&row.actor, names)) }
                        td.mono { (target(row)) @if let Some(detail) = &row.detail { details { summary.faint { "details" } code.faint { (text::theirs(&text::short(detail.as_str(), 2_000))) } } } }
                        td.faint { (text::theirs(&row.origin)) }
                        td.faint { (words::when(row.at, now)) }
                    }
                }
            }
        }
    }
}

fn who(actor: &str, names: &Names) -> Markup {
    match actor {
        "operator" | "node" | "anonymous" => html! { (actor) },
        grant => html! { (text::theirs(&names.of(grant))) },
    }
}

fn target(row: &Shown) -> Markup {
    let shown = text::theirs(&text::short(&row.target, 60));
    let is_id = baton_core::ident::TaskId::parse(&row.target).is_some();
    let path = match row.action.split('.').next() {
        Some("task") if is_id => format!("/console/tasks/{}", row.target),
        Some("grant") if is_id => format!("/console/grants/{}", row.target),
        _ => return shown,
    };
    html! { a.link data-open href=(path) { (shown) } }
}

/// Looks at the whole log. It may be long, so it is asked for.
pub async fn verify(State(doors): State<Arc<Doors>>, form: Form) -> Response {
    match audit::look(&doors.service, None, None).await {
        Ok(report) => {
            layout::say(&doors, &form.visitor, report.broken.is_some(), &said_of(&report), "/console/audit")
        }
        Err(why) => layout::done(&doors, &form.visitor, Err(why), "/console/audit"),
    }
}

fn said_of(report: &Report) -> Markup {
    match &report.broken {
        None => html! {
            "All " (words::count(report.rows, "row is", "rows are")) " as written. To know later that nothing was cut off, keep the head of the log: "
            code.mono { (report.head) }
        },
        Some(broken) => html! { "The log was changed: row " (broken.id) " " (broken.what) "." },
    }
}
