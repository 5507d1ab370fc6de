//! Who is calling, before anything of the request is read: how often may it, who is it, and where does it come from.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use baton_core::ident::AgentName;
use baton_store::{Actor, Barred, Grant};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Request};

use crate::access::{
    ANONYMOUS, Addresses, Authenticator, Caller, DevGuard, Door, GrantRates, MCP, Origin, Peer, Proxies,
    Refusal, Refusals, TooOften,
};
use crate::clock::Clock;
use crate::net::PeerInfo;
use crate::service::manifest::Site;
use crate::service::{Error, Scope, Service};

/// Who comes from nowhere is a stranger.
const UNKNOWN: Peer = Peer::Tcp { from: IpAddr::V4(Ipv4Addr::UNSPECIFIED), loopback: false };

/// The checks that stand in front of every door.
#[derive(Clone, Debug)]
pub struct Gate {
    authenticator: Authenticator,
    guard: DevGuard,
    proxies: Proxies,
    rates: Arc<Rates>,
    refusals: Arc<Refusals>,
    site: Arc<Site>,
    clock: Clock,
}

/// What is counted before any work is done.
#[derive(Debug)]
struct Rates {
    addresses: Addresses,
    failures: Addresses,
    /// Requests for access tokens: each that is given is a commit.
    exchanges: Addresses,
    /// Registrations of clients: each is a commit too.
    registrations: Addresses,
    /// Sign-ins at a provider: each makes the node ask it.
    sign_ins: Addresses,
    grants: GrantRates,
}

impl Gate {
    pub fn new(authenticator: Authenticator, guard: DevGuard, proxies: Proxies, service: &Service) -> Self {
        let (limits, clock) = (service.limits(), service.clock.clone());
        let rates = Rates {
            addresses: Addresses::new(limits.rate_per_address, clock.clone()),
            failures: Addresses::new(limits.failures_per_address, clock.clone()),
            exchanges: Addresses::new(limits.failures_per_address, clock.clone()),
            registrations: Addresses::new(limits.failures_per_address, clock.clone()),
            sign_ins: Addresses::new(limits.failures_per_address, clock.clone()),
            grants: GrantRates::new(clock.clone()),
        };
        let refusals = Arc::clone(&service.refusals);
        let site = Arc::clone(&service.site);
        Self { authenticator, guard, proxies, rates: Arc::new(rates), refusals, site, clock }
    }

    /// Counts a request by its address, before anything else of it is looked at. This machine is not counted: it is the
    /// operator's own, or a proxy that names nobody.
    pub fn admit<B>(&self, request: &mut Request<B>) -> Result<(), Error> {
        let origin = self.origin(request.extensions(), request.headers());
        if let Some(ConnectInfo(info)) = request.extensions_mut().get_mut::<ConnectInfo<PeerInfo>>() {
            info.origin = Some(origin);
        }
        match origin {
            Origin::Address(address) if !address.is_loopback() => Ok(self.rates.addresses.count(address)?),
            Origin::Address(_) | Origin::Socket | Origin::Unix => Ok(()),
        }
    }

    /// The caller of a request at a door, or why it is not heard.
    pub async fn caller(&self, door: Door<'_>, request: &Parts) -> Result<Caller, Error> {
        let peer = self.guard(request)?;
        let shown = info(&request.extensions).and_then(|info| info.shown.as_deref());
        let origin = self.origin_of(request);
        let caller = self.authenticator.caller(door, (peer, origin), shown, &request.headers).await;
        let caller = caller.map_err(|why| self.failed(request, why))?;
        if let Some(grant) = caller.of_grant() {
            self.rates.grants.count(grant)?;
            grant.admits(self.clock.now()).map_err(|barred| {
                let reason = match barred {
                    Barred::Paused => "the grant is paused",
                    Barred::Over => "the grant is over",
                    Barred::OpenTasks { .. } | Barred::TasksPerDay { .. } => "the grant is used up",
                };
                let refusal = self.refusal(request, ("access.call", reason));
                self.refusals.note(Refusal { who: grant.id.to_string(), ..refusal }, self.clock.now());
                Error::from(barred)
            })?;
        }
        Ok(caller)
    }

    /// The caller at the door of one agent.
    pub async fn scope(&self, service: &Service, agent: &str, request: &Parts) -> Result<Scope, Error> {
        let name = AgentName::parse(agent);
        let door = name.as_ref().map_or(Door::SomeAgent, Door::Agent);
        let caller = self.caller(door, request).await?;
        service.scope(&name.map_err(|_| Error::AgentNotFound)?, caller)
    }

    /// The same where the agent is known only once the request is read: what the caller brings must be for that one.
    pub fn scope_of(
        &self,
        service: &Service,
        agent: &AgentName,
        caller: Caller,
        request: &Parts,
    ) -> Result<Scope, Error> {
        if !caller.is_for(Door::Agent(agent)) {
            return Err(self.failed(request, Error::Unauthenticated));
        }
        service.scope(agent, caller)
    }

    /// Refuses everyone but the operator; answers who that is, for the audit log.
    pub fn operator(&self, request: &Parts) -> Result<Actor, Error> {
        match self.guard(request)? {
            Peer::Operator => Ok(Actor::new("operator", Origin::Socket.to_string())),
            Peer::Tcp { .. } | Peer::Unix => {
                let refusal = self.refusal(request, ("access.operate", "not the operator"));
                self.refusals.note(refusal, self.clock.now());
                Err(Error::Denied("the operator calls over the node's own socket"))
            }
        }
    }

    /// Somebody who need not be anybody: where they come from.
    pub fn stranger(&self, request: &Parts) -> Result<Origin, Error> {
        self.guard(request)?;
        Ok(self.origin_of(request))
    }

