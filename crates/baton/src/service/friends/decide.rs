//! What the operator decides: approve, with what was asked for or less; or deny.

use std::sync::Arc;

use baton_core::friend::{self, Input};
use baton_store::{Actor, FriendRequest, Grant, NewGrant, Verb};
use tracing::info;

use super::super::grants::{Draft, WantedGrant, WantedLimits};
use super::super::{Error, Service};
use super::code;
use crate::clock::new_id;
use crate::net::dialer::Target;

/// What an approval allows; what is not said is what was asked for.
#[derive(Clone, Debug, Default)]
pub struct Narrowed {
    pub label: Option<String>,
    pub agents: Option<Vec<String>>,
    /// Where they are not said, `work` is not among them, whoever asked for it.
    pub verbs: Option<Vec<String>>,
    pub limits: WantedLimits,
    pub expires: Option<String>,
    /// The code that the other side showed.
    pub code: Option<String>,
}

/// A request and the grant that came of it.
#[derive(Clone, Debug)]
pub struct Approved {
    pub request: FriendRequest,
    pub grant: Arc<Grant>,
}

impl Service {
    /// What an approval would make. Nothing is made.
    pub async fn draft_friend(&self, id: &str, narrowed: Narrowed) -> Result<Draft, Error> {
        let request = self.load_friend(id).await?;
        friend::step(request.state, Input::Approved, self.now()).map_err(baton_store::Error::from)?;
        let Narrowed { label, agents, verbs, limits, expires, code } = narrowed;
        if code.is_some_and(|typed| !code::is_same(&request.code, &typed)) {
            return Err(Error::invalid(
                "code",
                "is not the code of this request: whoever showed it to you did not send this one",
            ));
        }
        let label = label.unwrap_or_else(|| label_of(&request.wish.card_url));
        let asked = &request.wish;
        let agents = agents.unwrap_or_else(|| asked.agents.iter().map(ToString::to_string).collect());
        let verbs = verbs.map_or_else(|| unasked_for_work(&asked.verbs), Ok)?;
        let draft = self.draft_grant(WantedGrant { label, agents, verbs, limits, expires })?;
        for (at, agent) in draft.agents.iter().enumerate() {
            if !asked.agents.contains(agent) {
                return Err(wider(&format!("agents[{at}]"), agent.as_str()));
            }
        }
        for (at, verb) in draft.verbs.iter().enumerate() {
            if !asked.verbs.contains(verb) {
                return Err(wider(&format!("verbs[{at}]"), verb.as_str()));
            }
        }
        Ok(draft)
    }

    /// Makes the grant. Its credential is the friend's to pick up; nobody else sees it.
    pub async fn approve_friend(&self, id: &str, narrowed: Narrowed, by: &Actor) -> Result<Approved, Error> {
        let Draft { label, agents, verbs, limits, expires_at } = self.draft_friend(id, narrowed).await?;
        let grant = NewGrant {
            id: new_id().to_string(),
            label,
            agents,
            verbs,
            limits,
            expires_at,
            credential: None,
            by: by.clone(),
            now: self.now(),
        };
        let request = self.store.approve_friend_request(id, grant).await.map_err(not_found)?;
        let record = self.grant_of(&request).await?;
        let record =
            record.ok_or_else(|| Error::Internal(format!("the friend request {id} has no grant")))?;
        info!(friend_request.id = id, grant.id = %record.grant.id, "friend request approved");
        Ok(Approved { request, grant: record.grant })
    }

    pub async fn deny_friend(&self, id: &str, by: &Actor) -> Result<FriendRequest, Error> {
        let request = self.store.deny_friend_request(id, by, self.now()).await.map_err(not_found)?;
        info!(friend_request.id = id, "friend request denied");
        Ok(request)
    }
}

pub(super) fn not_found(why: baton_store::Error) -> Error {
    match why {
        baton_store::Error::NotFound => Error::FriendRequestNotFound,
        other => other.into(),
    }
}

/// All that was asked for but `work`: who may finish everybody's tasks is named by the one who allows it.
fn unasked_for_work(asked: &[Verb]) -> Result<Vec<String>, Error> {
    let rest = asked.iter().filter(|verb| **verb != Verb::Work);
    let rest: Vec<String> = rest.map(|verb| verb.as_str().to_owned()).collect();
    if rest.is_empty() {
        let what = "only `work` is asked for, which hands everybody's tasks over: name it here to allow it";
        return Err(Error::invalid("verbs", what));
    }
    Ok(rest)
}

fn wider(field: &str, what: &str) -> Error {
    let what = format!(
        "`{what}` was not asked for; an approval allows what was asked for or less (`baton grants create` makes other grants)"
    );
    Error::invalid(field, what)
}

/// Bytes of a card's host in a label.
const HOST: usize = 150;

/// What a grant is called where the operator says nothing: where its friend's card is, as the network spells it. Never the
/// friend's own word, since a label can be a caller's name.
pub fn label_of(card_url: &str) -> String {
    let origin = Target::parse(card_url).map(|target| target.origin()).unwrap_or_default();
    let host = origin.split("://").nth(1).unwrap_or("unknown");
    format!("friend {}", &host[..host.floor_char_boundary(HOST)])
}
