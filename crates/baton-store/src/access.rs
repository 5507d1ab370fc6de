//! The verbs that concern who may call: grants and their credentials.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;

/// What a grant lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    Send,
    Read,
    Cancel,
    Push,
    Work,
    ExtendedCard,
}

impl Verb {
    pub const ALL: [Self; 6] =
        [Self::Send, Self::Read, Self::Cancel, Self::Push, Self::Work, Self::ExtendedCard];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Read => "read",
            Self::Cancel => "cancel",
            Self::Push => "push",
            Self::Work => "work",
            Self::ExtendedCard => "extended-card",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}

/// A credentialed, scoped, revocable right to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: Arc<str>,
    pub label: String,
    /// Empty means nothing.
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub created_at: Timestamp,
    pub state: GrantState,
    /// The first characters of its tokens, for people.
    pub hints: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    Active,
    Revoked { at: Timestamp },
}

/// A grant to be made.
#[derive(Clone, Debug)]
pub struct NewGrant {
    pub id: String,
    pub label: String,
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub credential: NewCredential,
    /// Who made it, for the audit log.
    pub actor: String,
    pub now: Timestamp,
}

/// A token, without the token.
#[derive(Clone, Debug)]
pub struct NewCredential {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Its first characters.
    pub hint: String,
}

/// Grants and credentials.
#[async_trait]
pub trait Access: Send + Sync + 'static {
    async fn create_grant(&self, new: NewGrant) -> Result<Arc<Grant>, Error>;

    /// All grants, newest first.
    async fn list_grants(&self) -> Result<Vec<Arc<Grant>>, Error>;

    /// Ends a grant and its credentials; answers it as it is then. A second time changes nothing.
    async fn revoke_grant(&self, id: &str, actor: &str, now: Timestamp) -> Result<Arc<Grant>, Error>;

    /// The active grant that a token's SHA-256 belongs to.
    async fn find_credential(&self, digest: &[u8; 32]) -> Result<Option<Arc<Grant>>, Error>;
}
