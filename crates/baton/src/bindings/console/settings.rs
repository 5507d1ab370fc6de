//! *Settings*: the configuration in force, to be read; and the node itself.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::control::Controls;
use super::super::admin::{settings, status};
use super::guard::Visitor;
use super::layout::{Here, Page, hidden};
use super::{control, layout, text, words};
use crate::service::configuration::Section;
use crate::service::{Error, Service};

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let page = load(&doors.service, &visitor).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(service: &Service, visitor: &Visitor) -> Result<Page, Error> {
    let (status, all) = (status::load(service).await?, settings::load(service));
    let body = html! {
        div.bar { h1 { "Settings" } span.faint { "what is in force. SIGHUP reads the file again: agents and limits change at once, the rest at the next start" } }
        div.cols {
            div { (control::panel(visitor, &Controls::of(service))) @for section in all.sections.iter() { (shown(section)) } }
            aside {
                h2 { "This node" }
                dl {
                    dt { "Version" } dd { (status.version) }
                    dt { "Boot" } dd.mono { (status.boot) }
                    dt { "Running" } dd { (words::count(status.running as u64, "attempt", "attempts")) }
                    dt { "Followed" } dd { (words::count(status.watched as u64, "task", "tasks")) }
                    dt { "Written" } dd { (words::count(status.store.operations, "operation", "operations")) " in " (words::count(status.store.commits, "commit", "commits")) }
                    dt { "API" } dd.mono { "/api/v1" }
                }
                h2 { "You" }
                p.quiet {
                    "The operator, signed in from " (visitor.session.origin)
                    @if let Some(person) = &visitor.session.person { " as " (text::theirs(person)) }
                    "."
                }
                form method="post" action="/console/logout" { (hidden(visitor)) button { "Sign out" } }
            }
        }
    };
    Ok(Page::new(Here::Settings, "Settings", body))
}

fn shown(section: &Section) -> Markup {
    html! {
        section {
            h2.mono { "[" (section.name) "]" }
            dl {
                @for entry in &section.entries { dt.mono { (entry.key) } dd { (text::theirs(&entry.value)) } }
            }
        }
    }
}
