//! *Tasks*: everybody's, the newest first; by state, by agent, or by words.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use baton_core::ident::{AgentName, TaskId};
use baton_core::model::TaskState;
use baton_core::time::Timestamp;
use baton_wire::query::segment;
use http::request::Parts;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::{status, tasks};
use super::form::Fields;
use super::guard::Visitor;
use super::layout::{Here, Page};
use super::names::Names;
use super::{layout, text, words};
use crate::service::list::ListAll;
use crate::service::{Error, Service};

/// Tasks on a page.
const SIZE: usize = 50;

/// Tasks that are looked through for words, the newest.
const SEARCHED: usize = 1_000;

/// The filters by state, in a person's order.
const STATES: [(&str, TaskState); 8] = [
    ("asks", TaskState::InputRequired),
    ("permission", TaskState::AuthRequired),
    ("working", TaskState::Working),
    ("queued", TaskState::Submitted),
    ("failed", TaskState::Failed),
    ("completed", TaskState::Completed),
    ("canceled", TaskState::Canceled),
    ("rejected", TaskState::Rejected),
];

/// What is asked for.
#[derive(Clone, Default)]
struct Asked {
    state: Option<(&'static str, TaskState)>,
    agent: Option<AgentName>,
    words: String,
    token: Option<String>,
}

impl Asked {
    fn of(request: &Parts) -> Self {
        let fields = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
        Self {
            state: STATES.into_iter().find(|(word, _)| *word == fields.text("state")),
            agent: AgentName::parse(fields.text("agent")).ok(),
            words: fields.text("q").to_owned(),
            token: fields.said("page"),
        }
    }

    /// The path of the same list with another state or page.
    fn path(&self, state: Option<&str>, token: Option<&str>) -> String {
        let agent = self.agent.as_ref().map(AgentName::as_str);
        let words = Some(&*self.words).filter(|words| !words.is_empty());
        let given = [("state", state), ("agent", agent), ("q", words), ("page", token)];
        let given = given.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(value?))));
        let given = given.collect::<Vec<_>>().join("&");
        if given.is_empty() { "/console/tasks".to_owned() } else { format!("/console/tasks?{given}") }
    }

    fn list(&self, size: usize) -> ListAll {
        let state = self.state.map(|(_, state)| state);
        ListAll { agent: self.agent.clone(), state, size: Some(size), page_token: self.token.clone() }
    }
}

/// What was found, and what there is to say of it.
struct Found {
    tasks: Vec<tasks::Shown>,
    next: String,
    /// How many there are in all, or how many were looked through.
    said: String,
}

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, request: Parts) -> Response {
    let asked = Asked::of(&request);
    // Whoever knows the id of a task wants that task.
    if TaskId::parse(&asked.words).is_some() && tasks::load(&doors.service, &asked.words).await.is_ok() {
        return Redirect::to(&format!("/console/tasks/{}", asked.words)).into_response();
    }
    let page = load(&doors.service, &asked).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(service: &Service, asked: &Asked) -> Result<Page, Error> {
    let names = Names::load(service).await?;
    let found = if asked.words.is_empty() {
        list(service, asked).await?
    } else {
        search(service, asked, &names).await?
    };
    let counts = status::load(service).await?.store.tasks;
    let now = service.now();
    let body = html! {
        div.bar {
            h1 { "Tasks" }
            span.faint { (found.said) }
            span.grow {}
            (search_form(service, asked))
        }
        div.filters role="navigation" aria-label="By state" {
            a href=(asked.path(None, None)) aria-current=[asked.state.is_none().then_some("true")] { "All" }
            @for (word, state) in STATES {
                @let count = counts.get(state.as_str()).copied().unwrap_or_default();
                @let chosen = asked.state.is_some_and(|(known, _)| known == word);
                @if count > 0 || chosen {
                    a href=(asked.path(Some(word), None)) aria-current=[chosen.then_some("true")] {
                        (word) " " span.faint { (words::grouped(count)) }
                    }
                }
            }
        }
        button.fresh #fresh hidden {}
        ol.rows #list data-list="tasks" {
            @for task in &found.tasks { (row(task, &names, now)) }
        }
        @if found.tasks.is_empty() { (empty(service, asked)) }
        @if !found.next.is_empty() {
            @let state = asked.state.map(|(word, _)| word);
            p { a.button href=(asked.path(state, Some(&found.next))) rel="next" { "Older tasks" } }
        }
    };
    Ok(Page::new(Here::Tasks, "Tasks", body))
}

