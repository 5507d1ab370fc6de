//! What strangers may do: ask, look what became of it, and pick the credential up.

use std::sync::Arc;

use baton_core::ident::AgentName;
use baton_core::limits::{FRIEND_AGENTS, FRIEND_ID_TOKEN_BYTES, FRIEND_WHY_BYTES};
use baton_store::{Actor, FriendRequest, Grant, Hold, NewFriendRequest, Verb, Wish};
use tracing::info;

use super::super::grants::{credential, known_verb};
use super::super::{Error, Service};
use super::code;
use crate::access::{ANONYMOUS, Origin, Refusal, Ticket, Token};
use crate::clock::new_id;
use crate::net::dialer::Target;

/// A request as a stranger writes it.
#[derive(Clone, Debug)]
pub struct WantedFriend {
    pub card_url: String,
    pub agents: Vec<String>,
    pub verbs: Vec<String>,
    pub why: String,
    pub id_token: Option<String>,
}

/// What comes of a pick-up; the token is to be had here and never again.
#[derive(Clone, Debug)]
pub struct PickedUp {
    pub request: FriendRequest,
    pub grant: Arc<Grant>,
    pub token: Token,
}

impl Service {
    /// Where strangers ask.
    pub fn friends_url(&self) -> String {
        self.site.friends_url()
    }

    /// Takes a request in; the secret is to be had here and never again. An agent that is not published and one that is not
    /// there are the same.
    pub async fn ask_friend(
        &self,
        wanted: WantedFriend,
        origin: Origin,
    ) -> Result<(FriendRequest, Ticket), Error> {
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        if self.controls.holds(&Hold::FreezeNode) {
            return Err(Error::Frozen(
                "the operator has frozen this node: it takes no friend requests for now",
            ));
        }
        let WantedFriend { card_url, agents, verbs, why, id_token } = wanted;
        // Its text only: nothing is resolved, nothing is fetched.
        Target::parse(&card_url).map_err(|why| Error::invalid("cardUrl", why.to_string()))?;
        let wish =
            Wish { card_url, agents: read_agents(&agents)?, verbs: read_verbs(&verbs)?, why: read_why(why)? };
        id_token.as_deref().map_or(Ok(()), check_id_token)?;
        if !wish.agents.iter().all(|name| self.is_discoverable(name)) {
            return Err(Error::AgentNotFound);
        }
        let (id, ticket) = (new_id().to_string(), Ticket::random());
        let spelled: Vec<&str> = wish.verbs.iter().map(|verb| verb.as_str()).collect();
        let terms = code::Terms {
            url: &self.friends_url(),
            card_url: &wish.card_url,
            agents: &wish.agents,
            verbs: &spelled,
            why: &wish.why,
        };
        let code = code::of(&id, &ticket.digest(), terms);
        let id_token = id_token.map(|token| self.seal.seal(token.as_bytes(), &place(&id)));
        let by = Actor::new(ANONYMOUS, origin.counted());
        let new = NewFriendRequest {
            id,
            secret: ticket.digest(),
            code,
            wish,
            id_token,
            by: by.clone(),
            now: self.now(),
        };
        match self.store.create_friend_request(new).await {
            Ok(request) => {
                info!(friend_request.id = %request.id, "a stranger asks for a grant");
                Ok((request, ticket))
            }
            Err(why) => {
                if matches!(why, baton_store::Error::Friend(_)) {
                    self.note_refused_friend(by.origin, "friend.ask", "there are too many friend requests");
                }
                Err(why.into())
            }
        }
    }

    /// The request that this ticket opens. One that is not there and one that is another's take the same way.
    pub async fn open_friend(&self, id: &str, ticket: Option<&Ticket>) -> Result<FriendRequest, Error> {
        let found = self.store.find_friend_request(id).await?;
        let secret = found.as_ref().map_or([0; 32], |request| request.secret);
        let opens = ticket.is_some_and(|ticket| ticket.opens(&secret));
        found.filter(|_| opens).ok_or(Error::FriendRequestNotFound)
    }

