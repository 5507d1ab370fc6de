//! Asking a peer for a grant.

use std::sync::Arc;
use std::time::Duration;

use baton_core::friend::peer::{State, begin};
use baton_core::ident::AgentName;
use baton_core::limits::FRIEND_PICK_UP_WITHIN;
use baton_store::{Actor, Asked, Peer, Verb};
use sha2::{Digest as _, Sha256};
use tracing::info;

use super::super::agents::Entry;
use super::super::friends::{code, read_agents, read_verbs};
use super::super::manifest::{FRIEND_REQUEST, FriendRequests};
use super::super::{Error, Service};
use super::{place, short};
use crate::clock::new_id;
use crate::federation::{self, Address, Found, Limits, Transport, friend};

/// A peer as it is asked for.
#[derive(Clone, Debug, Default)]
pub struct WantedPeer {
    /// Of an agent, its card or its node.
    pub url: String,
    /// The agent of the card where none is named.
    pub agents: Vec<String>,
    /// `send`, `read` and `cancel` where none is named.
    pub verbs: Vec<String>,
    pub why: Option<String>,
    /// The agent of this node whose card is shown; the default agent's where none is named.
    pub as_agent: Option<String>,
    pub id_token: Option<String>,
}

/// What is asked for where nobody says.
const VERBS: [Verb; 3] = [Verb::Send, Verb::Read, Verb::Cancel];

/// The longest that a request is looked after, whatever the other side says of its end.
const WATCHED: Duration = Duration::from_hours(30 * 24);

impl Service {
    /// Reads the card at a URL, asks its node for a grant, and keeps the request.
    pub async fn ask_peer(&self, wanted: WantedPeer, by: &Actor) -> Result<Peer, Error> {
        let own = self.own_card(wanted.as_agent.as_deref())?;
        let named = Address::parse(&wanted.url).map_err(|why| Error::invalid("url", why.to_string()))?;
        let agents = wanted.agents.first().map(|_| read_agents(&wanted.agents)).transpose()?;
        let verbs = wanted.verbs.first().map_or(Ok(VERBS.to_vec()), |_| read_verbs(&wanted.verbs))?;
        let transport = Transport::guarded(self.dialer.clone(), Limits::default());
        let found = federation::find_card(&transport, &named).await?;
        let (endpoint, how) = where_to_ask(&found)?;
        let now = self.now();
        let (_, mark) = self.mark_of(&found, now).await.map_err(Error::PeerFailed)?;
        let agents = agents.unwrap_or_else(|| vec![how.agent]);
        let origin = Address::at(found.at.place.clone()).to_string();
        self.check_unasked(&origin, &agents).await?;
        let why = wanted.why.unwrap_or_else(|| format!("{} asks", self.site.base));
        let spelled: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
        let id_token = wanted.id_token.as_deref();
        let wish = friend::Wish { card_url: &own, agents: &agents, verbs: &spelled, why: &why, id_token };
        let taken = friend::ask(&transport, &endpoint, &wish).await?;
        let terms =
            code::Terms { url: &how.url, card_url: &own, agents: &agents, verbs: &spelled, why: &why };
        let asked = Asked {
            url: request_url(&endpoint, &taken)?,
            code: checked_code(&taken, terms)?,
            as_card: own.clone(),
            agents: agents.clone(),
            verbs: spelled.iter().map(|verb| (*verb).to_owned()).collect(),
            why: why.clone(),
        };
        let id = new_id().to_string();
        let until = taken.expires_at.min(now.after(WATCHED)).after(FRIEND_PICK_UP_WITHIN);
        let peer = Peer {
            secret: Some(self.seal.seal(taken.secret.as_bytes(), &place("secret", &id, ""))),
            name: short(&found.card.name),
            origin,
            card_url: found.at.to_string(),
            mark,
            asked,
            state: begin(now, until),
            credential: None,
            granted: None,
            problem: None,
            created_at: now,
            created_by: by.name.clone(),
            changed_at: now,
            id,
        };
        self.store.create_peer(peer.clone(), by).await?;
        info!(peer.id = %peer.id, peer.origin = %peer.origin, "asked a peer for a grant");
        Ok(peer)
    }

