//! *Needs you*: everything that waits for a person, each answered in place.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_core::time::Timestamp;
use baton_wire::query::segment;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::control::Controls;
use super::super::admin::deliveries::Detail;
use super::super::admin::needs::{self, Counts, Item, Need};
use super::super::admin::tasks;
use super::guard::Visitor;
use super::layout::{Here, Page, button, hidden};
use super::names::Names;
use super::{control, layout, requests, text, words};
use crate::service::{Error, Service};

/// What is said of each kind that is not shown whole.
const KINDS: [(&str, &str); 4] = [
    ("question", "questions"),
    ("failure", "failures"),
    ("webhook", "webhooks"),
    ("friend request", "friend requests"),
];

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let page = load(&doors, &visitor).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(doors: &Doors, visitor: &Visitor) -> Result<Page, Error> {
    let service = &doors.service;
    let needs = needs::load(service).await?;
    let (names, now) = (Names::load(service).await?, service.now());
    let body = html! {
        div.bar #head {
            h1 { "Needs you" }
            span.faint.hint { "oldest first · " kbd { "j" } " " kbd { "k" } " move · " kbd { "a" } " answer · " kbd { "?" } " keys" }
            span.grow {}
            (control::freeze(visitor, &Controls::of(service)))
        }
        button.fresh #fresh hidden {}
        div #list data-list="needs" {
            @for item in &needs.items {
                (card(visitor, &names, item, now))
            }
            @if needs.items.is_empty() { (empty(service)) }
        }
        (rest(needs.counts, &needs.items))
        (leave_all(visitor, &needs.items))
    };
    Ok(Page::new(Here::Needs, "Needs you", body))
}

/// How many there are beyond those that are shown.
fn rest(counts: Counts, items: &[Item]) -> Markup {
    let shown = |wanted: usize| {
        let of = |need: &Need| match need {
            Need::Question { .. } | Need::Permission { .. } => 0,
            Need::Failure { .. } => 1,
            Need::Webhook { .. } => 2,
            Need::FriendRequest { .. } => 3,
        };
        items.iter().filter(|item| of(&item.need) == wanted).count()
    };
    let all = [counts.questions, counts.failures, counts.webhooks, counts.friends];
    let more = KINDS.iter().enumerate().filter_map(|(at, (one, many))| {
        let more = all[at].saturating_sub(shown(at));
        (more > 0).then(|| words::count(more as u64, one, many))
    });
    let more: Vec<_> = more.collect();
    html! {
        @if !more.is_empty() { p.faint { "and " (more.join(", ")) " more, as these are answered" } }
    }
}

/// Takes every failure that is shown off the list at once.
fn leave_all(visitor: &Visitor, items: &[Item]) -> Markup {
    let failed = items.iter().filter_map(|item| match &item.need {
        Need::Failure { task } => Some(&*task.task.id),
        Need::Question { .. }
        | Need::Permission { .. }
        | Need::FriendRequest { .. }
        | Need::Webhook { .. } => None,
    });
    let failed: Vec<_> = failed.collect();
    html! {
        @if failed.len() > 1 {
            form.acts method="post" action="/console/attend-all" {
                (hidden(visitor))
                @for id in &failed { input type="hidden" name="task" value=(id); }
                button { "Leave all " (failed.len()) " failures as they are" }
            }
        }
    }
}

fn card(visitor: &Visitor, names: &Names, item: &Item, now: Timestamp) -> Markup {
    match &item.need {
        Need::Question { task } => question(visitor, names, task, (item.since, now)),
        Need::Permission { task } => permission(visitor, names, task, (item.since, now)),
        Need::Failure { task } => failure(visitor, names, task, (item.since, now)),
        Need::FriendRequest { request } => requests::card(visitor, request, now),
        Need::Webhook { detail } => webhook(visitor, detail, (item.since, now)),
    }
}

fn open(task: &tasks::Shown) -> String {
    format!("/console/tasks/{}", task.task.id)
}

/// What the agent says with the state that the task is in.
fn said(task: &tasks::Shown) -> Markup {
    let said = task.task.status.message.as_ref().map(|message| message.joined_text()).unwrap_or_default();
    html! {
        @if said.trim().is_empty() { p.said.quiet { "It says nothing more." } }
        @else { div.said.agent { (text::passage(&text::short(&said, 2_000))) } }
    }
}

fn about(task: &tasks::Shown) -> Markup {
    html! {
        @if !task.title.is_empty() { p.faint.about { "about " (text::theirs(&task.title)) } }
    }
}

fn times(task: &tasks::Shown, (since, now): (Timestamp, Timestamp)) -> Markup {
    html! {
        span.faint {
            (words::lasting(since, now))
            @if let Some(until) = task.answer_until { " · fails " (words::when(until, now)) }
        }
    }
}