    /// A token for the friend. The one of the pick-up before is void, so that an answer may be lost; once one was used, that
    /// is the one.
    pub async fn pick_up_friend(
        &self,
        id: &str,
        ticket: Option<&Ticket>,
        origin: Origin,
    ) -> Result<PickedUp, Error> {
        self.open_friend(id, ticket).await?;
        let token = Token::random();
        let by = Actor::new(ANONYMOUS, origin.counted());
        let request = self.store.pick_up(id, credential(&token), (&by, self.now())).await?;
        let record = self.grant_of(&request).await?;
        let record =
            record.ok_or_else(|| Error::Internal(format!("the friend request {id} has no grant")))?;
        info!(friend_request.id = id, grant.id = %record.grant.id, "a friend picked its credential up");
        Ok(PickedUp { request, grant: record.grant, token })
    }

    /// Counts that somebody was refused who has no credentials.
    pub fn note_refused_friend(&self, origin: String, action: &'static str, reason: &'static str) {
        let who = ANONYMOUS.to_owned();
        let refusal = Refusal { who, origin, action, target: String::new(), reason };
        self.refusals.note(refusal, self.now());
    }

    /// Whether strangers may know of an agent.
    fn is_discoverable(&self, name: &AgentName) -> bool {
        self.agents.find(name).is_some_and(|agent| agent.settings.publish)
    }
}

/// What a sealed ID token belongs to.
pub(super) fn place(id: &str) -> Vec<u8> {
    [&b"friend-request"[..], id.as_bytes()].concat()
}

pub(in crate::service) fn read_agents(agents: &[String]) -> Result<Vec<AgentName>, Error> {
    if agents.is_empty() || agents.len() > FRIEND_AGENTS {
        return Err(Error::invalid("agents", format!("names 1 to {FRIEND_AGENTS} agents")));
    }
    let mut names = Vec::with_capacity(agents.len());
    for (at, agent) in agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        let name = AgentName::parse(agent).map_err(|why| Error::invalid(&field, why.to_string()))?;
        if names.contains(&name) {
            return Err(Error::invalid(&field, "is named twice"));
        }
        names.push(name);
    }
    Ok(names)
}

pub(in crate::service) fn read_verbs(verbs: &[String]) -> Result<Vec<Verb>, Error> {
    if verbs.is_empty() || verbs.len() > Verb::ALL.len() {
        return Err(Error::invalid("verbs", format!("names 1 to {} verbs", Verb::ALL.len())));
    }
    let mut known = Vec::with_capacity(verbs.len());
    for (at, verb) in verbs.iter().enumerate() {
        let field = format!("verbs[{at}]");
        let verb = known_verb(verb).map_err(|what| Error::invalid(&field, what))?;
        if known.contains(&verb) {
            return Err(Error::invalid(&field, "is named twice"));
        }
        known.push(verb);
    }
    Ok(known)
}

fn read_why(why: String) -> Result<String, Error> {
    if why.trim().is_empty() || why.len() > FRIEND_WHY_BYTES {
        return Err(Error::invalid(
            "why",
            format!("says in 1 to {FRIEND_WHY_BYTES} bytes what the grant is for"),
        ));
    }
    Ok(why)
}

/// Its form only: three parts of base64url. What it is worth is looked at with the card.
fn check_id_token(token: &str) -> Result<(), Error> {
    let plain = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let parts: Vec<&str> = token.split('.').collect();
    if token.len() > FRIEND_ID_TOKEN_BYTES || parts.len() != 3 || !parts.into_iter().all(plain) {
        let what = format!(
            "is a signed JWT of at most {FRIEND_ID_TOKEN_BYTES} bytes: three parts with dots between them"
        );
        return Err(Error::invalid("idToken", what));
    }
    Ok(())
}
