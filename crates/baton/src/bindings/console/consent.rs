//! A client asks for access, and a person decides: what it is, where it would be sent, what it may do.
//!
//! A client sends its operator's browser to `/oauth/authorize`, from wherever. What is asked there is decided on a page of
//! the console, which the browser goes on to by itself: only then it sends the session's cookie, which is strict.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use baton_store::Verb;
use http::StatusCode;
use maud::{Markup, html};

use super::super::admin::grants as known;
use super::super::{Doors, fault};
use super::form::{Fields, Form};
use super::guard::Visitor;
use super::layout::{self, Here, Page, hidden};
use super::{grants, text};
use crate::access::Resource;
use crate::service::grants::WantedGrant;
use crate::service::oauth::authorize::{Asked, Chosen, Request, Wrong, label_of};
use crate::service::oauth::redirect::Leads;
use crate::service::oauth::spell;
use crate::service::{Error, Service};

/// Where it is decided.
const AT: &str = "/console/authorize";

/// Where a client sends people. What is wrong is said here already, as far as nobody need be asked about it.
pub async fn begin(State(doors): State<Arc<Doors>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    if doors.service.site.ways.authorization_code.is_none() {
        return nowhere();
    }
    let checked = match Asked::read(&query) {
        Ok(asked) if asked.is_of_document() => Ok(()),
        Ok(asked) => doors.service.check_authorization(&asked).await.map(drop),
        Err(why) => Err(why),
    };
    match checked {
        Ok(()) => {
            let said =
                html! { p.quiet { "A program asks for access to this node. You decide on the next page." } };
            layout::answer(&layout::leads("Somebody asks for access", &format!("{AT}?{query}"), &said))
        }
        Err(why) => wrong(why, false),
    }
}

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let request = match read(&doors.service, &query).await {
        Ok(request) => request,
        Err(why) => return wrong(why, true),
    };
    let fields = wished(&doors.service, &request);
    page(&doors, &visitor, (&query, &request), &fields, &html! {}).await
}

/// The form as it is at first: what is asked for. Agents are for the person to choose, where there is a choice, and so is
/// `work`, which is everybody's tasks: clients ask for all that a node names.
fn wished(service: &Service, request: &Request) -> Fields {
    let agents = service.agents.list();
    let only = if agents.len() == 1 { agents.first() } else { None };
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("label", &label_of(request)).append_pair("expires", "90d");
    let ticked = request.verbs.iter().filter(|verb| **verb != Verb::Work);
    form.extend_pairs(ticked.map(|verb| ("verb", verb.as_str())));
    form.extend_pairs(only.iter().map(|agent| ("agent", agent.name().as_str())));
    Fields::parse(form.finish().as_bytes())
}

/// Allows, refuses, or says what it would mean.
pub async fn decide(State(doors): State<Arc<Doors>>, RawQuery(query): RawQuery, form: Form) -> Response {
    let (service, visitor, fields) = (&doors.service, &form.visitor, &form.fields);
    let query = query.unwrap_or_default();
    let request = match read(service, &query).await {
        Ok(request) => request,
        Err(why) => return wrong(why, true),
    };
    let said = match (fields.text("act"), chosen(fields)) {
        ("deny", _) => {
            let to = service.deny_client(&request, &visitor.by).await;
            return goes_back("Access refused", &to, &request);
        }
        (_, Err(why)) => Err(why),
        ("look", Ok(Chosen::New(wanted))) => known::dry(service, wanted).map(|would| grants::means(&would)),
        ("look", Ok(Chosen::Known { id, verbs })) => {
            known::load(service, &id).await.map(|grant| narrowed(&grant, &verbs))
        }
        ("approve", Ok(chosen)) => match service.allow_client(&request, chosen, &visitor.by).await {
            Ok(to) => return goes_back("Access given", &to, &request),
            Err(why) => Err(why),
        },
        (_, Ok(_)) => Err(Error::invalid("act", "is approve, deny or look")),
    };
    let said = said.unwrap_or_else(|why| {
        let fault = fault::of(why, None);
        html! { p.notice.bad role="alert" { "Nothing was given: " (fault.message()) } }
    });
    page(&doors, visitor, (&query, &request), fields, &said).await
}

