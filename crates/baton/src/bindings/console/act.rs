//! What a person does on a page: each a form, each answered by a page that says what was done.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::model::{Message, Role};
use maud::{Markup, html};

use super::super::Doors;
use super::form::Form;
use super::{layout, text, words};
use crate::clock::new_id;
use crate::service::Error;

/// Characters of an answer that are repeated when it was sent.
const REPEATED: usize = 80;

pub async fn answer(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let said = match form.fields.text("choice") {
        "" => form.fields.text("text"),
        choice => choice,
    };
    let answered = async {
        if said.is_empty() {
            return Err(Error::invalid("text", "is empty: write an answer"));
        }
        let message = Message::text(Role::User, new_id().to_string(), said);
        let task = doors.service.say(&id, message, &form.visitor.by).await?;
        Ok(html! {
            "Answered " b { (task.task.agent) } ": " (text::theirs(&text::short(said, REPEATED))) " " (link(&id))
        })
    };
    back(&doors, &form, answered.await, &id)
}

pub async fn cancel(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let canceled = async {
        let task = doors.service.cancel_as_operator(&form.visitor.by, &id).await?;
        Ok(if task.task.state.is_terminal() {
            html! { "The task of " b { (task.task.agent) } " is canceled. " (link(&id)) }
        } else {
            html! { b { (task.task.agent) } " was told to end the task; it has not ended yet. " (link(&id)) }
        })
    };
    back(&doors, &form, canceled.await, &id)
}

pub async fn retry(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let retried = async {
        let new = doors.service.retry(&id, &form.visitor.by).await?;
        let id = new.task.id.to_string();
        Ok(html! { b { (new.task.agent) } " tries again, as a new task. " (link(&id)) })
    };
    back(&doors, &form, retried.await, &id)
}

pub async fn attend(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let attended = async {
        doors.service.attend(&id, &form.visitor.by).await?;
        Ok(html! { "Left as it is. " (link(&id)) })
    };
    back(&doors, &form, attended.await, &id)
}

/// All failures that were on the page: one that came since is seen first.
pub async fn attend_all(State(doors): State<Arc<Doors>>, form: Form) -> Response {
    let attended = doors.service.attend_all(form.fields.all("task"), &form.visitor.by).await;
    let said = attended
        .map(|number| html! { (words::count(number as u64, "failure", "failures")) " left as they are." });
    layout::done(&doors, &form.visitor, said, &form.back("/console"))
}

pub async fn replay(
    State(doors): State<Arc<Doors>>,
    Path((task, id)): Path<(String, String)>,
    form: Form,
) -> Response {
    let replayed = async {
        let config = doors.service.replay_delivery(&task, &id, &form.visitor.by).await?;
        Ok(html! { "Trying " (text::theirs(&text::place(&config.url))) " again now. " (link(&task)) })
    };
    back(&doors, &form, replayed.await, &task)
}

fn link(id: &str) -> Markup {
    html! { a.link href={ "/console/tasks/" (id) } { "Open task" } }
}

fn back(doors: &Doors, form: &Form, result: Result<Markup, Error>, task: &str) -> Response {
    layout::done(doors, &form.visitor, result, &form.back(&format!("/console/tasks/{task}")))
}
