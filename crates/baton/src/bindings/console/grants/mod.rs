//! *Grants*: who may call, how much, until when; and its end.

mod make;
mod once;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::control::Controls;
use super::super::admin::{clients as known, grants};
use super::form::Form;
use super::guard::Visitor;
use super::layout::{Here, Page, button, confirmed, hidden};
use super::{clients, layout, text, words};
use crate::service::{Error, Service};
pub use make::{agents, ask, limits, make, means, verbs, wanted};

pub async fn show_all(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let page = list(&doors.service, &visitor).await;
    layout::show(&doors, &visitor, page).await
}

async fn list(service: &Service, visitor: &Visitor) -> Result<Page, Error> {
    let (all, now) = (grants::all(service).await?, service.now());
    let signed_in = known::all(service, None).await?;
    let (over, open): (Vec<_>, Vec<_>) =
        all.iter().partition(|grant| matches!(grant.state, "revoked" | "expired"));
    let body = html! {
        div.bar {
            h1 { "Grants" }
            span.faint { (words::count(open.len() as u64, "may call", "may call")) }
            span.grow {}
            a.button.primary href="/console/grants/new" { "New grant" }
        }
        section #grants data-region {
            @if all.is_empty() {
                div.empty {
                    p { b { "Nobody may call yet." } }
                    p.quiet { "A grant says who may hand tasks to which agents, and how many. Its holder gets a token." }
                    p { a.button.primary href="/console/grants/new" { "Make the first one" } }
                }
            }
            @if !open.is_empty() { (table(&open, now)) }
            @if !over.is_empty() {
                details { summary.faint { (words::count(over.len() as u64, "is over", "are over")) } (table(&over, now)) }
            }
            @if !signed_in.is_empty() {
                h2 { "Signed in by the browser" }
                p.faint { "Clients that asked for access and got it. Each acts by a grant, with tokens of its own." }
                (clients::table(visitor, &signed_in, Some(&all), now))
            }
        }
    };
    Ok(Page::new(Here::Grants, "Grants", body))
}

fn table(all: &[&grants::Shown], now: Timestamp) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Who" } th { "May" } th { "State" } th { "Last call" } th { "Ends" } } }
            tbody {
                @for grant in all {
                    tr data-item #{ "grant-" (grant.id) } {
                        td { a.link href={ "/console/grants/" (grant.id) } data-open { (text::theirs(&grant.label)) } }
                        td { (scope(grant)) }
                        td { (chip(grant.state)) }
                        td.faint { @match grant.last_used_at { Some(at) => (words::when(at, now)), None => "never" } }
                        td.faint { @match grant.expires_at { Some(at) => (words::when(at, now)), None => "not by itself" } }
                    }
                }
            }
        }
    }
}

fn scope(grant: &grants::Shown) -> Markup {
    let verbs: Vec<_> = grant.verbs.iter().map(|verb| verb.as_str()).collect();
    let agents: Vec<_> = grant.agents.iter().map(baton_core::ident::AgentName::as_str).collect();
    html! { (verbs.join(", ")) span.faint { " to " } (agents.join(", ")) }
}

fn chip(state: &str) -> Markup {
    let class = match state {
        "active" => "ok",
        "paused" => "wait",
        _ => "off",
    };
    html! { span class={ "chip " (class) } { (state) } }
}

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let page = load(&doors.service, &visitor, &id).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(service: &Service, visitor: &Visitor, id: &str) -> Result<Page, Error> {
    let (grant, now) = (grants::load(service, id).await?, service.now());
    let signed_in = known::all(service, Some(id)).await?;
    let body = html! {
        div.bar #head {
            a.faint href="/console/grants" { "Grants /" }
            h1 { (text::theirs(&grant.label)) }
            (chip(grant.state))
            span.grow {}
            (acts(visitor, &grant, &Controls::of(service)))
        }
        div.cols {
            section #scope data-region {
                h2 { "What it allows" }
                p { (scope(&grant)) }
                (limits_of(&grant))
                h2 { "Tokens" }
                (tokens(&grant, now))
                @if !signed_in.is_empty() {
                    h2 { "Signed in by the browser" }
                    (clients::table(visitor, &signed_in, None, now))
                }
            }
            aside #facts data-region { (facts(&grant, now)) }
        }
    };
    Ok(Page::new(Here::Grants, grant.label, body))
}

fn acts(visitor: &Visitor, grant: &grants::Shown, controls: &Controls) -> Markup {
    let path = format!("/console/grants/{}", grant.id);
    html! {
        @match grant.state {
            "active" => (button(visitor, &format!("{path}/pause"), "", "Pause")),
            "paused" => (button(visitor, &format!("{path}/resume"), "primary", "Resume")),
            _ => {}
        }
        @if matches!(grant.state, "active" | "paused") {
            (frozen(visitor, grant, controls))
            (rotation(visitor, &path))
            (confirmed(visitor, &format!("{path}/revoke"), (
                "Revoke",
                html! {
                    "The tokens of " b { (text::theirs(&grant.label)) } " end at once and its streams close. Its open tasks are canceled and its webhooks are told nothing more. Nothing brings it back."
                },
                "Revoke the grant",
            )))
        }
    }
}

