//! Friend requests, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::friend;
use baton_core::ident::AgentName;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use baton_store::{
    Change, Decision, Found, FriendRequest, GrantRecord, Look, Provenance, Seen, Signature, Standing, Verb,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::Doors;
use super::grants::WouldBe;
use super::{Asked, MaybeSent, Operator, answer, query};
use crate::service::friends::{ListFriends, Narrowed};
use crate::service::grants::WantedLimits;
use crate::service::{Error, Service};

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    state: Option<String>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

/// What an approval allows; what is left out is what was asked for.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Approval)]
pub struct Approve {
    label: Option<String>,
    agents: Option<Vec<String>>,
    verbs: Option<Vec<String>>,
    #[serde(default)]
    limits: WantedLimits,
    expires: Option<String>,
    /// The code that the other side showed: another is refused.
    code: Option<String>,
    /// Nothing is approved: the answer says what the friend could do.
    #[serde(default)]
    dry_run: bool,
}

/// A request as the operator sees it. `cardUrl`, `why` and all of `card` are a stranger's words.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FriendRequest)]
pub struct Shown {
    pub id: String,
    /// What both sides compare.
    pub code: String,
    /// `pending`, `approved`, `denied` or `expired`.
    pub state: &'static str,
    /// The address that it is counted by.
    pub origin: String,
    pub card_url: String,
    #[schema(value_type = Vec<String>)]
    pub agents: Vec<AgentName>,
    #[schema(value_type = Vec<String>)]
    pub verbs: Vec<Verb>,
    pub why: String,
    /// Whether an ID token came with it.
    pub has_id_token: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Of the decision, or of the pick-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub decided_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<Made>,
    /// What was found of who asks, where the operator has looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Looked>,
}

/// What an approval made, and what became of its credential.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = GrantOfRequest)]
pub struct Made {
    pub id: String,
    pub state: &'static str,
    pub pick_ups: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub picked_at: Option<Timestamp>,
    pub used: bool,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardLook)]
pub struct Looked {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Why there is no card, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<IdToken>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CardFound)]
pub struct Card {
    pub name: String,
    /// One of its interfaces is at the server that it came from.
    pub at_home: bool,
    /// `signed`, `unproven` or `unsigned`.
    pub signature: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_problem: Option<String>,
    /// The name and the fingerprint of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `new`, `pinned` or `changed`.
    pub standing: &'static str,
    /// Since when it is pinned, or against when it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// What changed: `key`, `unsigned` or `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub changed: Option<Change>,
    pub digest: String,
    /// As it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub document: Option<Json>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IdTokenFound)]
pub struct IdToken {
    pub proven: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FriendRequestPage)]
pub struct Page {
    pub requests: Vec<Shown>,
    pub next_page_token: String,
}

impl Shown {
    fn of(request: FriendRequest, grant: Option<&GrantRecord>, now: Timestamp) -> Self {
        let state = friend::at(request.state, now);
        let made = grant.map(|record| Made {
            id: record.grant.id.to_string(),
            state: record.grant.state_at(now).as_str(),
            pick_ups: state.pick_ups(),
            picked_at: request.picked_at,
            used: record.last_used_at.is_some(),
        });
        let (decided_at, decided_by) = match request.decided {
            Some(Decision { at, by }) => (Some(at), Some(by)),
            None => (None, None),
        };
        Self {
            id: request.id,
            code: request.code,
            state: baton_store::friend_state(state),
            origin: request.origin,
            card_url: request.wish.card_url,
            agents: request.wish.agents,
            verbs: request.wish.verbs,
            why: request.wish.why,
            has_id_token: request.id_token.is_some(),
            created_at: request.created_at,
            expires_at: state.until(),
            decided_at,
            decided_by,
            grant: made,
            look: request.look.map(Looked::from),
        }
    }

    async fn load(service: &Service, request: FriendRequest) -> Result<Self, Error> {
        let grant = service.grant_of(&request).await?;
        Ok(Self::of(request, grant.as_ref(), service.now()))
    }
}

impl From<Look> for Looked {
    fn from(Look { at, verdict, card }: Look) -> Self {
        let id_token = verdict.provenance.map(IdToken::from);
        match verdict.found {
            Found::Card(seen) => Self { at, problem: None, card: Some(Card::of(seen, card)), id_token },
            Found::Nothing(why) => Self { at, problem: Some(why), card: None, id_token },
        }
    }
}

