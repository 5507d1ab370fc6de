//! The way in. Work comes in at the URL of an agent and at the gRPC service: these two are found by their paths, the rest by
//! the router, whose layers cost as much as reading a message does.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use baton_wire::fault::Fault;
use baton_wire::jsonrpc::Id;
use baton_wire::operation::version_of;
use baton_wire::version::Version;
use http::{Method, Request};
use tower::ServiceExt as _;

use super::a2a::Target;
use super::media::Media;
use super::{Doors, a2a, admin, console, fault, mcp};
use crate::net::Handler;

/// All paths of a node.
#[derive(Clone, Debug)]
pub struct Front(Arc<Paths>);

#[derive(Debug)]
struct Paths {
    doors: Arc<Doors>,
    router: Router,
    // Made when somebody comes for them: their many routes and definitions are memory that most nodes never need.
    operators: OnceLock<Router>,
    reflection: OnceLock<Router>,
}

impl Front {
    pub fn new(doors: Arc<Doors>) -> Self {
        let router = Arc::clone(&doors).router();
        Self(Arc::new(Paths { doors, router, operators: OnceLock::new(), reflection: OnceLock::new() }))
    }
}

impl Paths {
    fn router(&self, path: &str) -> &Router {
        let of_operator =
            |at: &str| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if of_operator(admin::AT) || of_operator(console::AT) {
            self.operators.get_or_init(|| Arc::clone(&self.doors).operators_router())
        } else if path.starts_with(a2a::grpc::REFLECTION) {
            self.reflection.get_or_init(|| Arc::clone(&self.doors).reflection_router())
        } else {
            &self.router
        }
    }
}

impl Handler for Front {
    async fn answer(self, mut request: Request<Body>) -> Response {
        let paths = &*self.0;
        let doors = &paths.doors;
        let target = a2a::target(&request);
        if let Err(why) = doors.gate.admit(&mut request) {
            return refuse(&fault::of(why, None), target.as_ref(), &request);
        }
        match target {
            Some(target) => a2a::answer(doors, target, request).await,
            None if matches!(request.uri().path(), mcp::AT | "/mcp/") => {
                Box::pin(doors.mcp().answer(&doors.gate, request)).await
            }
            None => match Box::pin(paths.router(request.uri().path()).clone().oneshot(request)).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        }
    }
}

/// A refusal before anybody has looked at the request, in the way of the door that it is at.
fn refuse(fault: &Fault, target: Option<&Target>, request: &Request<Body>) -> Response {
    let media = Media::of(request.headers());
    let mut response = match target {
        Some(Target::Agent(_)) => fault::rpc(fault, &Id::NULL),
        Some(Target::Method(_)) => a2a::grpc::refuse(fault),
        None if a2a::grpc::is_grpc(request.headers()) => a2a::grpc::refuse(fault),
        None => match version_of(below_agent(request.uri().path())).0 {
            Version::V1_0 => fault::rest(fault, media),
            Version::V0_3 => fault::rest_v03(fault, media),
        },
    };
    // HTTP/1 sends no body to who asked for none; HTTP/2 would.
    if request.method() == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    response
}

/// The path below the URL of an agent, whichever that is.
fn below_agent(path: &str) -> &str {
    let below = path.strip_prefix("/a2a/").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    below.unwrap_or(path)
}
