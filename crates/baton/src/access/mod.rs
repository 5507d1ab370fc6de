//! Who is calling: credentials to a [`Caller`]; and the node's own secrets.

mod client;
mod dev;
mod rate;
mod refusals;
mod seal;
mod token;

use std::net::IpAddr;
use std::sync::Arc;

use baton_core::ident::{AgentName, Owner};
use baton_store::{Access, Grant, Verb};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::clock::Clock;
use crate::service::Error;
pub use client::Proxies;
pub use dev::{DevGuard, Foreign};
pub use rate::{Addresses, Grants as GrantRates, TooOften};
pub use refusals::{Refusal, Refusals};
pub use seal::{Broken, Seal};
pub use token::Token;

/// The id of the grant that loopback has in dev mode.
pub const LOCAL: &str = "local";

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP client; its address, and whether that and ours are loopback.
    Tcp { from: IpAddr, loopback: bool },
    /// The node's own socket, from a process that may administer it.
    Operator,
    /// A unix socket listener; the transport says nothing of who it is.
    Unix,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client's address, whatever proxies stand in between.
    Address(IpAddr),
    /// The node's own socket.
    Socket,
    /// Another socket of this machine.
    Unix,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Socket => f.write_str("socket"),
            Self::Unix => f.write_str("unix"),
        }
    }
}

/// Somebody with a right to call, and what it extends to.
#[derive(Clone, Debug)]
pub struct Caller {
    pub owner: Owner,
    pub origin: Origin,
    rights: Rights,
}

#[derive(Clone, Debug)]
enum Rights {
    /// Every agent, every verb.
    Local,
    Grant(Arc<Grant>),
}

impl Caller {
    /// The built-in grant of dev mode.
    pub fn local() -> Self {
        Self { owner: Owner::new(LOCAL, ""), origin: Origin::Unix, rights: Rights::Local }
    }

    /// A holder of a grant. `subject` tells the users of one grant apart, as those of one issuer or certificate rule; it
    /// is empty where all of them are one, as with a token.
    pub fn holder(grant: Arc<Grant>, subject: Arc<str>) -> Self {
        let owner = Owner { grant: Arc::clone(&grant.id), subject };
        Self { owner, origin: Origin::Unix, rights: Rights::Grant(grant) }
    }

    pub fn allows(&self, verb: Verb) -> bool {
        match &self.rights {
            Rights::Local => true,
            Rights::Grant(grant) => grant.verbs.contains(&verb),
        }
    }

    pub fn reaches(&self, agent: &AgentName) -> bool {
        match &self.rights {
            Rights::Local => true,
            Rights::Grant(grant) => grant.agents.contains(agent),
        }
    }

    /// The grant; none for the built-in one.
    pub const fn of_grant(&self) -> Option<&Arc<Grant>> {
        match &self.rights {
            Rights::Local => None,
            Rights::Grant(grant) => Some(grant),
        }
    }

    /// Bytes that the body of a request may have, where the node takes `most`.
    pub fn body_limit(&self, most: usize) -> usize {
        let limit = self.of_grant().and_then(|grant| grant.limits.body);
        limit.map_or(most, |limit| most.min(usize::try_from(limit).unwrap_or(most)))
    }

    /// Whether this is a name of the caller's grant: its id or its label.
    pub fn is_named(&self, name: &str) -> bool {
        match &self.rights {
            Rights::Local => name == LOCAL,
            Rights::Grant(grant) => *grant.id == *name || grant.label == name,
        }
    }

    pub const fn is_local(&self) -> bool {
        matches!(self.rights, Rights::Local)
    }
}

/// Reads credentials.
#[derive(Clone)]
pub struct Authenticator {
    store: Arc<dyn baton_store::Store>,
    clock: Clock,
    /// The subject of those who have none.
    nobody: Arc<str>,
    dev: bool,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").field("dev", &self.dev).finish_non_exhaustive()
    }
}

impl Authenticator {
    pub fn new(store: Arc<dyn baton_store::Store>, clock: Clock, dev: bool) -> Self {
        Self { store, clock, nobody: "".into(), dev }
    }

    /// The caller behind a request; whether its grant takes calls is asked elsewhere. A token that is sent counts, in dev mode too: a wrong one is refused, not ignored.
    pub async fn caller(&self, peer: Peer, headers: &HeaderMap) -> Result<Caller, Error> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = sent.next() else {
            let local = self.dev && matches!(peer, Peer::Tcp { loopback: true, .. });
            return if local { Ok(Caller::local()) } else { Err(Error::Unauthenticated) };
        };
        if sent.next().is_some() {
            return Err(Error::Unauthenticated);
        }
        let token = value.to_str().ok().and_then(bearer).ok_or(Error::Unauthenticated)?;
        let (token, now) = (Token::parse(token).ok_or(Error::Unauthenticated)?, self.clock.now());
        let found = Access::find_credential(&*self.store, &token.digest(), now).await?;
        let grant = found.ok_or(Error::Unauthenticated)?;
        Ok(Caller::holder(grant, Arc::clone(&self.nobody)))
    }
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