    /// What somebody hears whose secret opens nothing: the same as with wrong credentials, who keeps trying waits.
    pub fn wrong_secret(&self, request: &Parts, why: Error) -> Error {
        if !matches!(why, Error::FriendRequestNotFound) {
            return why;
        }
        self.refused(request, ("friend.open", "the secret opens no friend request"), why)
    }

    /// Counts one registration of a client, whoever that is: each that is kept is a commit.
    pub fn admit_registration(&self, request: &Parts) -> Result<(), Error> {
        self.count_by(&self.rates.registrations, request)
    }

    /// Counts one request for an access token of a client that proved to be one.
    pub fn admit_client(&self, request: &Parts) -> Result<(), Error> {
        self.count_by(&self.rates.exchanges, request)
    }

    /// What a client hears whose credentials are refused: the same as all others, who keeps trying waits.
    pub fn refuse_client(&self, request: &Parts) -> Error {
        self.refused(request, ("oauth.token", "no valid client credentials"), Error::Unauthenticated)
    }

    /// Counts one request of a grant.
    pub fn count(&self, grant: &Grant) -> Result<(), Error> {
        Ok(self.rates.grants.count(grant)?)
    }

    /// Where a request comes from, as it was worked out when it was admitted.
    pub fn origin_of(&self, request: &Parts) -> Origin {
        let known = info(&request.extensions).and_then(|info| info.origin);
        known.unwrap_or_else(|| self.origin(&request.extensions, &request.headers))
    }

    /// Counts one sign-in that begins at a provider.
    pub fn admit_sign_in(&self, request: &Parts) -> Result<(), Error> {
        self.count_by(&self.rates.sign_ins, request)
    }

    /// Counts a request by its address; this machine's own sockets are not counted.
    fn count_by(&self, counter: &Addresses, request: &Parts) -> Result<(), Error> {
        match self.origin_of(request) {
            Origin::Address(address) => Ok(counter.count(address)?),
            Origin::Socket | Origin::Unix => Ok(()),
        }
    }

    /// What somebody hears who signs in with a code that is none.
    pub fn failed_to_sign_in(&self, request: &Parts) -> Error {
        self.failed(request, Error::Unauthenticated)
    }

    /// What somebody hears whose credentials are refused. Who keeps trying is told to wait, and no more.
    fn failed(&self, request: &Parts, why: Error) -> Error {
        if !matches!(why, Error::Unauthenticated) {
            return why;
        }
        let why = Error::Challenged(self.challenge(request));
        self.refused(request, ("access.authenticate", "no valid credentials"), why)
    }

    /// Tells and counts that somebody was refused who is nobody.
    fn refused(&self, request: &Parts, what: (&'static str, &'static str), why: Error) -> Error {
        self.refusals.note(self.refusal(request, what), self.clock.now());
        self.count_by(&self.rates.failures, request).map_or_else(|too_often| too_often, |()| why)
    }

    /// How credentials are to be brought (RFC 6750 §3, RFC 9728 §5.1): to whom brought none, nothing is said of an error.
    fn challenge(&self, request: &Parts) -> String {
        let sent = request.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let bearer =
            sent.and_then(|sent| sent.get(..7)).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer "));
        let error = if bearer { "error=\"invalid_token\", " } else { "" };
        let path = request.uri.path();
        if path.strip_suffix('/').unwrap_or(path) == MCP {
            let (metadata, scope) = (self.site.resource_metadata(MCP), crate::service::oauth::mcp_scope());
            return format!(
                "Bearer realm=\"baton\", {error}resource_metadata=\"{metadata}\", scope=\"{scope}\""
            );
        }
        let agent = path.strip_prefix("/a2a/").and_then(|rest| rest.split('/').next());
        let agent = agent.and_then(|name| AgentName::parse(name).ok());
        let below = agent.map(|agent| format!("/a2a/{agent}")).unwrap_or_default();
        let metadata = self.site.resource_metadata(&below);
        format!("Bearer realm=\"baton\", {error}resource_metadata=\"{metadata}\"")
    }

    /// A refusal of somebody who is nobody yet.
    fn refusal(&self, request: &Parts, what: (&'static str, &'static str)) -> Refusal {
        let (action, reason) = what;
        let origin = self.origin_of(request).counted();
        Refusal { who: ANONYMOUS.to_owned(), origin, action, target: String::new(), reason }
    }

    fn origin(&self, extensions: &Extensions, headers: &HeaderMap) -> Origin {
        match peer(extensions) {
            Peer::Tcp { from, .. } if self.proxies.is_empty() => Origin::Address(from.to_canonical()),
            Peer::Tcp { from, .. } => Origin::Address(self.proxies.client(from, headers)),
            Peer::Operator => Origin::Socket,
            Peer::Unix => Origin::Unix,
        }
    }

    /// Refuses what a web page may have sent; answers what the connection is.
    fn guard(&self, request: &Parts) -> Result<Peer, Error> {
        let peer = peer(&request.extensions);
        match peer {
            Peer::Tcp { .. } => self.guard.check(&request.uri, &request.headers)?,
            Peer::Operator | Peer::Unix => {}
        }
        Ok(peer)
    }
}

impl From<TooOften> for Error {
    fn from(TooOften(wait): TooOften) -> Self {
        Self::RateLimited(wait)
    }
}

/// Where the connection comes from; the least that can be where nobody said.
fn peer(extensions: &Extensions) -> Peer {
    info(extensions).map_or(UNKNOWN, |info| info.peer)
}

fn info(extensions: &Extensions) -> Option<&PeerInfo> {
    extensions.get::<ConnectInfo<PeerInfo>>().map(|ConnectInfo(info)| info)
}
