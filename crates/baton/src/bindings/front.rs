//! The way in. Work comes in at the URL of an agent and at the gRPC service: these two are found by their paths, the rest by
//! the router, whose layers cost as much as reading a message does.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use tower::ServiceExt as _;

use super::Doors;
use super::a2a;
use crate::net::Handler;

/// All paths of a node.
#[derive(Clone, Debug)]
pub struct Front(Arc<(Arc<Doors>, Router)>);

impl Front {
    pub fn new(doors: Arc<Doors>) -> Self {
        let router = Arc::clone(&doors).router();
        Self(Arc::new((doors, router)))
    }
}

impl Handler for Front {
    async fn answer(self, request: Request<Body>) -> Response {
        let (doors, router) = &*self.0;
        match a2a::place(request.uri().path()) {
            Some(place) => a2a::answer(doors, place, request).await,
            None => match Box::pin(router.clone().oneshot(request)).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        }
    }
}
