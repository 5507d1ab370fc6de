//! Looking what became of a request, and fetching the credential that came of it.

use baton_core::friend::peer::{Input, State, step};
use baton_core::limits::FRIEND_AGENTS;
use baton_store::{Actor, Granted, GrantedAgent, Peer, PeerChange, Verb};
use tracing::{info, warn};

use super::super::friends::Standing;
use super::super::{Error, Service};
use super::{Unseen, is_at, not_found, place, short};
use crate::crash;
use crate::federation::{Address, Token, Transport, friend};

/// Peers of one look.
const AT_ONCE: usize = 8;

/// What a look brings: an input, and the credential with what it is good for.
type Sight = (Input, Option<(Vec<u8>, Granted)>);

impl Service {
    /// Looks now what became of a request, fetches the credential where it is there, and sees whether it is taken.
    pub async fn check_peer(&self, id: &str, by: &Actor) -> Result<Peer, Error> {
        let mut peer = self.load_peer(id).await?;
        // A credential is fetched by one look, and tried by the next.
        for _ in 0..2 {
            let before = peer.state;
            peer = self.look_at_peer(peer, by).await?;
            let fetched = matches!((before, peer.state), (State::Asked(_), State::Picked(_)));
            if !fetched {
                break;
            }
        }
        Ok(peer)
    }

    /// Looks at every peer that is due. For a timer.
    pub async fn look_at_peers(&self) -> Result<(), baton_store::Error> {
        let mut looks = tokio::task::JoinSet::new();
        for peer in self.store.due_peers(self.now(), AT_ONCE).await? {
            let service = self.clone();
            looks.spawn(async move {
                if let Err(why) = service.check_peer(&peer.id, &Actor::node()).await {
                    warn!(peer.id = %peer.id, error = %why, "could not look at a peer");
                }
            });
        }
        looks.join_all().await;
        Ok(())
    }

    /// One look, and what comes of it in one commit.
    async fn look_at_peer(&self, peer: Peer, by: &Actor) -> Result<Peer, Error> {
        let (input, picked, problem) = match self.see(&peer).await {
            Ok((input, picked)) => (input, picked, None),
            Err(Unseen(why)) => (Input::Nothing, None, Some(why)),
        };
        let now = self.now();
        let state = step(peer.state, input, now);
        let change = PeerChange { state, picked, problem };
        let after = self.store.change_peer(&peer, change, (by, now)).await.map_err(not_found)?;
        if std::mem::discriminant(&after.state) != std::mem::discriminant(&peer.state) {
            info!(peer.id = %peer.id, state = ?after.state, "a peer's state changed");
        }
        Ok(after)
    }

    /// What there is to be seen at the other side.
    async fn see(&self, peer: &Peer) -> Result<Sight, Unseen> {
        match peer.state {
            State::Asked(_) => self.see_request(peer).await,
            State::Picked(_) | State::Friend => Ok((self.try_credential(peer).await?, None)),
            State::Denied | State::Expired | State::Ended => Ok((Input::Nothing, None)),
        }
    }

    async fn see_request(&self, peer: &Peer) -> Result<Sight, Unseen> {
        let (transport, at) = self.with_secret(peer)?;
        let stands = match friend::look(&transport, &at).await {
            Ok(stands) => stands,
            Err(why) if why.says_nothing_is_there() => return Ok((Input::Ended, None)),
            Err(why) => return Err(why.into()),
        };
        match Standing::parse(&stands.state) {
            Some(Standing::Pending) => Ok((Input::Nothing, None)),
            Some(Standing::Denied) => Ok((Input::Denied, None)),
            Some(Standing::Expired) => Ok((Input::Expired, None)),
            // Somebody else has the credential then, who had the secret.
            Some(Standing::Collected | Standing::Ended) => Ok((Input::Ended, None)),
            Some(Standing::Approved) => {
                let credential = friend::pick_up(&transport, &at).await?;
                crash::pass(crash::PEER_PICKED_UP);
                Token::parse(&credential.token)?;
                let place = place("credential", &peer.id, &peer.origin);
                let sealed = self.seal.seal(credential.token.as_bytes(), &place);
                Ok((Input::PickedUp, Some((sealed, granted(peer, credential.granted)))))
            }
            None => Err(Unseen(format!(
                "the other side says `{}`, which is not known here",
                short(&stands.state)
            ))),
        }
    }

    /// Whether the credential opens what it was given for. That also ends the pick-ups over there.
    async fn try_credential(&self, peer: &Peer) -> Result<Input, Unseen> {
        let client = match self.peer_client(peer, None).await {
            Ok(client) => client,
            Err(Error::PeerFailed(why)) => return Err(Unseen(why)),
            Err(why) => return Err(Unseen(why.to_string())),
        };
        match client.probe().await {
            Ok(()) => Ok(Input::Taken),
            Err(why) => match why.remote().map(|remote| remote.http_status) {
                Some(401) => Ok(Input::Refused),
                // It knows who calls, and that this is not allowed.
                Some(403) => Ok(Input::Taken),
                Some(_) | None => Err(why.into()),
            },
        }
    }

    fn with_secret(&self, peer: &Peer) -> Result<(Transport, Address), Unseen> {
        let sealed = peer.secret.as_ref().ok_or_else(|| Unseen("the request's secret is gone".to_owned()))?;
        let secret = self.seal.unseal(sealed, &place("secret", &peer.id, ""));
        let secret = secret.map_err(|why| Unseen(why.to_string()))?;
        self.carrying(&secret, &peer.asked.url)
    }
}

/// What a peer allows, as far as it lies at its own origin.
fn granted(peer: &Peer, granted: friend::Granted) -> Granted {
    let friend::Granted { agents, verbs, expires_at } = granted;
    let here = |agent: &friend::Agent| Address::parse(&agent.url).is_ok_and(|at| is_at(&peer.origin, &at));
    let agents = agents.into_iter().filter(here).take(FRIEND_AGENTS);
    let agents = agents.map(|agent| GrantedAgent { name: short(&agent.name), url: agent.url }).collect();
    let verbs = verbs.iter().take(Verb::ALL.len()).map(|verb| short(verb)).collect();
    Granted { agents, verbs, expires_at }
}
