//! The store: the only crate that knows SQL.
//!
//! It is a few traits of domain verbs. A verb is a whole transaction; when it answers, what it did is on disk. The
//! traits say nothing of a database: [`sqlite`] is the embedded one, [`postgres`] the one that nodes share, and every
//! backend passes the same conformance suite (`tests/it/conformance`).

mod access;
mod approvals;
mod audit;
mod copy;
pub mod crash;
mod delivery;
mod error;
mod friends;
mod hold;
mod meta;
mod needs;
mod peers;
pub mod postgres;
pub mod sqlite;
mod stored;
mod tasks;

pub use access::{
    Access, AccessToken, Barred, Bound, Credential, Grant, GrantChange, GrantLimits, GrantRecord, GrantState,
    LOCAL, NewCredential, NewGrant, Opened, Per, Rate, Usage, Verb, Withdrawn,
};
pub use approvals::{
    Approval, ApprovalKey, ApprovalState, Approvals, Brought, Foul, GrantOf, NewApproval, Redeem, Refresh,
    Registration, Turn,
};
pub use audit::{Actor, Audit, AuditQuery, AuditReport, AuditRow, Broken, NewAudit, Walk, chained};
pub use copy::{Copied, copy};
pub use delivery::{
    DeliveriesQuery, Delivery, DeliveryAttempt, Due, Edition, NewPush, Owed, PushConfig, Settle,
};
pub use error::{Error, OpenError};
pub use friends::{
    Change, Decision, Found, FriendRequest, Friends, FriendsQuery, Look, Mark, NewFriendRequest, Provenance,
    Seen, Signature, Standing, Verdict, Wish, friend_state,
};
pub use hold::{Held, Hold, Holds, NODE};
pub use meta::Meta;
pub use needs::{Attend, Attention, COUNTED, Needs, NeedsCounts};
pub use peers::{Asked, Granted, GrantedAgent, Peer, PeerChange, Peers};
pub use tasks::{
    Applied, AttemptEnd, AttemptRecord, Budget, By, Claim, Claimed, Committed, Content, Create, Elsewhere,
    HeldBack, Idempotency, Known, ListAllQuery, ListQuery, Observer, Op, Page, Position, Retire, Status,
    Tasks, worker,
};

/// Everything that a node keeps.
pub trait Store:
    Tasks + Access + Delivery + Audit + Holds + Friends + Peers + Attention + Approvals + Meta
{
}

impl<S: Tasks + Access + Delivery + Audit + Holds + Friends + Peers + Attention + Approvals + Meta> Store
    for S
{
}