fn question(visitor: &Visitor, names: &Names, task: &tasks::Shown, at: (Timestamp, Timestamp)) -> Markup {
    html! {
        article.card #{ "need-" (task.task.id) } data-item tabindex="-1" {
            div.top {
                span.chip.wait { "asks" }
                b { (task.agent) }
                span.quiet { "waits for an answer from" }
                b { (text::theirs(&names.of(&task.owner.grant))) }
                span.grow {}
                (times(task, at))
            }
            (said(task))
            (about(task))
            form.acts method="post" action={ (open(task)) "/answer" } data-act {
                (hidden(visitor))
                input.grow type="text" name="text" aria-label={ "Your answer to " (task.agent) } placeholder="Answer as the operator" autocomplete="off" required data-answer;
                button.primary { "Answer" }
                a.button href=(open(task)) data-open { "Open task" }
            }
        }
    }
}

fn permission(visitor: &Visitor, names: &Names, task: &tasks::Shown, at: (Timestamp, Timestamp)) -> Markup {
    html! {
        article.card #{ "need-" (task.task.id) } data-item tabindex="-1" {
            div.top {
                span.chip.wait { "permission" }
                b { (task.agent) }
                span.quiet { "waits to be allowed something, in a task of" }
                b { (text::theirs(&names.of(&task.owner.grant))) }
                span.grow {}
                (times(task, at))
            }
            (said(task))
            (about(task))
            form.acts method="post" action={ (open(task)) "/answer" } data-act {
                (hidden(visitor))
                button.primary name="choice" value="allow" data-answer { "Allow" }
                button name="choice" value="deny" { "Deny" }
                a.button href=(open(task)) data-open { "Open task" }
                span.faint { "The agent reads “allow” or “deny” as the answer." }
            }
        }
    }
}

fn failure(
    visitor: &Visitor,
    names: &Names,
    task: &tasks::Shown,
    (since, now): (Timestamp, Timestamp),
) -> Markup {
    html! {
        article.card #{ "need-" (task.task.id) } data-item tabindex="-1" {
            div.top {
                span.chip.bad { @if task.dead_letter { "gave up" } @else { "failed" } }
                b { (task.agent) }
                span.quiet {
                    @if task.dead_letter { "did not finish after " (words::count(u64::from(task.attempt), "attempt", "attempts")) " for" }
                    @else { "failed at a task of" }
                }
                b { (text::theirs(&names.of(&task.owner.grant))) }
                span.grow {}
                span.faint { (words::when(since, now)) }
            }
            (said(task))
            (about(task))
            div.acts {
                (button(visitor, &format!("{}/retry", open(task)), "primary", "Try again"))
                (button(visitor, &format!("{}/attend", open(task)), "", "Leave it"))
                a.button href=(open(task)) data-open { "Open task" }
            }
        }
    }
}

fn webhook(visitor: &Visitor, detail: &Detail, (since, now): (Timestamp, Timestamp)) -> Markup {
    let one = &detail.delivery;
    let last = detail.attempts.first();
    let action = format!("/console/deliveries/{}/{}/replay", one.task_id, segment(&one.id));
    html! {
        article.card #{ "hook-" (one.task_id) "-" (segment(&one.id)) } data-item tabindex="-1" {
            div.top {
                span.chip.bad { @if one.state == "suspended" { "webhook given up" } @else { "webhook failing" } }
                code.mono { (text::theirs(&text::place(&one.url))) }
                span.grow {}
                span.faint {
                    @if one.state == "suspended" { (words::count(one.tries, "try", "tries")) " in vain · " (words::when(since, now)) }
                    @else {
                        (one.failures) " tries in vain"
                        @if let Some(due) = one.due_at { " · next " (words::when(due, now)) }
                    }
                }
            }
            p.quiet {
                @match last {
                    Some(last) => (text::theirs(&answer_of(last.status, last.error.as_deref()))),
                    None => "It was not tried yet.",
                }
                " What it is owed waits, and none of it is lost."
            }
            div.acts {
                (button(visitor, &action, "primary", "Try now"))
                a.button href={ "/console/tasks/" (one.task_id) } data-open { "Open task" }
            }
        }
    }
}

/// What became of a try, as a sentence.
pub fn answer_of(status: Option<u16>, error: Option<&str>) -> String {
    match (status, error) {
        (_, Some(error)) => {
            let mut said = error.trim_end_matches('.').chars();
            let first = said.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
            format!("{first}{}.", said.as_str())
        }
        (Some(status), None) => format!("It answered {status}."),
        (None, None) => "There was no answer.".to_owned(),
    }
}

fn empty(service: &Service) -> Markup {
    let agents = service.agents.list();
    let agent = service.agents.find_default().or_else(|| agents.first().cloned());
    html! {
        div.empty {
            p { b { "Nothing needs you." } }
            p.quiet { "Questions of agents, friend requests, tasks that failed and webhooks that do not get through come here." }
            @if let Some(agent) = agent {
                p.quiet { "To see the node at work, send it something:" }
                pre.mono data-copy { "baton send " (service.site.url(agent.name())) " 'Hello'" }
            }
        }
    }
}
