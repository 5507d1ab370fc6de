//! The verbs that concern clients of OAuth: those that registered themselves, and what an operator allowed them.
//!
//! An approval is what an operator allowed one client: a grant, for one resource, with some of its verbs. It begins with a
//! code that the client turns into tokens once, and lasts as long as its refresh tokens do and its grant does. What is over
//! is deleted; the audit log tells of it.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::limits::{OAUTH_AGAIN_WITHIN, OAUTH_IDLE};
use baton_core::time::Timestamp;

use crate::{AccessToken, Actor, Error, NewGrant, Verb};

/// A client that registered itself (RFC 7591). That gives it nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub id: String,
    /// As it calls itself.
    pub name: String,
    /// Where it may be sent to with a code.
    pub redirects: Vec<String>,
    /// What it is counted by.
    pub origin: String,
    pub created_at: Timestamp,
    /// When an operator last allowed it something.
    pub used_at: Option<Timestamp>,
}

/// What an operator allowed one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// A UUID; later ones are larger.
    pub id: Arc<str>,
    pub grant: Arc<str>,
    /// Whether the grant was made with it.
    pub made_grant: bool,
    /// Its id: of a registration, or the URL of its metadata.
    pub client: String,
    /// As it calls itself.
    pub name: String,
    /// Where its code was sent.
    pub redirect: String,
    /// What its tokens are for: a path below the node's own URL.
    pub resource: Arc<str>,
    /// Which of the grant's verbs they are for.
    pub verbs: Vec<Verb>,
    /// SHA-256 of the code. It is kept, so that whoever brings it again is found out.
    pub code: [u8; 32],
    pub state: ApprovalState,
    /// From then on it is over.
    pub until: Timestamp,
    pub created_at: Timestamp,
    /// Who allowed it, by name.
    pub created_by: String,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalState {
    /// The client has the code, and proves with what has this SHA-256 that it asked for it (RFC 7636).
    Coded { challenge: [u8; 32] },
    /// The client has tokens.
    Open(Turn),
}

/// The refresh tokens of an approval. Each has a half that they share and one of its own, so that a token that is over is
/// known as one of them, however many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// SHA-256 of the half that they share.
    pub family: [u8; 32],
    /// SHA-256 of the one that is good.
    pub refresh: [u8; 32],
    /// SHA-256 of the one before it.
    pub before: Option<[u8; 32]>,
    /// When the one that is good took the place of the one before it.
    pub turned_at: Timestamp,
}

/// Why an approval ends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foul {
    /// Its code came with something that is not right, or too late.
    Code,
    /// Its code came again.
    CodeAgain,
    /// A refresh token came again whose place another has taken.
    RefreshAgain,
}

impl Foul {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "its code was brought too late, or with something wrong",
            Self::CodeAgain => "its code was brought again: somebody else may have it",
            Self::RefreshAgain => "a refresh token was brought again: somebody else may have it",
        }
    }
}

impl Approval {
    /// What becomes of it when its code is brought; `proven` where all that must come with the code was right. A code is
    /// good for one try, whatever comes of that.
    pub fn redeem(&self, first: Refresh, proven: bool, now: Timestamp) -> Result<Self, Foul> {
        match self.state {
            ApprovalState::Open(_) => Err(Foul::CodeAgain),
            ApprovalState::Coded { .. } if !proven || self.until <= now => Err(Foul::Code),
            ApprovalState::Coded { .. } => {
                let Refresh { family, refresh } = first;
                Ok(self.turned(Turn { family, refresh, before: None, turned_at: now }, now))
            }
        }
    }

    /// What becomes of it when a refresh token of its family is brought, in return for the next one. The one before the last
    /// is taken for a moment where the last was not used: what was answered may be lost. The last is over then, and whoever
    /// has it is found out.
    pub fn refresh(&self, brought: [u8; 32], next: [u8; 32], now: Timestamp) -> Result<Self, Foul> {
        let ApprovalState::Open(turn) = self.state else { return Err(Foul::RefreshAgain) };
        let in_time = now < turn.turned_at.after(OAUTH_AGAIN_WITHIN);
        let turn = if brought == turn.refresh {
            Turn { refresh: next, before: Some(brought), turned_at: now, ..turn }
        } else if turn.before == Some(brought) && in_time {
            Turn { refresh: next, ..turn }
        } else {
            return Err(Foul::RefreshAgain);
        };
        Ok(self.turned(turn, now))
    }

