//! Clients that an operator allowed something: who they are, what they may do, and how they are signed out. They stand on the
//! pages of grants.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::{clients, grants};
use super::form::Form;
use super::guard::Visitor;
use super::layout::button;
use super::{layout, text, words};
use crate::service::oauth::redirect::{self, Leads};
use crate::service::oauth::spell;

/// All of them, or those of one grant. `grants` are all that there are, where each is to be named.
pub fn table(
    visitor: &Visitor,
    all: &[clients::Shown],
    grants: Option<&[grants::Shown]>,
    now: Timestamp,
) -> Markup {
    let label = |id: &str| {
        grants.and_then(|grants| grants.iter().find(|grant| grant.id == id)).map(|grant| &*grant.label)
    };
    html! {
        table.stack {
            thead { tr { th { "Client" } th { "May" } th { "Allowed" } th { "Last token" } th {} } }
            tbody {
                @for client in all {
                    tr data-item #{ "client-" (client.id) } {
                        td {
                            (text::theirs(&client.name)) br;
                            span.faint { (text::theirs(&text::short(&place(&client.redirect_uri), 60))) }
                        }
                        td {
                            (spell(&client.verbs).replace(' ', ", ")) br;
                            span.faint { "at " span.mono { (client.resource) } }
                            @if let Some(label) = label(&client.grant) {
                                br; span.faint { "by " } a.link href={ "/console/grants/" (client.grant) } { (text::theirs(label)) }
                            }
                        }
                        td.faint { (words::when(client.created_at, now)) " by " (text::theirs(&client.created_by)) }
                        td.faint { @match client.last_token_at { Some(at) => (words::when(at, now)), None => "not yet" } }
                        td { (button(visitor, &format!("/console/clients/{}/sign-out", client.id), "", "End its access")) }
                    }
                }
            }
        }
    }
}

/// Where a client's code was sent, in a few characters.
fn place(uri: &str) -> String {
    match redirect::read(uri).map(|url| redirect::leads(&url)) {
        Ok(Leads::Host(place) | Leads::Loopback(place)) => place,
        Ok(Leads::Program(scheme)) => format!("{scheme}:"),
        Err(_) => uri.to_owned(),
    }
}

pub async fn sign_out(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let ended = doors.service.sign_client_out(&id, &form.visitor.by).await;
    let said = ended.map(|approval| {
        html! { b { (text::theirs(&approval.name)) } " is signed out. Its tokens end; what it handed in goes on." }
    });
    layout::done(&doors, &form.visitor, said, &form.back("/console/grants"))
}