impl Card {
    fn of(seen: Seen, document: Option<Json>) -> Self {
        let Seen { name, at_home, signature, standing, mark, first: _ } = seen;
        let (signature, signature_problem, kid) = match signature {
            Signature::Unsigned => ("unsigned", None, None),
            Signature::Unproven(why) => ("unproven", Some(why), None),
            Signature::Proven(kid) => ("signed", None, kid),
        };
        let (standing, since, changed) = match standing {
            Standing::New => ("new", None, None),
            Standing::Pinned(since) => ("pinned", Some(since), None),
            Standing::Changed { since, what } => ("changed", Some(since), Some(what)),
        };
        let (digest, key) = (mark.digest, mark.key);
        Self {
            name,
            at_home,
            signature,
            signature_problem,
            kid,
            key,
            standing,
            since,
            changed,
            digest,
            document,
        }
    }
}

impl From<Provenance> for IdToken {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Proven { issuer, subject } => {
                Self { proven: true, issuer: Some(issuer), subject: Some(subject), problem: None }
            }
            Provenance::Unproven(why) => {
                Self { proven: false, issuer: None, subject: None, problem: Some(why) }
            }
        }
    }
}

/// A page of them, the newest first, without the documents of cards.
pub async fn page(service: &Service, list: ListFriends) -> Result<Page, Error> {
    let (found, next_page_token) = service.list_friends(list).await?;
    let mut requests = Vec::with_capacity(found.len());
    for request in found {
        requests.push(Shown::load(service, request).await?);
    }
    Ok(Page { requests, next_page_token })
}

pub async fn load(service: &Service, id: &str) -> Result<Shown, Error> {
    Shown::load(service, service.load_friend(id).await?).await
}

/// What an approval would allow.
pub async fn dry(service: &Service, id: &str, narrowed: Narrowed) -> Result<WouldBe, Error> {
    Ok(WouldBe::of(service, service.draft_friend(id, narrowed).await?))
}

/// A page of the friend requests, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/friend-requests",
    params(Filter),
    responses((status = 200, description = "A page", body = Page))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator, filter: Asked<Filter>) -> Response {
    let listed = async {
        let Filter { state, page_size: size, page_token } = query(filter)?;
        page(&doors.service, ListFriends { state, size, page_token }).await
    };
    answer(listed.await, None)
}

/// A friend request.
#[utoipa::path(
    get,
    path = "/api/v1/friend-requests/{id}",
    params(("id" = String, Path, description = "Of the friend request")),
    responses((status = 200, description = "The request", body = Shown))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator, Path(id): Path<String>) -> Response {
    answer(load(&doors.service, &id).await, None)
}

/// Fetches the card, which nothing else does.
#[utoipa::path(
    post,
    path = "/api/v1/friend-requests/{id}/look",
    params(("id" = String, Path, description = "Of the friend request")),
    responses((status = 200, description = "The request with what was found", body = Shown))
)]
pub async fn look(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let looked = async { Shown::load(&doors.service, doors.service.look_at_friend(&id, &by).await?).await };
    answer(looked.await, None)
}

/// Approves a request, as it is or narrowed; only this makes its grant.
#[utoipa::path(
    post,
    path = "/api/v1/friend-requests/{id}/approve",
    params(("id" = String, Path, description = "Of the friend request")),
    request_body = Option<Approve>,
    responses((status = 200, description = "The request; with `dryRun`, the grant that would be made", body = Object))
)]
pub async fn approve(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
    MaybeSent(wanted): MaybeSent<Approve>,
) -> Response {
    let Approve { label, agents, verbs, limits, expires, code, dry_run } = wanted;
    let narrowed = Narrowed { label, agents, verbs, limits, expires, code };
    if dry_run {
        return answer(dry(&doors.service, &id, narrowed).await, None);
    }
    let approved = async {
        let approved = doors.service.approve_friend(&id, narrowed, &by).await?;
        Shown::load(&doors.service, approved.request).await
    };
    answer(approved.await, None)
}

/// Denies a request.
#[utoipa::path(
    post,
    path = "/api/v1/friend-requests/{id}/deny",
    params(("id" = String, Path, description = "Of the friend request")),
    responses((status = 200, description = "The request", body = Shown))
)]
pub async fn deny(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let denied = async { Shown::load(&doors.service, doors.service.deny_friend(&id, &by).await?).await };
    answer(denied.await, None)
}
