//! The one form that makes a grant, and what the grant would mean before it is made.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_store::Verb;
use maud::{Markup, html};

use super::super::super::admin::grants;
use super::super::super::{Doors, fault};
use super::super::form::{Fields, Form};
use super::super::guard::Visitor;
use super::super::layout::{self, Here, Page, hidden};
use super::once;
use crate::config::Size;
use crate::service::grants::{WantedGrant, WantedLimits};
use crate::service::{Error, Service};

/// How long a grant may live, as the form offers it.
const LIVES: [(&str, &str); 5] = [
    ("90d", "90 days"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("365d", "a year"),
    ("", "until it is revoked"),
];

pub async fn ask(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let fields = Fields::parse(b"verb=send&verb=read&verb=cancel&expires=90d");
    let page = Ok(page(&doors.service, &visitor, &fields, &html! {}));
    layout::show(&doors, &visitor, page).await
}

/// Makes it, or says what it would mean.
pub async fn make(State(doors): State<Arc<Doors>>, form: Form) -> Response {
    let (service, visitor) = (&doors.service, &form.visitor);
    let said = match wanted(&form.fields) {
        Err(why) => Err(why),
        Ok(wanted) if form.fields.text("act") == "look" => {
            grants::dry(service, wanted).map(|would| means(&would))
        }
        Ok(wanted) => match grants::make(service, wanted, &visitor.by).await {
            Ok(grant) => return once::show(&doors, visitor, &grant).await,
            Err(why) => Err(why),
        },
    };
    let said = said.unwrap_or_else(|why| {
        let fault = fault::of(why, None);
        html! { p.notice.bad role="alert" { "Not made: " (fault.message()) } }
    });
    let page = Ok(page(service, visitor, &form.fields, &said));
    layout::show(&doors, visitor, page).await
}

/// What a form asks for.
pub fn wanted(fields: &Fields) -> Result<WantedGrant, Error> {
    let number = |name: &str| {
        let text = fields.said(name);
        let read = text.map(|text| text.parse().map_err(|_| Error::invalid(name, "is a whole number")));
        read.transpose()
    };
    let body = fields.said("body").map(|text| text.parse::<Size>()).transpose();
    Ok(WantedGrant {
        label: fields.text("label").to_owned(),
        agents: fields.all("agent").map(str::to_owned).collect(),
        verbs: fields.all("verb").map(str::to_owned).collect(),
        limits: WantedLimits {
            rate: fields.said("rate"),
            burst: number("burst")?,
            open_tasks: number("openTasks")?,
            tasks_per_day: number("tasksPerDay")?,
            body: body.map_err(|what| Error::invalid("body", what))?,
        },
        expires: fields.said("expires"),
    })
}

/// What a grant would mean, as a card.
pub fn means(would: &grants::WouldBe) -> Markup {
    html! {
        div.card role="status" {
            h2 { "What this would allow" }
            @for line in &would.means {
                @match line.strip_prefix("- ") {
                    Some(point) => p.point { "· " (point) },
                    None => p { (line) },
                }
            }
            p.faint { "Nothing is made yet." }
        }
    }
}

fn page(service: &Service, visitor: &Visitor, fields: &Fields, said: &Markup) -> Page {
    let body = html! {
        div.bar { a.faint href="/console/grants" { "Grants /" } h1 { "New grant" } }
        form.narrow method="post" action="/console/grants/new" {
            (said)
            (hidden(visitor))
            label.field { span { "For whom" }
                input type="text" name="label" value=(fields.text("label")) placeholder="ci-bot" required maxlength="200" autocomplete="off" autofocus;
            }
            (agents(service, fields))
            (verbs(&|verb: Verb| fields.all("verb").any(|one| one == verb.as_str())))
            (limits(fields))
            div.acts {
                button.primary name="act" value="make" { "Make the grant" }
                button name="act" value="look" { "What would it allow?" }
                a.button href="/console/grants" { "Leave" }
            }
        }
    };
    Page::new(Here::Grants, "New grant", body)
}

pub fn agents(service: &Service, fields: &Fields) -> Markup {
    let all = service.agents.list();
    html! {
        fieldset {
            legend { "To which agents" }
            div.checks {
                @for agent in &all {
                    @let name = agent.name().as_str();
                    label { input type="checkbox" name="agent" value=(name) checked[fields.all("agent").any(|one| one == name)]; (name) }
                }
            }
        }
    }
}

pub fn verbs(checked: &impl Fn(Verb) -> bool) -> Markup {
    html! {
        fieldset {
            legend { "May" }
            @for verb in Verb::ALL {
                @let name = verb.as_str();
                label.check {
                    input type="checkbox" name="verb" value=(name) checked[checked(verb)];
                    (name) " " span.faint { (what(verb)) }
                }
            }
        }
    }
}

const fn what(verb: Verb) -> &'static str {
    match verb {
        Verb::Send => "hand in tasks and answer questions about them",
        Verb::Read => "read its tasks and follow them",
        Verb::Cancel => "cancel its tasks",
        Verb::Push => "have updates sent to a URL of its choice",
        Verb::Work => "do these agents' work, everybody's tasks among it",
        Verb::ExtendedCard => "read the extended cards",
    }
}

pub fn limits(fields: &Fields) -> Markup {
    let field = |name: &str, label: &str, hint: &str, number: bool| {
        html! {
            label.field { span { (label) }
                input type="text" name=(name) value=(fields.text(name)) placeholder=(hint) inputmode=[number.then_some("numeric")] autocomplete="off";
            }
        }
    };
    html! {
        fieldset {
            legend { "At most (empty: no limit)" }
            div.pair {
                (field("rate", "Requests", "60/m or 10/s", false))
                (field("burst", "At once", "as many as in that time", true))
                (field("openTasks", "Open tasks", "20", true))
                (field("tasksPerDay", "New tasks a day", "500", true))
                (field("body", "Size of a request", "512KiB", false))
                label.field { span { "Ends after" }
                    select name="expires" {
                        @for (value, label) in LIVES { option value=(value) selected[fields.text("expires") == value] { (label) } }
                    }
                }
            }
        }
    }
}
