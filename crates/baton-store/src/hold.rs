//! The verbs that concern what an operator holds back: intake that is frozen, work that is paused. It stays so until the
//! operator says otherwise, whatever becomes of the node.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;

use crate::{Actor, Error};

/// One thing that is held back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// The node takes no message from anybody.
    FreezeNode,
    /// No message is taken by this grant.
    FreezeGrant(Arc<str>),
    /// Nothing is claimed.
    PauseNode,
    /// Nothing is claimed for this agent.
    PauseAgent(AgentName),
}

/// What is held back, since when, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub hold: Hold,
    pub since: Timestamp,
    pub by: String,
}

impl Hold {
    /// As the audit log names it when it begins, and when it ends.
    pub const fn action(&self, begins: bool) -> &'static str {
        match (self, begins) {
            (Self::FreezeNode, true) => "node.freeze",
            (Self::FreezeNode, false) => "node.unfreeze",
            (Self::FreezeGrant(_), true) => "grant.freeze",
            (Self::FreezeGrant(_), false) => "grant.unfreeze",
            (Self::PauseNode, true) => "node.pause",
            (Self::PauseNode, false) => "node.resume",
            (Self::PauseAgent(_), true) => "agent.pause",
            (Self::PauseAgent(_), false) => "agent.resume",
        }
    }

    /// What it is about: a grant's id, an agent's name, or the node.
    pub fn target(&self) -> &str {
        match self {
            Self::FreezeNode | Self::PauseNode => NODE,
            Self::FreezeGrant(id) => id,
            Self::PauseAgent(name) => name.as_str(),
        }
    }
}

/// The target of what is about the node.
pub const NODE: &str = "node";

/// What is held back.
#[async_trait]
pub trait Holds: Send + Sync + 'static {
    /// Begins to hold something back, or ends it. Answers whether that changed anything; what did is in the audit log.
    /// `by`: who says so, and when.
    async fn hold(&self, hold: Hold, begins: bool, by: (&Actor, Timestamp)) -> Result<bool, Error>;

    /// All of it, in the order of [`Hold`].
    async fn list_holds(&self) -> Result<Vec<Held>, Error>;
}