async fn read(service: &Service, query: &str) -> Result<Request, Wrong> {
    if service.site.ways.authorization_code.is_none() {
        return Err(Wrong::Person("This node lets no clients in by the browser".to_owned()));
    }
    service.check_authorization(&Asked::read(query)?).await
}

fn chosen(fields: &Fields) -> Result<Chosen, Error> {
    let wanted = grants::wanted(fields)?;
    Ok(match fields.said("grant") {
        Some(id) => Chosen::Known { id, verbs: wanted.verbs },
        None => Chosen::New(WantedGrant { label: fields.text("label").to_owned(), ..wanted }),
    })
}

fn goes_back(title: &str, to: &str, request: &Request) -> Response {
    let said = html! {
        p.quiet { "You go back " (to_place(&request.leads)) ". When " (text::theirs(&request.client.name)) " says so, you can close this page." }
    };
    layout::answer(&layout::leads(title, to, &said))
}

async fn page(
    doors: &Doors,
    visitor: &Visitor,
    (query, request): (&str, &Request),
    fields: &Fields,
    said: &Markup,
) -> Response {
    let grants = match known::all(&doors.service).await {
        Ok(grants) => grants,
        Err(why) => return layout::show(doors, visitor, Err(why)).await,
    };
    let open: Vec<_> = grants.iter().filter(|grant| matches!(grant.state, "active" | "paused")).collect();
    let name = &request.client.name;
    let body = html! {
        div.bar { h1 { (text::theirs(name)) " asks for access" } }
        // What is asked stays in the address, so that the page is the same one when it is fetched again.
        form.narrow method="post" action={ (AT) "?" (query) } {
            (hidden(visitor))
            div.card { (who(&doors.service, request)) }
            (said)
            (by_grant(&open, fields))
            label.field { span { "What you call the new grant" }
                input type="text" name="label" value=(fields.text("label")) maxlength="200" autocomplete="off";
            }
            (grants::agents(&doors.service, fields))
            (grants::verbs(&|verb: Verb| fields.all("verb").any(|one| one == verb.as_str())))
            (grants::limits(fields))
            div.acts {
                button.primary name="act" value="approve" { "Approve" }
                button.danger name="act" value="deny" { "Deny" }
                button name="act" value="look" { "What would it allow?" }
            }
        }
    };
    layout::show(doors, visitor, Ok(Page::new(Here::Grants, format!("{name} asks for access"), body))).await
}

/// What is known of who asks: little, and whose word it is.
fn who(service: &Service, request: &Request) -> Markup {
    let client = &request.client;
    html! {
        dl {
            dt { "Name" } dd { b { (text::theirs(&client.name)) } span.faint { " (chosen by the client itself)" } }
            dt { "Known by" } dd {
                @match &client.host {
                    Some(host) => { "what " b { (text::theirs(host)) } " says of it" },
                    None => "nothing: it registered itself, as anybody can",
                }
            }
            dt { "Sends you" } dd { b { (to_place(&request.leads)) } }
            dt { "For" } dd { (what(service, &request.resource)) }
            dt { "Asks to" } dd {
                @if request.verbs.is_empty() { "do nothing that this node knows" } @else { (spell(&request.verbs).replace(' ', ", ")) }
                @if request.verbs.contains(&Verb::Work) { span.faint { " (tick work below only for a client that does an agent's work: it gets everybody's tasks)" } }
            }
        }
        p.quiet {
            @match &request.leads {
                Leads::Host(host) => { "Whoever runs " b { (text::theirs(host)) } " gets this access. Approve only if you have just begun this there." },
                Leads::Loopback(_) | Leads::Program(_) => "Any program on that computer can ask like this, under any name. Approve only if you have just told this one to connect.",
            }
        }
    }
}

