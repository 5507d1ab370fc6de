//! Peers: other nodes that this one asks for a grant, and the credentials that it is given.
//!
//! A credential is sealed, and goes to the origin that it came from and nowhere else. Whatever is lost on the way is
//! fetched again: the other side gives another one until the first is used.

mod ask;
mod watch;

use std::time::Duration;

use baton_core::json::Json;
use baton_store::{Actor, Peer};

use super::{Error, Service};
use crate::clock::new_id;
use crate::federation::{self, Address, Client, Limits, Token, Transport};
use crate::net::dialer::Target;
pub use ask::WantedPeer;

/// How long an answer to a message may take that an operator sends to a peer.
const SAY_WITHIN: Duration = Duration::from_secs(25);

/// Bytes of a peer's name as it is kept.
const NAME: usize = 200;

impl Service {
    pub async fn load_peer(&self, id: &str) -> Result<Peer, Error> {
        self.store.find_peer(id).await?.ok_or(Error::PeerNotFound)
    }

    /// Forgets a peer and its credential; the other side is not told.
    pub async fn forget_peer(&self, id: &str, by: &Actor) -> Result<(), Error> {
        self.store.delete_peer(id, by, self.now()).await.map_err(not_found)
    }

    /// A client of one of the agents that a peer lets this node call; the first where none is named. The credential goes to
    /// the peer's own origin only.
    pub async fn peer_client(&self, peer: &Peer, agent: Option<&str>) -> Result<Client, Error> {
        let none = || Error::PeerFailed("there is no credential for this peer, or none any more".to_owned());
        let (sealed, granted) = peer.credential.as_ref().zip(peer.granted.as_ref()).ok_or_else(none)?;
        let mut known = granted.agents.iter();
        let agent = match agent {
            Some(name) => known.find(|known| known.name == name).ok_or_else(|| {
                let names: Vec<_> = granted.agents.iter().map(|agent| agent.name.as_str()).collect();
                Error::invalid("agent", format!("is one of {}", names.join(", ")))
            })?,
            None => known.next().ok_or_else(|| {
                Error::PeerFailed(format!(
                    "the grant names no agent at {}, where its credential is for",
                    peer.origin
                ))
            })?,
        };
        let token = self.seal.unseal(sealed, &place("credential", &peer.id, &peer.origin));
        let token = token.map_err(|why| Error::PeerFailed(why.to_string()))?;
        let (transport, at) =
            self.carrying(&token, &agent.url).map_err(|Unseen(why)| Error::PeerFailed(why))?;
        if !is_at(&peer.origin, &at) {
            return Err(Error::PeerFailed(format!("{} is not at {}", agent.url, peer.origin)));
        }
        let client = Client::over(transport, &at).await?;
        if client.withholds_token() {
            // Without its credential a call says nothing, and its content is not for others.
            return Err(Error::PeerFailed(format!(
                "the card at {} sends calls to {}, which is another server: nothing was sent",
                agent.url,
                client.interface().address
            )));
        }
        Ok(client)
    }

    /// Sends one message with a peer's credential, and answers what came back.
    pub async fn say_to_peer(&self, id: &str, agent: Option<&str>, text: &str) -> Result<Json, Error> {
        let peer = self.load_peer(id).await?;
        let client = self.peer_client(&peer, agent).await?;
        Ok(client.say(&new_id().to_string(), text).await?)
    }

    fn carrying(&self, token: &[u8], url: &str) -> Result<(Transport, Address), Unseen> {
        let at = Address::parse(url)?;
        let token = Token::parse(&String::from_utf8_lossy(token))?;
        let limits = Limits { answer_within: SAY_WITHIN, send_within: SAY_WITHIN, ..Limits::default() };
        let transport = Transport::guarded(self.dialer.clone(), limits).with_token(at.place.clone(), token);
        Ok((transport, at))
    }
}

/// Why a look brought nothing.
struct Unseen(String);

impl From<federation::Error> for Unseen {
    fn from(why: federation::Error) -> Self {
        Self(why.to_string())
    }
}

impl From<federation::Error> for Error {
    fn from(why: federation::Error) -> Self {
        Self::PeerFailed(why.to_string())
    }
}

fn not_found(why: baton_store::Error) -> Error {
    match why {
        baton_store::Error::NotFound => Error::PeerNotFound,
        other => other.into(),
    }
}

/// What a sealed text belongs to.
fn place(what: &str, id: &str, origin: &str) -> Vec<u8> {
    format!("peer\n{what}\n{id}\n{origin}").into_bytes()
}

fn is_at(origin: &str, at: &Address) -> bool {
    Target::parse(&at.to_string()).is_ok()
        && Address::parse(origin).is_ok_and(|origin| origin.place.is_origin_of(&at.place))
}

fn short(text: &str) -> String {
    text[..text.floor_char_boundary(NAME)].to_owned()
}
