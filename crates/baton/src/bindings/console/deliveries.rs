//! *Deliveries*: where tasks push their updates to, and what became of each try.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use baton_wire::query::segment;
use http::request::Parts;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::deliveries::{self, Attempt, Shown};
use super::form::Fields;
use super::guard::Visitor;
use super::layout::{Here, Page, button};
use super::task::delivery_chip;
use super::{layout, text, words};
use crate::service::deliveries::ListDeliveries;
use crate::service::{Error, Service};

/// The filters, as they are called and as the service calls them.
const STATES: [(&str, &str); 3] = [("sending", "active"), ("given up", "suspended"), ("ended", "ended")];

pub async fn show_all(State(doors): State<Arc<Doors>>, visitor: Visitor, request: Parts) -> Response {
    let fields = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    let page = list(&doors.service, &fields).await;
    layout::show(&doors, &visitor, page).await
}

async fn list(service: &Service, fields: &Fields) -> Result<Page, Error> {
    let state = STATES.into_iter().find(|(_, state)| *state == fields.text("state")).map(|(_, state)| state);
    let wanted = ListDeliveries {
        state: state.map(str::to_owned),
        page_token: fields.said("page"),
        ..ListDeliveries::default()
    };
    let (page, now) = (deliveries::page(service, wanted).await?, service.now());
    let path = |state: Option<&str>| {
        state.map_or("/console/deliveries".to_owned(), |it| format!("/console/deliveries?state={it}"))
    };
    let body = html! {
        div.bar { h1 { "Deliveries" } span.faint { "webhooks, those of the newest tasks first" } }
        div.filters role="navigation" aria-label="By state" {
            a href=(path(None)) aria-current=[state.is_none().then_some("true")] { "All" }
            @for (word, known) in STATES { a href=(path(Some(known))) aria-current=[(state == Some(known)).then_some("true")] { (word) } }
        }
        section #deliveries data-region {
            @if page.deliveries.is_empty() {
                div.empty {
                    p { b { @if state.is_some() { "None of these." } @else { "No webhook yet." } } }
                    p.quiet { "A caller whose grant allows " code.mono { "push" } " may have the updates of a task sent to a URL. What becomes of that is kept here." }
                }
            } @else { (table(&page.deliveries, now)) }
        }
        @if !page.next_page_token.is_empty() {
            p { a.button rel="next" href={ "/console/deliveries?page=" (page.next_page_token) @if let Some(state) = state { "&state=" (state) } } { "Older" } }
        }
    };
    Ok(Page::new(Here::Deliveries, "Deliveries", body))
}

fn table(all: &[Shown], now: Timestamp) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "To" } th { "State" } th { "Tries" } th { "Next" } th { "Task" } } }
            tbody {
                @for one in all {
                    tr data-item #{ "hook-" (one.task_id) "-" (segment(&one.id)) } {
                        td.mono { a.link data-open href=(path(one)) { (text::theirs(&text::place(&one.url))) } }
                        td { (delivery_chip(one)) }
                        td { (words::count(one.tries, "try", "tries")) }
                        td.faint { @if let Some(at) = one.due_at { (words::when(at, now)) } }
                        td.mono { a.link href={ "/console/tasks/" (one.task_id) } { (text::short(&one.task_id, 8)) } }
                    }
                }
            }
        }
    }
}

fn path(one: &Shown) -> String {
    format!("/console/deliveries/{}/{}", one.task_id, segment(&one.id))
}

pub async fn show(
    State(doors): State<Arc<Doors>>,
    visitor: Visitor,
    Path((task, id)): Path<(String, String)>,
    request: Parts,
) -> Response {
    let before = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    let before = before.text("before").parse().ok();
    let page = load(&doors.service, &visitor, (&task, &id), before).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(
    service: &Service,
    visitor: &Visitor,
    (task, id): (&str, &str),
    before: Option<u64>,
) -> Result<Page, Error> {
    let (detail, now) = (deliveries::load(service, (task, id), (Some(50), before)).await?, service.now());
    let one = &detail.delivery;
    let body = html! {
        div.bar #head {
            a.faint href="/console/deliveries" { "Deliveries /" }
            h1 { (text::theirs(&text::place(&one.url))) }
            (delivery_chip(one))
            span.grow {}
            @if one.state == "suspended" || one.failures > 0 || one.reason == Some("gone") {
                (button(visitor, &format!("{}/replay", path(one)), "primary", "Try now"))
            }
        }
        div.cols {
            section #tries data-region {
                h2 { "Tries, the newest first" }
                @if detail.attempts.is_empty() { p.quiet { "None yet." } } @else { (tries(&detail.attempts, now)) }
                @if let Some(last) = detail.attempts.last().filter(|last| last.number > 1) {
                    p { a.button rel="next" href={ "?before=" (last.number) } { "Older" } }
                }
            }
            aside #facts data-region {
                h2 { "Webhook" }
                dl {
                    dt { "Task" } dd.mono { a.link href={ "/console/tasks/" (one.task_id) } { (one.task_id) } }
                    dt { "Id" } dd.mono { (text::theirs(&one.id)) }
                    dt { "URL" } dd.mono { (text::theirs(&one.url)) }
                    dt { "Reads" } dd { "A2A " (one.version) }
                    dt { "Settled" } dd { "up to event " (one.settled) }
                    dt { "Tries" } dd { (one.tries) }
                    @if let Some(at) = one.due_at { dt { "Next" } dd { (words::when(at, now)) } }
                    dt { "Made" } dd { (words::when(one.created_at, now)) }
                }
            }
        }
    };
    Ok(Page::new(Here::Deliveries, format!("Deliveries to {}", text::place(&one.url)), body))
}

fn tries(attempts: &[Attempt], now: Timestamp) -> Markup {
    html! {
        table {
            thead { tr { th { "#" } th { "When" } th { "Event" } th { "What came back" } th { "Took" } } }
            tbody {
                @for attempt in attempts {
                    tr {
                        td { (attempt.number) }
                        td.faint { (words::when(attempt.at, now)) }
                        td { (attempt.sequence) }
                        td {
                            @match (&attempt.error, attempt.status) {
                                (None, Some(status)) => span.chip.ok { (status) },
                                (error, status) => {
                                    span.chip.bad { @match status { Some(status) => (status), None => "no answer" } }
                                    @if let Some(error) = error { " " span.faint { (text::theirs(error)) } }
                                }
                            }
                        }
                        td.faint { (words::took(std::time::Duration::from_millis(attempt.took_ms))) }
                    }
                }
            }
        }
    }
}
