//! Peers, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::ident::AgentName;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use baton_store::{Asked, Granted, Peer};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, Sent, answer};
use crate::service::peers::WantedPeer;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewPeerRequest)]
pub struct Ask {
    /// Of an agent, its card or its node.
    url: String,
    #[serde(default)]
    agents: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
    why: Option<String>,
    /// The agent whose card is shown.
    #[serde(rename = "as")]
    as_agent: Option<String>,
    id_token: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PeerMessage)]
pub struct Say {
    agent: Option<String>,
    text: String,
}

/// A peer as the operator sees it; never its secrets. `name` is the peer's own word.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Peer)]
struct Shown {
    id: String,
    name: String,
    /// The one server that the credential goes to.
    origin: String,
    card_url: String,
    /// `asked`, `picked`, `friend`, `denied`, `expired` or `ended`.
    state: &'static str,
    /// What both sides compare.
    code: String,
    /// The card that was shown.
    as_card: String,
    #[schema(value_type = Vec<String>)]
    agents: Vec<AgentName>,
    verbs: Vec<String>,
    why: String,
    /// What the other side allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    granted: Option<Granted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_look_at: Option<Timestamp>,
    /// Why the last look brought nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    changed_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct Peers {
    peers: Vec<Shown>,
}

/// What a peer answered: a task or a message.
#[derive(Serialize, ToSchema)]
#[schema(as = PeerSaid)]
struct Said {
    #[schema(value_type = Object)]
    answer: Json,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PeerForgotten)]
struct Forgotten {
    id: String,
}

impl From<Peer> for Shown {
    fn from(peer: Peer) -> Self {
        let Asked { url: _, code, as_card, agents, verbs, why } = peer.asked;
        let next_look_at = peer.state.due_at();
        Self {
            id: peer.id,
            name: peer.name,
            origin: peer.origin,
            card_url: peer.card_url,
            state: peer.state.as_str(),
            code,
            as_card,
            agents,
            verbs,
            why,
            granted: peer.granted,
            next_look_at,
            problem: peer.problem,
            created_at: peer.created_at,
            created_by: peer.created_by,
            changed_at: peer.changed_at,
        }
    }
}

/// The peers that this node asked for a grant.
#[utoipa::path(
    get,
    path = "/api/v1/peers",
    responses((status = 200, description = "All of them", body = Peers))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    let listed = async {
        let peers = doors.service.store.list_peers().await?;
        Ok(Peers { peers: peers.into_iter().map(Shown::from).collect() })
    };
    answer(listed.await, None)
}

/// Asks a peer for a grant.
#[utoipa::path(
    post,
    path = "/api/v1/peers",
    request_body = Ask,
    responses((status = 200, description = "The peer and the code to compare", body = Shown))
)]
pub async fn ask(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Sent(wanted): Sent<Ask>,
) -> Response {
    let Ask { url, agents, verbs, why, as_agent, id_token } = wanted;
    let wanted = WantedPeer { url, agents, verbs, why, as_agent, id_token };
    answer(doors.service.ask_peer(wanted, &by).await.map(Shown::from), None)
}

/// A peer.
#[utoipa::path(
    get,
    path = "/api/v1/peers/{id}",
    params(("id" = String, Path, description = "Of the peer")),
    responses((status = 200, description = "The peer", body = Shown))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator, Path(id): Path<String>) -> Response {
    answer(doors.service.load_peer(&id).await.map(Shown::from), None)
}

/// Looks at the other side now.
#[utoipa::path(
    post,
    path = "/api/v1/peers/{id}/check",
    params(("id" = String, Path, description = "Of the peer")),
    responses((status = 200, description = "The peer", body = Shown))
)]
pub async fn check(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    answer(doors.service.check_peer(&id, &by).await.map(Shown::from), None)
}

/// Sends one message with the peer's credential.
#[utoipa::path(
    post,
    path = "/api/v1/peers/{id}/messages",
    params(("id" = String, Path, description = "Of the peer")),
    request_body = Say,
    responses((status = 200, description = "What it answered", body = Said))
)]
pub async fn say(
    State(doors): State<Arc<Doors>>,
    _: Operator,
    Path(id): Path<String>,
    Sent(Say { agent, text }): Sent<Say>,
) -> Response {
    let said = doors.service.say_to_peer(&id, agent.as_deref(), &text).await;
    answer(said.map(|answer| Said { answer }), None)
}

/// Forgets a peer and its credential.
#[utoipa::path(
    delete,
    path = "/api/v1/peers/{id}",
    params(("id" = String, Path, description = "Of the peer")),
    responses((status = 200, description = "Which one", body = Forgotten))
)]
pub async fn forget(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let forgotten = doors.service.forget_peer(&id, &by).await;
    answer(forgotten.map(|()| Forgotten { id }), None)
}