async fn list(service: &Service, asked: &Asked) -> Result<Found, Error> {
    let page = tasks::page(service, asked.list(SIZE)).await?;
    Ok(Found {
        said: words::count(page.total_size, "task", "tasks"),
        tasks: page.tasks,
        next: page.next_page_token,
    })
}

/// Looks for words in what the newest tasks are about, whose they are and where they belong.
async fn search(service: &Service, asked: &Asked, names: &Names) -> Result<Found, Error> {
    let wanted = asked.words.to_lowercase();
    let matches = |task: &tasks::Shown| {
        let label = names.of(&task.owner.grant);
        let context = task.task.context_id.as_deref().unwrap_or_default();
        let (owner, agent) = (&task.owner, task.agent.as_str());
        [&*task.title, &*label, &*owner.grant, &*owner.subject, context, agent, &*task.task.id]
            .iter()
            .any(|text| text.to_lowercase().contains(&wanted))
    };
    let (mut found, mut looked, mut list) = (Vec::new(), 0, asked.list(SIZE));
    while looked < SEARCHED && found.len() < SIZE {
        let page = tasks::page(service, list.clone()).await?;
        looked += page.tasks.len();
        found.extend(page.tasks.into_iter().filter(&matches));
        list.page_token = Some(page.next_page_token).filter(|token| !token.is_empty());
        if list.page_token.is_none() {
            break;
        }
    }
    let more = list.page_token.filter(|_| found.len() >= SIZE || looked >= SEARCHED).unwrap_or_default();
    let among = words::count(looked as u64, "task", "tasks");
    Ok(Found { said: format!("{} among the newest {among}", found.len()), tasks: found, next: more })
}

fn search_form(service: &Service, asked: &Asked) -> Markup {
    let agents = service.agents.list();
    html! {
        form.acts.search role="search" method="get" action="/console/tasks" {
            @if let Some((word, _)) = asked.state { input type="hidden" name="state" value=(word); }
            select name="agent" aria-label="Agent" data-submits {
                option value="" { "every agent" }
                @for agent in &agents {
                    option value=(agent.name()) selected[asked.agent.as_ref() == Some(agent.name())] { (agent.name()) }
                }
            }
            input type="search" name="q" value=(asked.words) aria-label="Search tasks" placeholder="Words, a context or an id" data-search;
            button { "Search" }
        }
    }
}

fn row(task: &tasks::Shown, names: &Names, now: Timestamp) -> Markup {
    let (id, state) = (&task.task.id, task.task.status.state);
    html! {
        li #{ "task-" (id) } data-item {
            a href={ "/console/tasks/" (id) } data-open {
                @if task.cancel_requested { span.chip.wait { "ending" } } @else { (words::chip(state)) }
                span.title {
                    @if task.title.is_empty() { span.quiet { "no text" } } @else { (text::theirs(&task.title)) }
                }
                span.faint.of { (task.agent) " for " (text::theirs(&names.of(&task.owner.grant))) }
                span.faint.at { (words::when(task.created_at, now)) }
            }
        }
    }
}

fn empty(service: &Service, asked: &Asked) -> Markup {
    let filtered = asked.state.is_some() || asked.agent.is_some() || !asked.words.is_empty();
    let agent = service.agents.find_default();
    html! {
        div.empty {
            @if filtered {
                p { b { "No such task." } }
                p.quiet { a.link href="/console/tasks" { "Show all tasks" } }
            } @else {
                p { b { "No task yet." } }
                @if let Some(agent) = agent {
                    p.quiet { "Hand one in:" }
                    pre.mono data-copy { "baton send " (service.site.url(agent.name())) " 'Hello'" }
                }
            }
        }
    }
}