    /// Refuses to ask twice for the same: the human over there would have to read both.
    async fn check_unasked(&self, origin: &str, agents: &[AgentName]) -> Result<(), Error> {
        let is_same = |peer: &Peer| {
            let stands = peer.state.is_open() || peer.state == State::Friend;
            stands && peer.origin == origin && peer.asked.agents == agents
        };
        match self.store.list_peers().await?.into_iter().find(is_same) {
            Some(Peer { id, .. }) => {
                let what = format!("this was asked already, as the peer {id}: forget that one to ask again");
                Err(Error::PeerFailed(what))
            }
            None => Ok(()),
        }
    }

    /// The URL of the card that is shown to others.
    fn own_card(&self, named: Option<&str>) -> Result<String, Error> {
        let is_public = |agent: &Arc<Entry>| agent.settings.publish;
        let all = self.agents.list();
        let agent = if let Some(name) = named {
            let found = all.into_iter().find(|agent| agent.name().as_str() == name);
            found.filter(is_public).ok_or_else(|| {
                Error::invalid(
                    "as",
                    format!("`{name}` is no published agent of this node (`publish = true`)"),
                )
            })?
        } else {
            let default = self.agents.find_default().filter(is_public);
            default.or_else(|| all.into_iter().find(is_public)).ok_or_else(|| {
                let what = "no agent of this node is published, and the other side asks for a card to see: set \
                            `publish = true` for one";
                Error::invalid("as", what)
            })?
        };
        Ok(format!("{}/.well-known/agent-card.json", self.site.url(agent.name())))
    }
}

/// Where a card says that its node takes friend requests: at its own origin, or nowhere.
fn where_to_ask(found: &Found) -> Result<(Address, FriendRequests), Error> {
    let declared =
        found.card.capabilities.extensions.iter().find(|extension| extension.uri == FRIEND_REQUEST);
    let params = declared.and_then(|extension| extension.params.as_ref());
    let how = params.and_then(|params| serde_json::from_str::<FriendRequests>(params.as_str()).ok());
    let Some(how) = how else {
        return Err(Error::PeerFailed(format!(
            "the card at {} does not say where to ask for a grant (extension {FRIEND_REQUEST}): ask its operator for a token",
            found.at
        )));
    };
    let at = Address::parse(&how.url)?;
    if !at.place.is_origin_of(&found.at.place) {
        return Err(Error::PeerFailed(format!(
            "the card at {} sends friend requests to {at}, which is another server: nothing was sent",
            found.at
        )));
    }
    Ok((at, how))
}

/// Where the request is from now on, made of our own text and the id.
fn request_url(endpoint: &Address, taken: &friend::Taken) -> Result<String, Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if taken.id.is_empty() || taken.id.len() > 128 || !taken.id.bytes().all(plain) {
        return Err(Error::PeerFailed("the other side gave the request an id that is no id".to_owned()));
    }
    Ok(endpoint.below(&format!("/{}", taken.id)).to_string())
}

/// The code as it follows from what was sent. Another one in the answer means that somebody changed the one or the other.
fn checked_code(taken: &friend::Taken, terms: code::Terms<'_>) -> Result<String, Error> {
    let ours = code::of(&taken.id, &Sha256::digest(taken.secret.as_bytes()).into(), terms);
    if code::is_same(&ours, &taken.code) {
        return Ok(ours);
    }
    Err(Error::PeerFailed(
        "the other side answered with a code that does not belong to what was sent: the request was changed on its way, or the \
         card names another place than the node; nothing was kept, and the request over there ends by itself"
            .to_owned(),
    ))
}
