//! One task: what was said, what came of it, what happened, and what a person can do about it.

mod files;
mod parts;
mod timeline;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::model::{Message, TaskState};
use baton_core::time::Timestamp;
use baton_wire::query::segment;
use http::request::Parts;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::{deliveries, log, tasks};
use super::guard::Visitor;
use super::layout::{Here, Page, button, confirmed, hidden};
use super::names::Names;
use super::{layout, text, words};
use crate::service::deliveries::ListDeliveries;
use crate::service::retry::is_by_operator;
use crate::service::{Error, Service};
pub use files::{attachment, file};

/// Messages that are shown until somebody wants all.
const MESSAGES: usize = 50;

/// Everything that the page shows.
struct Whole {
    task: tasks::Shown,
    log: log::Log,
    deliveries: Vec<deliveries::Shown>,
    names: Names,
    now: Timestamp,
}

pub async fn show(
    State(doors): State<Arc<Doors>>,
    visitor: Visitor,
    Path(id): Path<String>,
    request: Parts,
) -> Response {
    let all = request.uri.query() == Some("all");
    let page = load(&doors.service, &id).await.map(|whole| render(&whole, &visitor, all));
    layout::show(&doors, &visitor, page).await
}

async fn load(service: &Service, id: &str) -> Result<Whole, Error> {
    let task = tasks::load(service, id).await?;
    let list = ListDeliveries { task: Some(id.to_owned()), ..ListDeliveries::default() };
    Ok(Whole {
        log: log::load(service, id, None).await?,
        deliveries: deliveries::page(service, list).await?.deliveries,
        names: Names::load(service).await?,
        now: service.now(),
        task,
    })
}

fn render(whole: &Whole, visitor: &Visitor, all: bool) -> Page {
    let task = &whole.task;
    let name = if task.title.is_empty() {
        format!("A task of {}", task.agent)
    } else {
        text::short(&task.title, 70)
    };
    let body = html! {
        div.bar data-live=(task.task.id) #head {
            a.faint href="/console/tasks" { "Tasks /" }
            h1 { (text::theirs(&name)) }
            @if task.cancel_requested { span.chip.wait { "ending" } } @else { (words::chip(task.task.status.state)) }
            span.grow {}
            (acts(task, visitor))
        }
        div.cols {
            div {
                section #conversation aria-label="Conversation" data-region { (conversation(whole, all)) }
                (answer(task, visitor))
                section #artifacts data-region { (parts::artifacts(&task.task)) }
                section #timeline data-region { (timeline::render(&whole.log, &whole.names.of(&task.owner.grant), whole.now)) }
            }
            aside #aside data-region { (aside(whole)) }
        }
    };
    Page::new(Here::Tasks, name, body)
}

fn acts(task: &tasks::Shown, visitor: &Visitor) -> Markup {
    let path = format!("/console/tasks/{}", task.task.id);
    html! {
        button data-copy-link hidden { "Copy link" }
        @if task.task.status.state.is_terminal() {
            (button(visitor, &format!("{path}/retry"), "", "Try again"))
        } @else if !task.cancel_requested {
            (confirmed(visitor, &format!("{path}/cancel"), (
                "Cancel",
                html! { b { (task.agent) } " is told to stop, and is ended if it does not. What it wrote stays. This cannot be undone." },
                "Cancel the task",
            )))
        }
    }
}

/// The form that answers what the agent asks.
fn answer(task: &tasks::Shown, visitor: &Visitor) -> Markup {
    let action = format!("/console/tasks/{}/answer", task.task.id);
    let asks = task.task.status.state == TaskState::InputRequired;
    html! {
        div #answer data-region {
            @if task.cancel_requested {}
            @else if asks {
                form.acts method="post" action=(action) data-act {
                    (hidden(visitor))
                    input.grow type="text" name="text" aria-label={ "Your answer to " (task.agent) } placeholder="Answer as the operator" autocomplete="off" required data-answer;
                    button.primary { "Answer" }
                }
            } @else if task.task.status.state == TaskState::AuthRequired {
                form.acts method="post" action=(action) data-act {
                    (hidden(visitor))
                    button.primary name="choice" value="allow" data-answer { "Allow" }
                    button name="choice" value="deny" { "Deny" }
                    span.faint { "The agent reads “allow” or “deny” as the answer." }
                }
            }
        }
    }
}

/// A message, and the event that brought it where that is still known.
type Told<'a> = (&'a Message, Option<&'a log::Entry>);

/// All messages in the order in which they came.
fn told(whole: &Whole) -> Vec<Told<'_>> {
    let object = &whole.task.task;
    let messages = object.history.iter().chain(&object.status.message);
    let mut unused: Vec<_> = whole.log.events.iter().filter(|event| event.message.is_some()).collect();
    let mut told: Vec<_> = messages
        .map(|message| {
            let at = unused.iter().position(|event| event.message.as_ref() == Some(&message.message_id));
            (&**message, at.map(|at| unused.remove(at)))
        })
        .collect();
    // Those whose event is gone are older than all others.
    told.sort_by_key(|(_, event)| event.map_or(0, |event| event.sequence));
    told
}

