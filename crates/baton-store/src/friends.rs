//! The verbs that concern strangers: friend requests, what was found of those who sent them, and the grants that come of
//! them.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::friend::State;
use baton_core::ident::AgentName;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Actor, Error, NewCredential, NewGrant, Verb};

/// A stranger's request for a grant.
#[derive(Clone, Debug)]
pub struct FriendRequest {
    /// A UUID; later ones are larger.
    pub id: String,
    /// SHA-256 of the secret that only the requester has.
    pub secret: [u8; 32],
    /// What both sides compare.
    pub code: String,
    /// The address that it is counted by.
    pub origin: String,
    pub wish: Wish,
    /// Sealed.
    pub id_token: Option<Vec<u8>>,
    pub state: State,
    pub created_at: Timestamp,
    pub decided: Option<Decision>,
    pub picked_at: Option<Timestamp>,
    /// What an approval made.
    pub grant: Option<Arc<str>>,
    /// SHA-256 of the token that was picked up last.
    pub token: Option<[u8; 32]>,
    /// The newest look at who asks.
    pub look: Option<Look>,
}

/// What is asked for, by whom, and why: the stranger's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub card_url: String,
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub why: String,
}

/// When a request was approved or denied, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub at: Timestamp,
    pub by: String,
}

/// What the node found at the URL of a requester's card, and when.
#[derive(Clone, Debug)]
pub struct Look {
    pub at: Timestamp,
    pub verdict: Verdict,
    /// As it was found.
    pub card: Option<Json>,
}

impl Look {
    /// The card's mark at the first look at the request.
    pub const fn first(&self) -> Option<&Mark> {
        match &self.verdict.found {
            Found::Card(seen) => Some(&seen.first),
            Found::Nothing(_) => None,
        }
    }

    /// As it is to be kept after another one. Two that began at once know nothing of each other: the first mark is that of
    /// the one that was kept first.
    #[must_use]
    pub fn after(mut self, before: Option<&Self>) -> Self {
        if let (Found::Card(seen), Some(first)) = (&mut self.verdict.found, before.and_then(Self::first)) {
            if let (Standing::New, Some(what)) = (&seen.standing, first.compare(&seen.mark)) {
                seen.standing = Standing::Changed { since: first.at, what };
            }
            seen.first = first.clone();
        }
        self
    }
}

/// What it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub found: Found,
    /// Where an ID token came with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    Card(Seen),
    /// No card; why.
    Nothing(String),
}

/// A card that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// As it calls itself.
    pub name: String,
    /// Whether one of its interfaces is at the origin that it came from.
    pub at_home: bool,
    pub signature: Signature,
    pub standing: Standing,
    pub mark: Mark,
    /// Of the first look at this request.
    pub first: Mark,
}

/// By what a card is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    pub at: Timestamp,
    /// SHA-256 of its canonical form, in hexadecimal.
    pub digest: String,
    /// The fingerprint (RFC 7638) of the key that signed it, where that is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Signature {
    Unsigned,
    /// There is one that proves nothing; why.
    Unproven(String),
    /// By a key that the card's own origin publishes. Its name, where it has one.
    Proven(Option<String>),
}

/// How a card stands to what was seen of it before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// Nothing of it was known.
    New,
    /// The same as when a friend was made of it, at that time.
    Pinned(Timestamp),
    /// Not what it was at that time.
    Changed { since: Timestamp, what: Change },
}

/// What of a card is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It was signed with another key.
    Key,
    /// It was signed, and is not.
    Unsigned,
    /// It is not signed, and says something else.
    Content,
}

impl Mark {
    /// What became of a card since this mark was made. A key vouches for whatever it signs.
    pub fn compare(&self, now: &Self) -> Option<Change> {
        match (&self.key, &now.key) {
            (Some(before), Some(key)) => (before != key).then_some(Change::Key),
            (Some(_), None) => Some(Change::Unsigned),
            (None, _) => (self.digest != now.digest).then_some(Change::Content),
        }
    }
}

/// What an ID token says of who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Provenance {
    /// It was checked: whom its issuer vouches for.
    Proven { issuer: String, subject: String },
    /// It proves nothing; why.
    Unproven(String),
}

/// A request that has come.
#[derive(Clone, Debug)]
pub struct NewFriendRequest {
    pub id: String,
    pub secret: [u8; 32],
    pub code: String,
    pub wish: Wish,
    pub id_token: Option<Vec<u8>>,
    /// Who asks; the origin is what it is counted by.
    pub by: Actor,
    pub now: Timestamp,
}

/// Which requests to list, the newest first.
#[derive(Clone, Debug, Default)]
pub struct FriendsQuery {
    /// `pending`, `approved`, `denied` or `expired`, as of `now`.
    pub state: Option<&'static str>,
    pub now: Timestamp,
    /// Those before this id.
    pub before: Option<String>,
    /// At least 1.
    pub size: usize,
}

/// The name of a state.
pub const fn friend_state(state: State) -> &'static str {
    match state {
        State::Pending { .. } => "pending",
        State::Approved { .. } => "approved",
        State::Denied => "denied",
        State::Expired => "expired",
    }
}

/// Friend requests. Every change is told to the audit log with it.
#[async_trait]
pub trait Friends: Send + Sync + 'static {
    /// Takes a request in, where there is room for it.
    async fn create_friend_request(&self, new: NewFriendRequest) -> Result<FriendRequest, Error>;

    async fn find_friend_request(&self, id: &str) -> Result<Option<FriendRequest>, Error>;

    /// Without the documents of their cards.
    async fn list_friend_requests(&self, query: FriendsQuery) -> Result<Vec<FriendRequest>, Error>;

    /// How many wait for the operator.
    async fn count_pending(&self, now: Timestamp) -> Result<usize, Error>;

    /// Keeps what was found of who asks, instead of what was found before; of a request that is decided by then, nothing.
    async fn keep_look(&self, id: &str, look: Look, by: &Actor) -> Result<FriendRequest, Error>;

    /// Approves a request, and makes its grant.
    async fn approve_friend_request(&self, id: &str, grant: NewGrant) -> Result<FriendRequest, Error>;

    async fn deny_friend_request(&self, id: &str, by: &Actor, now: Timestamp)
    -> Result<FriendRequest, Error>;

    /// Gives the grant of an approved request this credential, and takes the one of the pick-up before it away, where nobody
    /// has used it.
    async fn pick_up(
        &self,
        id: &str,
        credential: NewCredential,
        (by, now): (&Actor, Timestamp),
    ) -> Result<FriendRequest, Error>;

    /// The mark of the card at this URL when the last friend was made of it, by us or by them.
    async fn find_pin(&self, card_url: &str) -> Result<Option<Mark>, Error>;

    /// Ends requests whose time is over, and the grants that nobody came for and that have no other credential; answers of how many, at most `most`.
    async fn expire_friend_requests(&self, now: Timestamp, most: usize) -> Result<usize, Error>;

    /// Deletes requests that came to nothing and ended before `before`; answers of how many, at most `most`.
    async fn prune_friend_requests(&self, before: Timestamp, most: usize) -> Result<usize, Error>;
}
