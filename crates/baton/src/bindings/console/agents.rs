//! *Agents*: what each is, as others see it, and how it gets on.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::model::TaskState;
use maud::{Markup, html};

use super::super::admin::control::Controls;
use super::super::admin::status::{self, Agent};
use super::super::{Doors, a2a};
use super::guard::Visitor;
use super::layout::{Here, Page, button};
use super::{layout, text, words};
use crate::service::{Error, Service};

pub async fn show_all(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let page = list(&doors.service).await;
    layout::show(&doors, &visitor, page).await
}

async fn list(service: &Service) -> Result<Page, Error> {
    let all = status::agents_of(service).await?;
    let controls = Controls::of(service);
    let body = html! {
        div.bar { h1 { "Agents" } span.faint { (words::count(all.len() as u64, "agent", "agents")) } }
        div #list data-list="agents" {
            @for agent in &all { (card(agent, controls.paused_agents.iter().any(|paused| paused.agent == agent.name))) }
        }
    };
    Ok(Page::new(Here::Agents, "Agents", body))
}

fn card(agent: &Agent, is_paused: bool) -> Markup {
    html! {
        article.card #{ "agent-" (agent.name) } data-item tabindex="-1" {
            div.top {
                @if is_paused { span.chip.wait { "paused" } } @else { (health(agent)) }
                b { a data-open href={ "/console/agents/" (agent.name) } { (agent.name) } }
                @if agent.title != agent.name { span.quiet { (text::theirs(&agent.title)) } }
                span.grow {}
                span.faint { (agent.runner) @if agent.default { " · default" } " · " @if agent.publish { "published" } @else { "not published" } }
            }
            p.quiet { (text::theirs(&text::short(&agent.description, 200))) }
            p.faint { (sentence(agent)) }
        }
    }
}

fn count(agent: &Agent, state: TaskState) -> u64 {
    agent.tasks.get(state.as_str()).copied().unwrap_or_default()
}

/// How it is, in one word: what is wrong first.
fn health(agent: &Agent) -> Markup {
    let hour = &agent.last_hour;
    let (class, word) = if hour.failed > 1 && hour.failed * 2 >= hour.failed + hour.done {
        ("bad", "failing")
    } else if count(agent, TaskState::Working) > 0 {
        ("run", "at work")
    } else if count(agent, TaskState::Submitted) > 0 {
        ("wait", "has a queue")
    } else {
        ("ok", "ready")
    };
    html! { span class={ "chip " (class) } { (word) } }
}

/// What it has to do, and what it did.
fn sentence(agent: &Agent) -> Markup {
    let waits = count(agent, TaskState::InputRequired) + count(agent, TaskState::AuthRequired);
    let hour = &agent.last_hour;
    let link = |state: &str, number: u64, word: &str| {
        html! { a.link href={ "/console/tasks?agent=" (agent.name) "&state=" (state) } { (words::grouped(number)) " " (word) } }
    };
    let (working, queued) = (count(agent, TaskState::Working), count(agent, TaskState::Submitted));
    html! {
        @if working + queued + waits == 0 { "Nothing to do. " }
        @if working > 0 { (link("working", working, "working")) ". " }
        @if queued > 0 { (link("queued", queued, "queued")) ". " }
        @if waits > 0 { (words::grouped(waits)) " waiting for an answer. " }
        @if hour.done + hour.failed > 0 {
            "In the last hour " (words::count(hour.done, "task", "tasks")) " done"
            @if hour.failed > 0 { ", " (words::grouped(hour.failed)) " failed" }
            ". "
        }
        (words::count(count(agent, TaskState::Completed), "task", "tasks")) " completed in all."
    }
}

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, Path(name): Path<String>) -> Response {
    let page = load(&doors.service, &visitor, &name).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(service: &Service, visitor: &Visitor, name: &str) -> Result<Page, Error> {
    let name = AgentName::parse(name).map_err(|_| Error::AgentNotFound)?;
    let entry = service.agents.find(&name).ok_or(Error::AgentNotFound)?;
    let all = status::agents_of(service).await?;
    let agent = all.iter().find(|agent| agent.name == name.as_str()).ok_or(Error::AgentNotFound)?;
    let is_paused = Controls::of(service).paused_agents.iter().any(|paused| paused.agent == agent.name);
    let sent = a2a::public_card(service, &entry.settings);
    let card: serde_json::Value =
        serde_json::from_slice(&sent).map_err(|why| Error::Internal(why.to_string()))?;
    let body = html! {
        div.bar #head {
            a.faint href="/console/agents" { "Agents /" }
            h1 { (agent.name) }
            @if is_paused { span.chip.wait { "paused" } } @else { (health(agent)) }
            span.grow {}
            @if is_paused { (button(visitor, &format!("/console/agents/{name}/resume"), "primary", "Resume")) }
            @else { (button(visitor, &format!("/console/agents/{name}/pause"), "", "Pause")) }
        }
        div.cols {
            div {
                section #pace data-region { p.quiet { (text::theirs(&agent.description)) } p { (sentence(agent)) } }
                section { h2 { "Skills" } (skills(&card)) }
                section {
                    h2 { "Its card, as others see it" }
                    @if !agent.publish { p.faint { "It is not published: only who has a grant for this agent gets it." } }
                    details {
                        summary { "Show the card as it is sent" }
                        pre.mono dir="ltr" data-copy { (crate::plain::harmless(&serde_json::to_string_pretty(&card).unwrap_or_default())) }
                    }
                }
            }
            aside { (facts(agent, &card)) }
        }
    };
    Ok(Page::new(Here::Agents, name.to_string(), body))
}

fn skills(card: &serde_json::Value) -> Markup {
    let skills = card["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        @if skills.is_empty() { p.quiet { "None declared." } }
        @for skill in skills {
            p { b { (text::theirs(skill["name"].as_str().unwrap_or_default())) } " " span.quiet { (text::theirs(skill["description"].as_str().unwrap_or_default())) } }
        }
    }
}

fn facts(agent: &Agent, card: &serde_json::Value) -> Markup {
    let signed = card["signatures"].as_array().map_or(0, Vec::len);
    html! {
        h2 { "Agent" }
        dl {
            dt { "URL" } dd.mono { (agent.url) }
            dt { "Runner" } dd { (agent.runner) }
            dt { "Card" } dd { @if agent.publish { "published" } @else { "not published" } }
            dt { "Signed" } dd { @if signed > 0 { (words::count(signed as u64, "signature", "signatures")) } @else { "no" } }
            dt { "Version" } dd { (text::theirs(card["version"].as_str().unwrap_or_default())) }
        }
        h2 { "Try it" }
        pre.mono data-copy { "baton send " (agent.url) " 'Hello'" }
    }
}