/// Half a sentence: where a person goes from here.
fn to_place(leads: &Leads) -> Markup {
    html! {
        @match leads {
            Leads::Host(host) => { "to " (text::theirs(host)) },
            Leads::Loopback(place) => { "to a program on the computer where this browser runs (" (text::theirs(place)) ")" },
            Leads::Program(scheme) => { "to the program on this computer that opens " (text::theirs(scheme)) ": links" },
        }
    }
}

fn what(service: &Service, resource: &Resource) -> Markup {
    let url = format!("{}{}", service.site.base, resource.path());
    html! {
        @match resource {
            Resource::Node => "this node: MCP and the agents of the grant",
            Resource::Mcp => "the MCP server of this node, and nothing else",
            Resource::Agent(agent) => { "the agent " b { (agent) } ", and nothing else" },
        }
        " " span.mono.faint { (url) }
    }
}

fn by_grant(open: &[&known::Shown], fields: &Fields) -> Markup {
    let chosen = fields.text("grant");
    html! {
        label.field { span { "By which grant" }
            select name="grant" {
                option value="" selected[chosen.is_empty()] { "a new one, for this client alone" }
                @for grant in open {
                    option value=(grant.id) selected[chosen == grant.id] { (crate::plain::harmless(&grant.label)) @if grant.state == "paused" { " (paused)" } }
                }
            }
        }
        p.faint { "With a grant that there is, its own agents, limits and end count, and of what is ticked below only what it allows. Its tasks are the client's too." }
    }
}

/// What a grant that there is would mean for a client.
fn narrowed(grant: &known::Shown, verbs: &[String]) -> Markup {
    let allowed: Vec<_> =
        grant.verbs.iter().filter(|verb| verbs.iter().any(|one| one == verb.as_str())).copied().collect();
    let agents: Vec<_> = grant.agents.iter().map(baton_core::ident::AgentName::as_str).collect();
    html! {
        div.card role="status" {
            h2 { "What this would allow" }
            @if allowed.is_empty() { p { "Nothing: tick what it may do." } }
            @else { p { (spell(&allowed).replace(' ', ", ")) " to " (agents.join(", ")) ", as " (text::theirs(&grant.label)) " may. It sees that grant's tasks, and counts against its limits." } }
            p.faint { "Nothing is given yet." }
        }
    }
}

/// Why there is nothing to decide on. Nobody is sent anywhere by that; somebody signed in may go back and tell the client.
fn wrong(why: Wrong, is_operator: bool) -> Response {
    let (status, what, back) = match why {
        Wrong::Person(what) => (StatusCode::BAD_REQUEST, what, None),
        Wrong::Client { what, leads, back } => (StatusCode::BAD_REQUEST, what, Some((leads, back))),
        Wrong::Failed(why) => {
            let fault = fault::of(why, None);
            (fault.http_status(), fault.message().into_owned(), None)
        }
    };
    let body = html! {
        main.alone #main {
            (layout::mark())
            h1 { "This is no request that can be answered" }
            p.quiet role="alert" { "A program sent you here to ask for access, and made a mistake. " (text::theirs(&what)) "." }
            p.quiet { "Nothing was given. Whoever made that program can tell from this what is wrong." }
            @if let Some((leads, back)) = back.filter(|_| is_operator) {
                p { a.button href=(back) rel="noreferrer" { "Go back and tell it" } }
                p.faint { "That leads " (to_place(&leads)) "." }
            }
        }
    };
    layout::respond(status, &layout::document("No request", "refused", &body))
}

fn nowhere() -> Response {
    layout::refuse(
        StatusCode::NOT_FOUND,
        "No client asks here",
        "This node lets no clients in by the browser: [auth] authorization_code is false.",
    )
}
