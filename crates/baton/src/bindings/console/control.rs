//! What stops a node, or a part of it, at once: freeze, pause, lame duck, drain; and how it goes on.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::Hold;
use maud::{Markup, html};

use super::super::Doors;
use super::super::admin::control::{Act, Controls, Since, perform};
use super::form::Form;
use super::guard::Visitor;
use super::layout::{self, button, confirmed};
use super::words;
use crate::service::Error;

/// What is done to the whole node: as a path names it, what it is, and what is said when it is done.
type Control = (&'static str, fn() -> Act, &'static str);

const NODE: [Control; 7] = [
    (
        "freeze",
        || Act::Hold(Hold::FreezeNode),
        "Intake is frozen: no message is taken from anybody. What runs goes on.",
    ),
    ("unfreeze", || Act::Release(Hold::FreezeNode), "Messages are taken again."),
    ("pause", || Act::Hold(Hold::PauseNode), "Nothing new is begun. Messages are taken and wait."),
    ("resume", || Act::Release(Hold::PauseNode), "Work goes on."),
    ("lame-duck", || Act::LameDuck(true), "The node says that it is not ready, and serves all the same."),
    ("end-lame-duck", || Act::LameDuck(false), "The node says that it is ready."),
    ("drain", || Act::Drain, "The node is draining: it takes nothing more, lets what runs finish, and ends."),
];

const NO_CONTROL: Error = Error::Unsupported("there is no such control");

pub async fn node(State(doors): State<Arc<Doors>>, Path(what): Path<String>, form: Form) -> Response {
    let known = NODE.iter().find(|(name, _, _)| *name == what);
    let done = async {
        let (_, act, said) = known.ok_or(NO_CONTROL)?;
        perform(&doors.service, act(), &form.visitor.by).await?;
        Ok(html! { (said) })
    };
    layout::done(&doors, &form.visitor, done.await, &form.back("/console/settings"))
}

pub async fn agent(
    State(doors): State<Arc<Doors>>,
    Path((name, what)): Path<(String, String)>,
    form: Form,
) -> Response {
    let done = async {
        let agent = AgentName::parse(&name).map_err(|_| Error::AgentNotFound)?;
        let (act, said) = match &*what {
            "pause" => {
                (Act::Hold(Hold::PauseAgent(agent)), "begins nothing new. Messages to it are taken and wait.")
            }
            "resume" => (Act::Release(Hold::PauseAgent(agent)), "works again."),
            _ => return Err(NO_CONTROL),
        };
        perform(&doors.service, act, &form.visitor.by).await?;
        Ok(html! { b { (name) } " " (said) })
    };
    layout::done(&doors, &form.visitor, done.await, &form.back("/console/agents"))
}

pub async fn grant(
    State(doors): State<Arc<Doors>>,
    Path((id, what)): Path<(String, String)>,
    form: Form,
) -> Response {
    let done = async {
        let hold = Hold::FreezeGrant(id.as_str().into());
        let (act, said) = match &*what {
            "freeze" => (Act::Hold(hold), "No message is taken by this grant; reading and canceling go on."),
            "unfreeze" => (Act::Release(hold), "Messages are taken by this grant again."),
            _ => return Err(NO_CONTROL),
        };
        perform(&doors.service, act, &form.visitor.by).await?;
        Ok(html! { (said) })
    };
    layout::done(&doors, &form.visitor, done.await, &form.back(&format!("/console/grants/{id}")))
}

/// The one control that stops intake, where most is seen.
pub fn freeze(visitor: &Visitor, controls: &Controls) -> Markup {
    html! {
        @if controls.frozen.is_none() {
            (confirmed(visitor, "/console/control/freeze", (
                "Freeze intake",
                html! { "From now on no message is taken from anybody, at any door, until you unfreeze. Callers are told to come back. Tasks that are at work go on, and can be read and canceled." },
                "Freeze intake",
            )))
        }
    }
}

/// What is held back, said on every page.
pub fn banner(visitor: &Visitor, controls: &Controls, now: Timestamp) -> Markup {
    html! {
        @if controls.draining { p.held { "The node is draining: it takes nothing more and ends soon." } }
        @if let Some(since) = &controls.frozen { (held(visitor, "Intake is frozen", since, ("unfreeze", "Unfreeze"), now)) }
        @if let Some(since) = &controls.paused { (held(visitor, "Work is paused", since, ("resume", "Resume"), now)) }
    }
}

fn held(visitor: &Visitor, what: &str, since: &Since, (act, label): (&str, &str), now: Timestamp) -> Markup {
    html! {
        div.held role="status" {
            span { b { (what) } " for " (words::lasting(since.since, now)) ", by " (since.by) "." }
            span.grow {}
            (button(visitor, &format!("/console/control/{act}"), "", label))
        }
    }
}

/// Every control of the node.
pub fn panel(visitor: &Visitor, controls: &Controls) -> Markup {
    html! {
        section #control data-region {
            h2 { "Control" }
            table.plain {
                tr {
                    td { b { "Intake" } br; span.faint { @if controls.frozen.is_some() { "frozen" } @else { "open" } } }
                    td { @if controls.frozen.is_some() { (button(visitor, "/console/control/unfreeze", "", "Unfreeze")) } @else { (freeze(visitor, controls)) } }
                }
                tr {
                    td { b { "Work" } br; span.faint { @if controls.paused.is_some() { "paused" } @else { "goes on" } } }
                    td {
                        @if controls.paused.is_some() { (button(visitor, "/console/control/resume", "", "Resume")) }
                        @else { (button(visitor, "/console/control/pause", "", "Pause")) }
                    }
                }
                tr {
                    td { b { "Readiness" } br; span.faint { @if controls.lame_duck { "says that it is not ready" } @else { "ready" } } }
                    td {
                        @if controls.lame_duck { (button(visitor, "/console/control/end-lame-duck", "", "Say that it is ready")) }
                        @else { (button(visitor, "/console/control/lame-duck", "", "Lame duck")) }
                    }
                }
                tr {
                    td { b { "The node" } br; span.faint { @if controls.draining { "draining" } @else { "serves" } } }
                    td {
                        @if !controls.draining {
                            (confirmed(visitor, "/console/control/drain", (
                                "Drain",
                                html! { "The node takes nothing more, lets what runs finish for 15 seconds, ends the rest, and stops. What was not finished is tried again when it starts. You start it again yourself." },
                                "Drain and stop the node",
                            )))
                        }
                    }
                }
            }
        }
    }
}