    fn turned(&self, turn: Turn, now: Timestamp) -> Self {
        Self { state: ApprovalState::Open(turn), until: now.after(OAUTH_IDLE), ..self.clone() }
    }
}

/// Something to be allowed.
#[derive(Clone, Debug)]
pub struct NewApproval {
    pub id: String,
    pub grant: GrantOf,
    pub client: String,
    pub name: String,
    pub redirect: String,
    pub resource: String,
    pub verbs: Vec<Verb>,
    pub code: [u8; 32],
    pub challenge: [u8; 32],
    /// The end of the code.
    pub until: Timestamp,
    pub by: Actor,
    pub now: Timestamp,
}

/// The grant of an approval.
#[derive(Clone, Debug)]
pub enum GrantOf {
    /// It is made with it.
    New(Box<NewGrant>),
    /// One that there is, by its id.
    Known(String),
}

/// By what an approval is found.
#[derive(Clone, Debug)]
pub enum ApprovalKey {
    Id(String),
    /// SHA-256 of its code.
    Code([u8; 32]),
    /// SHA-256 of the half that its refresh tokens share.
    Family([u8; 32]),
}

/// A refresh token, without the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    pub family: [u8; 32],
    pub refresh: [u8; 32],
}

/// What a client brings in return for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// A code; `proven` where what came with it was right.
    Code { code: [u8; 32], proven: bool },
    /// A refresh token.
    Refresh(Refresh),
}

/// Tokens for what is brought.
#[derive(Clone, Debug)]
pub struct Redeem {
    pub brought: Brought,
    /// The refresh token that is given. With a refresh token its family is the same.
    pub next: Refresh,
    /// The access token that is given. What it is tied to is filled in.
    pub token: AccessToken,
    /// What it is for, which is no more than the approval is for.
    pub resource: Arc<str>,
    /// Where the client is.
    pub origin: String,
    pub now: Timestamp,
}

/// Registrations, and what operators allowed clients. What operators do is told to the audit log with it, and so is every
/// end; tokens are not told one by one.
#[async_trait]
pub trait Approvals: Send + Sync + 'static {
    /// Keeps a registration; false where there are as many as there may be, and all of them in use.
    async fn register_client(&self, new: Registration) -> Result<bool, Error>;

    async fn find_client(&self, id: &str) -> Result<Option<Registration>, Error>;

    /// Deletes registrations by which nobody is signed in: those that were never used and are older than `unused`, and those
    /// that were used last before `used`; answers of how many, at most `most`.
    async fn prune_clients(&self, unused: Timestamp, used: Timestamp, most: usize) -> Result<usize, Error>;

    /// Allows a client something, and makes its grant where that is asked for.
    async fn create_approval(&self, new: NewApproval) -> Result<Approval, Error>;

    async fn find_approval(&self, key: ApprovalKey) -> Result<Option<Approval>, Error>;

    /// All of them, or those of a grant, the newest first.
    async fn list_approvals(&self, grant: Option<&str>) -> Result<Vec<Approval>, Error>;

    /// Gives tokens in return for what is brought; none where it is not good. What is foul about it ends the approval, with
    /// its tokens.
    async fn redeem(&self, redeem: Redeem) -> Result<Option<Approval>, Error>;

    /// Ends an approval with its tokens; its grant goes on.
    async fn end_approval(&self, id: &str, by: &Actor, now: Timestamp) -> Result<Approval, Error>;

    /// Ends approvals whose time is over, and the grants that were made for those that came to nothing and that have no
    /// other use; answers of how many, at most `most`.
    async fn lapse_approvals(&self, now: Timestamp, most: usize) -> Result<usize, Error>;
}
