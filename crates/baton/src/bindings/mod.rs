//! The doors: they parse, call a use case, and encode. Nothing is decided here.

pub mod a2a;
pub mod admin;
mod body;
mod console;
mod fault;
mod friends;
mod front;
mod gate;
pub mod health;
mod jwks;
mod mcp;
mod media;
mod oauth;
mod sse;
mod stream;
pub(crate) mod work;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use baton_wire::fault::{Fault, Kind};
use baton_wire::operation::Operation;
use http::{HeaderMap, Request};

use crate::access::Caller;
use crate::service::{Scope, Service};

pub use front::Front;
pub use gate::Gate;
use stream::{Place, Streams};

/// What every door works with.
#[derive(Debug)]
pub struct Doors {
    pub service: Service,
    pub gate: Gate,
    streams: Arc<Streams>,
    sessions: Arc<console::Sessions>,
    // Made when somebody comes for it, as its sessions and definitions are memory that most nodes never need.
    mcp: OnceLock<mcp::Mcp>,
}

impl Doors {
    pub fn new(service: Service, gate: Gate) -> Self {
        Self { service, gate, streams: Arc::default(), sessions: Arc::default(), mcp: OnceLock::new() }
    }

    /// A place for one more stream of this caller, where the operation is one: taken before anything is written.
    fn enter(&self, scope: &Scope, operation: Operation) -> Result<Option<(Caller, Place)>, Fault> {
        let enter = || {
            let place = self.streams.enter(&scope.caller, &self.service.limits())?;
            Ok((scope.caller.clone(), place))
        };
        operation.is_streaming().then(enter).transpose().map_err(|why| fault::of(why, None))
    }

    /// What speaks MCP.
    fn mcp(&self) -> &mcp::Mcp {
        self.mcp.get_or_init(|| mcp::Mcp::new(&self.service, Arc::clone(&self.streams)))
    }

    /// Every path that callers and strangers ask for; see [`Front`] for those that most requests are for.
    fn router(self: Arc<Self>) -> Router {
        let router = Router::new()
            .merge(a2a::router(&self))
            .merge(friends::router())
            .merge(health::router())
            .merge(jwks::router())
            .merge(oauth::router());
        self.complete(router)
    }

    /// Every path of the operator.
    fn operators_router(self: Arc<Self>) -> Router {
        self.complete(Router::new().merge(admin::router()).merge(console::router()))
    }

    fn reflection_router(self: Arc<Self>) -> Router {
        self.complete(a2a::grpc::reflection())
    }

    fn complete(self: Arc<Self>, router: Router<Arc<Self>>) -> Router {
        router.fallback(elsewhere).method_not_allowed_fallback(not_allowed).with_state(self)
    }
}

/// A path of the form `/{tenant}/…` or `/v1/…` is an agent's too; anything else is nowhere.
async fn elsewhere(State(doors): State<Arc<Doors>>, request: Request<axum::body::Body>) -> Response {
    if a2a::grpc::is_grpc(request.headers()) {
        return a2a::grpc::refuse(&Kind::MethodNotFound.into());
    }
    match a2a::at_root(&doors, &request) {
        Ok(agent) => a2a::rest(&doors, &agent, request).await,
        Err(fault) => fault::rest(&fault, media::Media::of(request.headers())),
    }
}

/// The path is there, the method is not; the router adds which are.
async fn not_allowed(headers: HeaderMap) -> Response {
    fault::rest(&Fault::new(Kind::MethodNotAllowed), media::Media::of(&headers))
}