fn conversation(whole: &Whole, all: bool) -> Markup {
    let told = told(whole);
    let hidden = if all { 0 } else { told.len().saturating_sub(MESSAGES) };
    html! {
        @if hidden > 0 {
            p { a.link href="?all" { "Show " (words::count(hidden as u64, "earlier message", "earlier messages")) } }
        }
        @for (message, event) in &told[hidden..] { (turn(whole, message, *event)) }
    }
}

fn turn(whole: &Whole, message: &Message, event: Option<&log::Entry>) -> Markup {
    let task = &whole.task;
    let of_agent = message.role == baton_core::model::Role::Agent;
    html! {
        div.said.agent[of_agent] {
            span.faint {
                @if of_agent { (task.agent) }
                @else if is_by_operator(message) { "operator" }
                @else { (text::theirs(&whole.names.of(&task.owner.grant))) }
                @if let Some(event) = event { " · " (words::clock(event.at, whole.now)) }
            }
            (parts::message(&task.task.id, message))
        }
    }
}

fn aside(whole: &Whole) -> Markup {
    let task = &whole.task;
    let until = |at: Timestamp| words::when(at, whole.now);
    html! {
        h2 { "Task" }
        dl {
            dt { "Id" } dd.mono { (task.task.id) }
            dt { "Context" } dd.mono { (text::theirs(task.task.context_id.as_deref().unwrap_or_default())) }
            dt { "Agent" } dd { (task.agent) }
            dt { "Grant" } dd { (text::theirs(&whole.names.of(&task.owner.grant))) }
            @if !task.owner.subject.is_empty() { dt { "User" } dd { (text::theirs(&task.owner.subject)) } }
            dt { "Handed in" } dd { (until(task.created_at)) }
            dt { "Changed" } dd { (until(task.task.status.timestamp.unwrap_or(task.created_at))) }
            @if let Some(at) = task.deadline { dt { "Deadline" } dd { (until(at)) } }
            @if let Some(at) = task.answer_until { dt { "Fails" } dd { (until(at)) " without an answer" } }
            @for id in earlier(task) { dt { "Refers to" } dd.mono { a.link href={ "/console/tasks/" (id) } { (text::theirs(id)) } } }
        }
        @if !whole.log.attempts.is_empty() { (attempts(whole)) }
        @if !whole.deliveries.is_empty() { (deliveries_of(whole)) }
    }
}

/// The tasks that the first message names and that can be looked at.
fn earlier(task: &tasks::Shown) -> Vec<&str> {
    let first = task.task.history.first();
    let ids = first.map(|message| &*message.reference_task_ids).unwrap_or_default();
    ids.iter().map(|id| &**id).filter(|id| baton_core::ident::TaskId::parse(id).is_some()).take(5).collect()
}

fn attempts(whole: &Whole) -> Markup {
    html! {
        h2 { "Attempts" }
        table {
            thead { tr { th { "#" } th { "How it went" } th { "Took" } } }
            tbody {
                @for attempt in &whole.log.attempts {
                    tr {
                        td { (attempt.number) }
                        td {
                            @match attempt.outcome {
                                None => span.chip.run { "open" },
                                Some("completed" | "replied") => span.chip.ok { "completed" },
                                Some(word @ ("released" | "canceled" | "holder_gone")) => span.chip.off { (word.replace('_', " ")) },
                                Some(word) => span.chip.bad title=(words::outcome(word)) { (word.replace('_', " ")) },
                            }
                            @if attempt.by == "worker" { " " span.faint { "by " (text::theirs(&attempt.holder)) } }
                            @if let Some(summary) = &attempt.summary { " " span.faint { (text::theirs(&text::short(summary, 200))) } }
                        }
                        td { (words::took(attempt.ended_at.unwrap_or(whole.now).since(attempt.started_at))) }
                    }
                }
            }
        }
    }
}

fn deliveries_of(whole: &Whole) -> Markup {
    html! {
        h2 { "Deliveries" }
        table {
            tbody {
                @for one in &whole.deliveries {
                    tr {
                        td.mono { a.link href={ "/console/deliveries/" (one.task_id) "/" (segment(&one.id)) } { (text::theirs(&text::place(&one.url))) } }
                        td { (delivery_chip(one)) }
                    }
                }
            }
        }
    }
}

/// How a push configuration stands.
pub fn delivery_chip(one: &deliveries::Shown) -> Markup {
    let (class, word) = match (one.state, one.reason, one.failures) {
        ("suspended", _, _) => ("bad", "given up".to_owned()),
        ("ended", reason, _) => ("off", format!("ended, {}", reason.unwrap_or_default())),
        (_, _, 0) if one.due_at.is_some() => ("run", "sending".to_owned()),
        (_, _, 0) => ("ok", "up to date".to_owned()),
        (_, _, failures) => ("wait", format!("failing ({failures})")),
    };
    html! { span class={ "chip " (class) } { (word) } }
}