/// A pause refuses every call; a freeze only takes no messages.
fn frozen(visitor: &Visitor, grant: &grants::Shown, controls: &Controls) -> Markup {
    let is_frozen = controls.frozen_grants.iter().any(|frozen| frozen.grant == grant.id);
    let path = format!("/console/grants/{}/hold", grant.id);
    html! {
        @if is_frozen { (button(visitor, &format!("{path}/unfreeze"), "primary", "Unfreeze")) }
        @else { (button(visitor, &format!("{path}/freeze"), "", "Freeze intake")) }
    }
}

fn rotation(visitor: &Visitor, path: &str) -> Markup {
    html! {
        details.confirm {
            summary { "New token…" }
            form.card method="post" action={ (path) "/rotate" } {
                (hidden(visitor))
                p { "A new token is shown once. Those of before go on for a while, so that nobody is cut off." }
                label.field { span { "They go on for" }
                    select name="overlap" {
                        @for (value, said) in [("24h", "a day"), ("1h", "an hour"), ("7d", "a week"), ("0s", "not at all")] { option value=(value) { (said) } }
                    }
                }
                div.acts { button.primary { "Make a new token" } }
            }
        }
    }
}

fn limits_of(grant: &grants::Shown) -> Markup {
    let limits = &grant.limits;
    let used = |number: Option<u32>| number.map(|number| format!(" ({number} now)")).unwrap_or_default();
    let (open, today) = (
        grant.usage.as_ref().map(|usage| usage.open_tasks),
        grant.usage.as_ref().map(|usage| usage.tasks_today),
    );
    let none = limits.rate.is_none()
        && limits.open_tasks.is_none()
        && limits.tasks_per_day.is_none()
        && limits.body.is_none();
    html! {
        @if none { p.quiet { "How much it may call has no limit of its own." } }
        @else {
            dl {
                @if let Some(rate) = &limits.rate { dt { "Requests" } dd { (rate) " " @if let Some(burst) = limits.burst { "and " (burst) " at once" } } }
                @if let Some(most) = limits.open_tasks { dt { "Open tasks" } dd { "at most " (most) (used(open)) } }
                @if let Some(most) = limits.tasks_per_day { dt { "New tasks" } dd { "at most " (most) " a day" (used(today)) } }
                @if let Some(bytes) = limits.body { dt { "A request" } dd { "at most " (words::bytes(bytes)) } }
            }
            br;
        }
    }
}

fn tokens(grant: &grants::Shown, now: Timestamp) -> Markup {
    html! {
        @if grant.credentials.is_empty() { p.quiet { "None." } }
        @else {
            table {
                thead { tr { th { "Begins with" } th { "Made" } th { "Ends" } } }
                tbody {
                    @for key in &grant.credentials {
                        tr {
                            td.mono { (key.hint) "…" }
                            td.faint { (words::when(key.created_at, now)) }
                            td.faint { @match key.expires_at { Some(at) => (words::when(at, now)), None => "with the grant" } }
                        }
                    }
                }
            }
        }
    }
}

fn facts(grant: &grants::Shown, now: Timestamp) -> Markup {
    html! {
        h2 { "Grant" }
        dl {
            dt { "Id" } dd.mono { (grant.id) }
            dt { "Made" } dd { (words::when(grant.created_at, now)) " by " (text::theirs(&grant.created_by)) }
            dt { "Changed" } dd { (words::when(grant.changed_at, now)) " by " (text::theirs(&grant.changed_by)) }
            dt { "Last call" } dd { @match grant.last_used_at { Some(at) => (words::when(at, now)), None => "never" } }
            dt { "Ends" } dd { @match grant.expires_at { Some(at) => (words::when(at, now)), None => "not by itself" } }
            @if let Some(at) = grant.paused_at { dt { "Paused" } dd { (words::when(at, now)) } }
            @if let Some(at) = grant.revoked_at { dt { "Revoked" } dd { (words::when(at, now)) } }
        }
        p { a.link href={ "/console/tasks?q=" (grant.id) } { "Its tasks" } }
        p { a.link href={ "/console/audit?target=" (grant.id) } { "What was done to it" } }
    }
}

pub async fn pause(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let paused = doors.service.pause_grant(&id, &form.visitor.by).await;
    let said = paused.map(|record| html! { b { (text::theirs(&record.grant.label)) } " may not call until you resume it. What it handed in goes on." });
    layout::done(&doors, &form.visitor, said, &format!("/console/grants/{id}"))
}

pub async fn resume(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let resumed = doors.service.resume_grant(&id, &form.visitor.by).await;
    let said = resumed.map(
        |record| html! { b { (text::theirs(&record.grant.label)) } " may call again, with the same token." },
    );
    layout::done(&doors, &form.visitor, said, &format!("/console/grants/{id}"))
}

pub async fn revoke(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let revoked = doors.service.revoke_grant(&id, &form.visitor.by).await;
    let said = revoked.map(|record| html! { b { (text::theirs(&record.grant.label)) } " is revoked. Its tokens, streams, webhooks and open tasks end." });
    layout::done(&doors, &form.visitor, said, &format!("/console/grants/{id}"))
}

pub async fn rotate(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let overlap = form.fields.said("overlap");
    match grants::turn(&doors.service, &id, overlap.as_deref(), &form.visitor.by).await {
        Ok(grant) => once::show(&doors, &form.visitor, &grant).await,
        Err(why) => layout::done(&doors, &form.visitor, Err(why), &format!("/console/grants/{id}")),
    }
}
