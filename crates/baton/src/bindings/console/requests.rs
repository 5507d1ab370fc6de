//! *Friend requests*: who asks to be let in, what is known of them, and a person's decision. Everything that the other
//! side wrote is shown as its words.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use baton_store::Verb;
use http::request::Parts;
use maud::{Markup, html};

use super::super::admin::friends::{self, Card, IdToken, Looked, Shown};
use super::super::{Doors, fault};
use super::form::{Fields, Form};
use super::guard::Visitor;
use super::layout::{Here, Page, button, hidden};
use super::{grants, layout, text, words};
use crate::service::friends::{ListFriends, Narrowed, label_of};
use crate::service::{Error, Service};

/// The filters, as a person calls them and as the service does.
const STATES: [(&str, &str); 4] =
    [("waiting", "pending"), ("approved", "approved"), ("denied", "denied"), ("expired", "expired")];

pub async fn show_all(State(doors): State<Arc<Doors>>, visitor: Visitor, request: Parts) -> Response {
    let fields = Fields::parse(request.uri.query().unwrap_or_default().as_bytes());
    let page = list(&doors.service, &visitor, &fields).await;
    layout::show(&doors, &visitor, page).await
}

async fn list(service: &Service, visitor: &Visitor, fields: &Fields) -> Result<Page, Error> {
    let state = STATES.into_iter().find(|(_, state)| *state == fields.text("state")).map(|(_, state)| state);
    let wanted = ListFriends {
        state: state.map(str::to_owned),
        page_token: fields.said("page"),
        ..ListFriends::default()
    };
    let (page, now) = (friends::page(service, wanted).await?, service.now());
    let path = |state: Option<&str>| {
        state.map_or("/console/requests".to_owned(), |state| format!("/console/requests?state={state}"))
    };
    let body = html! {
        div.bar { h1 { "Friend requests" } span.faint { "who asks for a grant, the newest first" } }
        div.filters role="navigation" aria-label="By state" {
            a href=(path(None)) aria-current=[state.is_none().then_some("true")] { "All" }
            @for (word, known) in STATES { a href=(path(Some(known))) aria-current=[(state == Some(known)).then_some("true")] { (word) } }
        }
        button.fresh #fresh hidden {}
        div #list data-list="requests" {
            @for request in &page.requests { (card(visitor, request, now)) }
            @if page.requests.is_empty() {
                div.empty {
                    p { b { @if state.is_some() { "None of these." } @else { "Nobody has asked yet." } } }
                    p.quiet { "Another node asks with " code.mono { "baton peers request URL" } ". Nothing is fetched from it and nothing is granted before you look." }
                }
            }
        }
        @if !page.next_page_token.is_empty() {
            p { a.button rel="next" href={ "/console/requests?page=" (page.next_page_token) @if let Some(state) = state { "&state=" (state) } } { "Older" } }
        }
    };
    Ok(Page::new(Here::Requests, "Friend requests", body))
}

fn path(request: &Shown) -> String {
    format!("/console/requests/{}", request.id)
}

fn chip(request: &Shown) -> Markup {
    let (class, word) = match request.state {
        "pending" => ("run", "friend request"),
        "approved" => ("ok", "approved"),
        "denied" => ("off", "denied"),
        other => ("off", other),
    };
    html! { span class={ "chip " (class) } { (word) } }
}

/// Who it is, as far as it is known: the name is its card's own word.
fn name(request: &Shown) -> String {
    let card = request.look.as_ref().and_then(|look| look.card.as_ref());
    card.map_or_else(|| text::place(&request.card_url), |card| card.name.clone())
}

/// A request in a list, decided there or opened.
pub fn card(visitor: &Visitor, request: &Shown, now: Timestamp) -> Markup {
    let verbs: Vec<_> = request.verbs.iter().map(|verb| verb.as_str()).collect();
    let agents: Vec<_> = request.agents.iter().map(baton_core::ident::AgentName::as_str).collect();
    html! {
        article.card #{ "request-" (request.id) } data-item tabindex="-1" {
            div.top {
                (chip(request))
                b { (text::theirs(&text::short(&name(request), 60))) }
                span.quiet { (text::theirs(&text::place(&request.card_url))) " wants to" }
                b { (verbs.join(", ")) }
                span.quiet { "to" }
                b { (agents.join(", ")) }
                span.grow {}
                span.faint { (words::when(request.created_at, now)) }
            }
            @if !request.why.is_empty() { p.quiet { "“" (text::theirs(&text::short(&request.why, 400))) "”" } }
            dl {
                dt { "Card" } dd { (known(request.look.as_ref(), now)) }
                dt { "Compare" } dd.mono { (request.code) }
                @if let Some(at) = request.expires_at { dt { @if request.state == "pending" { "Decide" } @else { "Pick up" } } dd { (words::when(at, now)) " at the latest" } }
            }
            div.acts {
                @if request.state == "pending" {
                    a.button.primary href=(path(request)) data-open data-answer { "Look and decide…" }
                    (button(visitor, &format!("{}/deny", path(request)), "danger", "Deny"))
                } @else {
                    a.button href=(path(request)) data-open { "Open" }
                }
            }
        }
    }
}

