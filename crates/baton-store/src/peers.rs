//! The verbs that concern peers: agents elsewhere that this node asked for a grant, and the credentials that it was given.

use async_trait::async_trait;
use baton_core::friend::peer::State;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Actor, Error, Mark};

/// An agent elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// A UUID; later ones are larger.
    pub id: String,
    /// As its card calls it.
    pub name: String,
    /// Scheme, host and port: the credential is for this place and no other.
    pub origin: String,
    /// Where its card was, and by what it is recognised.
    pub card_url: String,
    pub mark: Mark,
    pub asked: Asked,
    pub state: State,
    /// The request's secret, sealed; none once it is of no more use.
    pub secret: Option<Vec<u8>>,
    /// The token, sealed.
    pub credential: Option<Vec<u8>>,
    /// What the other side allows.
    pub granted: Option<Granted>,
    /// What the last look that came to nothing brought.
    pub problem: Option<String>,
    pub created_at: Timestamp,
    pub created_by: String,
    pub changed_at: Timestamp,
}

/// What it was asked for, and by what name the other side knows that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The URL of the request.
    pub url: String,
    pub code: String,
    /// The card that was shown.
    pub as_card: String,
    pub agents: Vec<AgentName>,
    /// As the other side names them.
    pub verbs: Vec<String>,
    pub why: String,
}

/// What the other side said of its grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    pub agents: Vec<GrantedAgent>,
    pub verbs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// One agent, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedAgent {
    pub name: String,
    pub url: String,
}

/// What a look at a peer changes, all at once.
#[derive(Clone, Debug)]
pub struct PeerChange {
    pub state: State,
    /// What came with a pick-up: the sealed token, and what it is good for.
    pub picked: Option<(Vec<u8>, Granted)>,
    pub problem: Option<String>,
}

/// Peers. What an operator or the node does to one is told to the audit log with it; a look that brought nothing is not.
#[async_trait]
pub trait Peers: Send + Sync + 'static {
    async fn create_peer(&self, peer: Peer, by: &Actor) -> Result<(), Error>;

    async fn find_peer(&self, id: &str) -> Result<Option<Peer>, Error>;

    /// All, newest first.
    async fn list_peers(&self) -> Result<Vec<Peer>, Error>;

    /// Changes a peer that nobody else has changed since it was read as `before`; else answers it as it is.
    async fn change_peer(
        &self,
        before: &Peer,
        change: PeerChange,
        (by, now): (&Actor, Timestamp),
    ) -> Result<Peer, Error>;

    /// Forgets a peer and its credential.
    async fn delete_peer(&self, id: &str, by: &Actor, now: Timestamp) -> Result<(), Error>;

    /// Peers that are to be looked at by `now`, those that waited longest first.
    async fn due_peers(&self, now: Timestamp, most: usize) -> Result<Vec<Peer>, Error>;
}
