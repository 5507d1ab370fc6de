//! Who is calling: credentials to a [`Caller`]; and the node's own secrets.

mod dev;
mod seal;
mod token;

use std::sync::Arc;

use baton_core::ident::{AgentName, Owner};
use baton_store::{Access, Grant, Verb};
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::service::Error;
pub use dev::{DevGuard, Foreign};
pub use seal::{Broken, Seal};
pub use token::Token;

/// The id of the grant that loopback has in dev mode.
pub const LOCAL: &str = "local";

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP client; whether its address and ours are loopback.
    Tcp { loopback: bool },
    /// The node's own socket, from a process that may administer it.
    Operator,
    /// A unix socket listener; the transport says nothing of who it is.
    Unix,
}

/// Somebody with a right to call, and what it extends to.
#[derive(Clone, Debug)]
pub struct Caller {
    pub owner: Owner,
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
        Self { owner: Owner::new(LOCAL, ""), rights: Rights::Local }
    }

    fn grant(grant: Arc<Grant>) -> Self {
        Self {
            owner: Owner { grant: Arc::clone(&grant.id), subject: "".into() },
            rights: Rights::Grant(grant),
        }
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
    dev: bool,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").field("dev", &self.dev).finish_non_exhaustive()
    }
}

impl Authenticator {
    pub fn new(store: Arc<dyn baton_store::Store>, dev: bool) -> Self {
        Self { store, dev }
    }

    /// The caller behind a request. A token that is sent counts, in dev mode too: a wrong one is refused, not ignored.
    pub async fn caller(&self, peer: Peer, headers: &HeaderMap) -> Result<Caller, Error> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = sent.next() else {
            let local = self.dev && peer == Peer::Tcp { loopback: true };
            return if local { Ok(Caller::local()) } else { Err(Error::Unauthenticated) };
        };
        if sent.next().is_some() {
            return Err(Error::Unauthenticated);
        }
        let token = value.to_str().ok().and_then(bearer).ok_or(Error::Unauthenticated)?;
        let grant = self.find(token).await?.ok_or(Error::Unauthenticated)?;
        Ok(Caller::grant(grant))
    }

    async fn find(&self, token: &str) -> Result<Option<Arc<Grant>>, Error> {
        let Some(token) = Token::parse(token) else { return Ok(None) };
        Ok(Access::find_credential(&*self.store, &token.digest()).await?)
    }
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