/// What a look at the card found, in one line.
fn known(look: Option<&Looked>, now: Timestamp) -> Markup {
    let Some(look) = look else { return html! { "not looked at yet; nothing was fetched" } };
    let Some(card) = &look.card else {
        let why = look.problem.as_deref().unwrap_or("nothing was found");
        return html! { span.chip.bad { "no card" } " " (text::theirs(why)) };
    };
    html! { (signature(card)) " " (standing(card, now)) " · fetched " (words::when(look.at, now)) }
}

fn signature(card: &Card) -> Markup {
    match card.signature {
        "signed" => html! { span.chip.ok { "signed" } },
        "unproven" => html! { span.chip.bad { "not proven" } },
        _ => html! { span.chip.off { "unsigned" } },
    }
}

fn standing(card: &Card, now: Timestamp) -> Markup {
    match (card.standing, card.since) {
        ("pinned", Some(since)) => html! { "the same as " (words::when(since, now)) },
        ("changed", Some(since)) => html! { span.chip.bad { "changed" } " since " (words::when(since, now)) },
        _ => html! { "not seen before" },
    }
}

pub async fn show(State(doors): State<Arc<Doors>>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let fields = Fields::default();
    let page = load(&doors.service, &visitor, &id, (&fields, &html! {})).await;
    layout::show(&doors, &visitor, page).await
}

async fn load(
    service: &Service,
    visitor: &Visitor,
    id: &str,
    (fields, said): (&Fields, &Markup),
) -> Result<Page, Error> {
    let (request, now) = (friends::load(service, id).await?, service.now());
    let name = name(&request);
    let body = html! {
        div.bar #head {
            a.faint href="/console/requests" { "Friend requests /" }
            h1 { (text::theirs(&name)) }
            (chip(&request))
            span.grow {}
            @if request.state == "pending" { (button(visitor, &format!("{}/deny", path(&request)), "danger", "Deny")) }
        }
        div.cols {
            div {
                section #who data-region { (who(visitor, &request, now)) }
                @if request.state == "pending" { (decide(service, visitor, &request, (fields, said))) }
            }
            aside #facts data-region { (facts(&request, now)) }
        }
    };
    Ok(Page::new(Here::Requests, format!("{name} asks"), body))
}

fn who(visitor: &Visitor, request: &Shown, now: Timestamp) -> Markup {
    html! {
        @if !request.why.is_empty() { h2 { "Why, in its words" } div.said.agent { (text::passage(&request.why)) } }
        h2 { "Who it is" }
        p { (known(request.look.as_ref(), now)) }
        @if let Some(card) = request.look.as_ref().and_then(|look| look.card.as_ref()) { (found(card)) }
        @if let Some(token) = request.look.as_ref().and_then(|look| look.id_token.as_ref()) { (identity(token)) }
        @else if request.has_id_token { p.quiet { "It sent an ID token, which is checked when you look." } }
        @if request.state == "pending" {
            (button(visitor, &format!("{}/look", path(request)), "", if request.look.is_some() { "Look again" } else { "Look: fetch its card now" }))
        }
    }
}

fn found(card: &Card) -> Markup {
    html! {
        dl {
            dt { "Name" } dd { (text::theirs(&card.name)) }
            dt { "Served" } dd { @if card.at_home { "by the server that the card came from" } @else { "by another server than the card came from" } }
            @if let Some(problem) = &card.signature_problem { dt { "Signature" } dd { (text::theirs(problem)) } }
            @if let Some(kid) = &card.kid { dt { "Key" } dd.mono { (text::theirs(kid)) } }
            @if let Some(key) = &card.key { dt { "Fingerprint" } dd.mono { (text::theirs(key)) } }
            dt { "Digest" } dd.mono { (text::theirs(&card.digest)) }
        }
        @if let Some(document) = &card.document {
            details { summary { "Show the card as it was found" } pre.mono dir="ltr" { (crate::plain::harmless(&text::short(document.as_str(), 20_000))) } }
        }
    }
}

fn identity(token: &IdToken) -> Markup {
    html! {
        @if token.proven {
            p { span.chip.ok { "identity proven" } " " (text::theirs(token.subject.as_deref().unwrap_or_default())) " at " (text::theirs(token.issuer.as_deref().unwrap_or_default())) }
        } @else {
            p { span.chip.bad { "identity not proven" } " " (text::theirs(token.problem.as_deref().unwrap_or_default())) }
        }
    }
}

