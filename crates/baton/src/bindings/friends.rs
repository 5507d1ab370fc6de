//! The strangers' door: ask for a grant, look what became of that, and pick the credential up.
//!
//! It needs no credentials, so everything about it is bounded: bodies, requests by address and in all, tries at secrets. A
//! request that is not there and one with another secret answer alike.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{Grant, Verb};
use baton_wire::fault::Fault;
use baton_wire::response::encode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode};
use serde::{Deserialize, Serialize};

use super::media::{Media, is_json};
use super::{Doors, body, fault};
use crate::access::Ticket;
use crate::service::Error;
use crate::service::friends::{PickedUp, Standing, WantedFriend};

/// Bytes of a request: its longest members, and room for their spelling.
const BODY: usize = 24 * 1024;

pub fn router() -> Router<Arc<Doors>> {
    Router::new()
        .route("/friend-requests", post(ask))
        .route("/friend-requests/{id}", get(show))
        .route("/friend-requests/{id}/credential", post(pick_up))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    card_url: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    why: String,
    id_token: Option<String>,
}

/// A request that was taken in. The secret is in this answer and in no other.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Taken {
    id: String,
    secret: String,
    code: String,
    state: &'static str,
    /// Where to look what became of it, with the secret as the bearer token.
    url: String,
    /// When it ends where nobody decides.
    expires_at: Timestamp,
}

/// How a request stands, for the one who sent it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: String,
    code: String,
    state: &'static str,
    agents: Vec<AgentName>,
    verbs: Vec<Verb>,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
    /// Of the decision, or of the pick-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// Where the credential is, once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    granted: Option<Granted>,
}

/// What was allowed, which may be less than was asked for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    agents: Vec<Agent>,
    verbs: Vec<Verb>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct Agent {
    name: AgentName,
    url: String,
}

/// The credential; another pick-up gives another one, and takes this away while nobody has used it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    token: String,
    token_type: &'static str,
    granted: Granted,
    /// Until when it can be picked up anew where this answer is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    again_until: Option<Timestamp>,
}

impl Granted {
    fn of(doors: &Doors, grant: &Grant) -> Self {
        let site = &doors.service.site;
        let agents = grant.agents.iter().map(|name| Agent { name: name.clone(), url: site.url(name) });
        Self { agents: agents.collect(), verbs: grant.verbs.clone(), expires_at: grant.expires_at }
    }
}

async fn ask(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let taken = async {
        let origin = doors.gate.stranger(&parts).map_err(|why| fault::of(why, None))?;
        let wanted = read(&parts, body).await?;
        let Wanted { card_url, agents, verbs, why, id_token } = wanted;
        let wanted = WantedFriend { card_url, agents, verbs, why, id_token };
        doors.service.ask_friend(wanted, origin).await.map_err(|why| fault::of(why, None))
    };
    match taken.await {
        Ok((request, secret)) => {
            let url = format!("{}/{}", doors.service.friends_url(), request.id);
            let location = HeaderValue::try_from(&url).ok();
            let mut response = answer(&Taken {
                id: request.id.clone(),
                secret: secret.reveal().to_owned(),
                code: request.code.clone(),
                state: "pending",
                url,
                expires_at: request.state.until().unwrap_or(request.created_at),
            });
            *response.status_mut() = StatusCode::CREATED;
            response.headers_mut().extend(location.map(|url| (LOCATION, url)));
            response
        }
        Err(fault) => fault::rest(&fault, Media::Json),
    }
}

async fn read(parts: &Parts, body: Body) -> Result<Wanted, Fault> {
    if !is_json(&parts.headers) {
        return Err(fault::of(Error::invalid("Content-Type", "must be application/json"), None));
    }
    let bytes = body::read(body, BODY).await?;
    body::parse(&bytes).map_err(|why| fault::of(why, None))
}

async fn show(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let shown = async {
        doors.gate.stranger(&request)?;
        let ticket = Ticket::of(&request.headers);
        let opened = doors.service.open_friend(&id, ticket.as_ref()).await;
        let found = opened.map_err(|why| doors.gate.wrong_secret(&request, why))?;
        let record = doors.service.grant_of(&found).await?;
        let standing = doors.service.standing_of(&found, record.as_ref());
        let is_there = standing == Standing::Approved;
        Ok(Shown {
            id: found.id.clone(),
            code: found.code.clone(),
            state: standing.as_str(),
            agents: found.wish.agents.clone(),
            verbs: found.wish.verbs.clone(),
            created_at: found.created_at,
            decided_at: found.decided.as_ref().map(|decided| decided.at),
            // What is over has no end to come.
            expires_at: found.state.until().filter(|_| standing != Standing::Expired),
            credential_url: is_there
                .then(|| format!("{}/{}/credential", doors.service.friends_url(), found.id)),
            granted: record.map(|record| Granted::of(&doors, &record.grant)),
        })
    };
    match shown.await {
        Ok(shown) => answer(&shown),
        Err(why) => refuse(why),
    }
}

async fn pick_up(State(doors): State<Arc<Doors>>, Path(id): Path<String>, request: Parts) -> Response {
    let picked = async {
        let origin = doors.gate.stranger(&request)?;
        let ticket = Ticket::of(&request.headers);
        let picked = doors.service.pick_up_friend(&id, ticket.as_ref(), origin).await;
        picked.map_err(|why| doors.gate.wrong_secret(&request, why))
    };
    match picked.await {
        Ok(PickedUp { request, grant, token }) => answer(&Credential {
            token: token.reveal().to_owned(),
            token_type: "Bearer",
            granted: Granted::of(&doors, &grant),
            again_until: request.state.until(),
        }),
        Err(why) => refuse(why),
    }
}

fn refuse(why: Error) -> Response {
    fault::rest(&fault::of(why, None), Media::Json)
}

/// Secrets are in some of these: nobody keeps them on the way.
fn answer(value: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(encode(value)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, Media::Json.header());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
