//! The A2A doors: JSON-RPC, REST and gRPC, each in both versions, and the agent cards.

mod call;
mod card;
mod extensions;
pub mod grpc;
mod jsonrpc;
mod rest;
pub(super) mod splice;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{any, get};
use baton_core::ident::AgentName;
use baton_wire::fault::{Fault, Kind};
use baton_wire::operation::{Route, version_of};
use baton_wire::version::Version;
use http::{Method, Request};

use super::Doors;
pub use card::{SERVED, public as public_card};
pub use rest::rest;

pub fn router(doors: &Doors) -> Router<Arc<Doors>> {
    Router::new()
        .merge(grpc::router(doors))
        .route("/.well-known/agent-card.json", get(card::of_default))
        // The name before 0.3; clients still look there.
        .route("/.well-known/agent.json", get(card::of_default))
        .route("/a2a/{agent}/.well-known/agent.json", get(card::of_agent))
        .route("/a2a/{agent}", any(at_agent))
        .route("/a2a/{agent}/", any(at_agent))
        .route("/a2a/{agent}/.well-known/agent-card.json", get(card::of_agent))
        .route("/a2a/{agent}/{*rest}", any(below_agent))
}

/// Where a request goes that the router need not be asked about.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// JSON-RPC, at the URL of this agent.
    Agent(String),
    /// This method of the gRPC service of A2A 1.0.
    Method(String),
}

/// The target of a POST. A path that is spelled in an unusual way is the router's, and so is any other method.
pub fn target<B>(request: &Request<B>) -> Option<Target> {
    if request.method() != Method::POST {
        return None;
    }
    let path = request.uri().path();
    let plain = |name: &str| (!name.is_empty() && !name.contains(['/', '%'])).then(|| name.to_owned());
    if let Some(rest) = path.strip_prefix("/a2a/") {
        return plain(rest.strip_suffix('/').unwrap_or(rest)).map(Target::Agent);
    }
    plain(path.strip_prefix(grpc::V1)?).map(Target::Method)
}

/// Answers one request. A connection keeps room for what answers it for as long as it is open: that room is to be small.
pub async fn answer(doors: &Doors, target: Target, request: Request<Body>) -> Response {
    match target {
        Target::Agent(agent) => Box::pin(jsonrpc::answer(doors, &agent, request)).await,
        Target::Method(method) => Box::pin(grpc::v1(doors, &method, request)).await,
    }
}

async fn at_agent(
    State(doors): State<Arc<Doors>>,
    Path(agent): Path<String>,
    request: Request<Body>,
) -> Response {
    jsonrpc::answer(&doors, &agent, request).await
}

async fn below_agent(
    State(doors): State<Arc<Doors>>,
    Path((agent, _)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    rest(&doors, &agent, request).await
}

/// The agent of a path such as `/{tenant}/message:send`, where the tenant is the agent, or `/v1/message:send` of 0.3,
/// which has no tenants: the default agent.
pub fn at_root<B>(doors: &Doors, request: &Request<B>) -> Result<String, Fault> {
    let path = request.uri().path();
    if version_of(path).0 == Version::V0_3 {
        let default = doors.service.agents.find_default();
        return default.map(|agent| agent.name().to_string()).ok_or(Fault::new(Kind::UnknownPath));
    }
    let tenant = path.trim_start_matches('/').split_once('/').map_or("", |(tenant, _)| tenant);
    match Route::parse(request.method(), path) {
        Ok(Route { tenant: Some(tenant), .. }) => Ok(tenant),
        Err(fault) if fault.kind == Kind::MethodNotAllowed && AgentName::parse(tenant).is_ok() => Err(fault),
        Ok(_) | Err(_) => Err(Fault::new(Kind::UnknownPath)),
    }
}