/// The form that approves: what was asked for, to be narrowed.
fn decide(
    service: &Service,
    visitor: &Visitor,
    request: &Shown,
    (fields, said): (&Fields, &Markup),
) -> Markup {
    let sent = !fields.text("act").is_empty();
    let agent = |name: &str| {
        if sent {
            fields.all("agent").any(|one| one == name)
        } else {
            request.agents.iter().any(|one| one.as_str() == name)
        }
    };
    let verb = |verb: Verb| {
        if sent {
            fields.all("verb").any(|one| one == verb.as_str())
        } else {
            verb != Verb::Work && request.verbs.contains(&verb)
        }
    };
    let all = service.agents.list();
    html! {
        form.narrow method="post" action={ (path(request)) "/approve" } {
            (hidden(visitor))
            h2 { "Let it in" }
            (said)
            p.quiet { "Ask the other side for the code that it sees, over a way that you trust, and compare: " code.mono { b { (request.code) } } }
            label.field { span { "What you call it" }
                input type="text" name="label" value=(fields.text("label")) placeholder=(label_of(&request.card_url)) maxlength="200" autocomplete="off";
            }
            fieldset { legend { "To which agents" }
                div.checks { @for known in &all { @let name = known.name().as_str(); label { input type="checkbox" name="agent" value=(name) checked[agent(name)]; (name) } } }
            }
            (grants::verbs(&verb))
            (grants::limits(&if sent { fields.clone() } else { Fields::parse(b"rate=60%2Fm&openTasks=20&expires=90d") }))
            div.acts {
                button.primary name="act" value="approve" { "Approve" }
                button name="act" value="look" { "What would it allow?" }
            }
        }
    }
}

fn facts(request: &Shown, now: Timestamp) -> Markup {
    html! {
        h2 { "Request" }
        dl {
            dt { "Id" } dd.mono { (request.id) }
            dt { "Code" } dd.mono { (request.code) }
            dt { "Card" } dd.mono { (text::theirs(&request.card_url)) }
            dt { "From" } dd.mono { (text::theirs(&request.origin)) }
            dt { "Asked" } dd { (words::when(request.created_at, now)) }
            @if let Some(at) = request.expires_at { dt { "Until" } dd { (words::when(at, now)) } }
            @if let Some(at) = request.decided_at { dt { "Decided" } dd { (words::when(at, now)) @if let Some(by) = &request.decided_by { " by " (text::theirs(by)) } } }
        }
        @if let Some(made) = &request.grant {
            h2 { "Grant" }
            p { a.link href={ "/console/grants/" (made.id) } { "Open its grant" } " · " (made.state) }
            p.quiet {
                @if made.used { "Its token is picked up and used." }
                @else if let Some(at) = made.picked_at { "Its token was picked up " (words::when(at, now)) "." }
                @else { "Its token waits to be picked up." }
            }
        }
    }
}

pub async fn look(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let looked = doors.service.look_at_friend(&id, &form.visitor.by).await;
    layout::done(
        &doors,
        &form.visitor,
        looked.map(|_| html! { "Looked." }),
        &format!("/console/requests/{id}"),
    )
}

pub async fn deny(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let denied = doors.service.deny_friend(&id, &form.visitor.by).await;
    let said = denied.map(|request| html! { "Denied " (text::theirs(&text::place(&request.wish.card_url))) ". It learns of it when it asks." });
    layout::done(&doors, &form.visitor, said, &form.back("/console/requests"))
}

/// Approves, or says what an approval would mean.
pub async fn approve(State(doors): State<Arc<Doors>>, Path(id): Path<String>, form: Form) -> Response {
    let (service, visitor) = (&doors.service, &form.visitor);
    let said = match narrowed(&form.fields) {
        Err(why) => Err(why),
        Ok(wanted) if form.fields.text("act") == "look" => {
            friends::dry(service, &id, wanted).await.map(|would| grants::means(&would))
        }
        Ok(wanted) => match service.approve_friend(&id, wanted, &visitor.by).await {
            Ok(approved) => {
                let said = html! { b { (text::theirs(&approved.grant.label)) } " is let in. Its token waits to be picked up by it." };
                return layout::done(&doors, visitor, Ok(said), &format!("/console/requests/{id}"));
            }
            Err(why) => Err(why),
        },
    };
    let said = said.unwrap_or_else(|why| {
        let fault = fault::of(why, None);
        html! { p.notice.bad role="alert" { "Not approved: " (fault.message()) } }
    });
    let page = load(service, visitor, &id, (&form.fields, &said)).await;
    layout::show(&doors, visitor, page).await
}

fn narrowed(fields: &Fields) -> Result<Narrowed, Error> {
    let wanted = grants::wanted(fields)?;
    Ok(Narrowed {
        label: Some(wanted.label).filter(|label| !label.is_empty()),
        agents: Some(wanted.agents),
        verbs: Some(wanted.verbs),
        limits: wanted.limits,
        expires: wanted.expires,
        code: None,
    })
}
