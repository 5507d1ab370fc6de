//! Who is calling, before anything of the request is read.

use axum::extract::ConnectInfo;
use baton_core::ident::AgentName;
use http::request::Parts;
use http::{Extensions, HeaderMap, Uri};

use crate::access::{Authenticator, Caller, DevGuard, Peer};
use crate::net::PeerInfo;
use crate::service::{Error, Scope, Service};

/// The checks that stand in front of every door.
#[derive(Clone, Debug)]
pub struct Gate {
    authenticator: Authenticator,
    guard: DevGuard,
}

impl Gate {
    pub fn new(authenticator: Authenticator, guard: DevGuard) -> Self {
        Self { authenticator, guard }
    }

    /// The caller of a request, or why it is not heard.
    pub async fn caller(&self, request: &Parts) -> Result<Caller, Error> {
        let peer = peer(&request.extensions);
        self.guard(peer, &request.uri, &request.headers)?;
        self.authenticator.caller(peer, &request.headers).await
    }

    /// The caller at the door of one agent.
    pub async fn scope(&self, service: &Service, agent: &str, request: &Parts) -> Result<Scope, Error> {
        let caller = self.caller(request).await?;
        let name = AgentName::parse(agent).map_err(|_| Error::AgentNotFound)?;
        service.scope(&name, caller)
    }

    /// Refuses everyone but the operator.
    pub fn operator(&self, request: &Parts) -> Result<(), Error> {
        let peer = peer(&request.extensions);
        self.guard(peer, &request.uri, &request.headers)?;
        match peer {
            Peer::Operator => Ok(()),
            Peer::Tcp { .. } | Peer::Unix => {
                Err(Error::Forbidden("the operator calls over the node's own socket"))
            }
        }
    }

    fn guard(&self, peer: Peer, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        match peer {
            Peer::Tcp { .. } => Ok(self.guard.check(uri, headers)?),
            Peer::Operator | Peer::Unix => Ok(()),
        }
    }
}

/// Where the connection comes from; the least that can be where nobody said.
fn peer(extensions: &Extensions) -> Peer {
    extensions
        .get::<ConnectInfo<PeerInfo>>()
        .map_or(Peer::Tcp { loopback: false }, |ConnectInfo(info)| info.0)
}
