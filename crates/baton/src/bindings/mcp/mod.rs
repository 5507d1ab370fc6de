//! The door of the Model Context Protocol, `/mcp`: streamable HTTP, the revision without sessions and those with them.
//!
//! Who calls is asked of the gate at each request, before anything of it is read; a session belongs to the grant and the user
//! that began it. What a tool does is a use case like that of any other door.

mod arguments;
mod bells;
mod handler;
mod resources;
mod results;
mod sessions;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::media::Media;
use super::stream::{Place, Streams};
use super::{Gate, body, fault};
use crate::access::{Caller, Door};
use crate::service::{Error, Service};
use bells::Bells;
use handler::Handler;
use sessions::Sessions;

/// Where it is.
pub const AT: &str = "/mcp";

/// Something is written after this much silence, as on every stream of the node.
const SILENCE: Duration = Duration::from_secs(4);

/// How sessions are named on the wire.
const SESSION: &str = "mcp-session-id";

/// The protocol, as it is served.
pub struct Mcp {
    service: Service,
    streams: Arc<Streams>,
    sessions: Arc<Sessions>,
    protocol: StreamableHttpService<Handler, LocalSessionManager>,
}

impl std::fmt::Debug for Mcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}

/// The arguments of a tool's call as they were written, so that numbers keep their form.
#[derive(Clone, Debug)]
struct Written(Arc<str>);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Mcp {
    pub fn new(service: &Service, streams: Arc<Streams>) -> Self {
        let mut manager = LocalSessionManager::default();
        // Ended by `Sessions`, which knows whether somebody still listens.
        manager.session_config.keep_alive = None;
        let manager = Arc::new(manager);
        let mut config = StreamableHttpServerConfig::default();
        config.sse_keep_alive = Some(SILENCE);
        // The gate has looked already: in dev mode at the host, otherwise at credentials that no web page has.
        config.allowed_hosts = Vec::new();
        config.max_request_body_bytes = usize::MAX;
        config.cancellation_token = service.draining.child_token();
        let bells = Arc::new(Bells::new(service.clone()));
        let made = (service.clone(), Arc::clone(&bells));
        let protocol = StreamableHttpService::new(
            move || Ok(Handler::new(made.0.clone(), Arc::clone(&made.1))),
            Arc::clone(&manager),
            config,
        );
        let sessions = Arc::new(Sessions::new(service.clone(), manager));
        tokio::spawn(Arc::clone(&sessions).watch());
        Self { service: service.clone(), streams, sessions, protocol }
    }

    /// One request.
    pub async fn answer(&self, gate: &Gate, request: Request<Body>) -> Response {
        match self.try_answer(gate, request).await {
            Ok(response) => response,
            Err(why) => fault::rest(&fault::of(why, None), Media::Json),
        }
    }

    async fn try_answer(&self, gate: &Gate, request: Request<Body>) -> Result<Response, Error> {
        let (mut head, body) = request.into_parts();
        let caller = gate.caller(Door::Mcp, &head).await?;
        let named = head.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if let Some(id) = &named
            && !self.sessions.enter(id, &caller)
        {
            return Ok(unknown_session());
        }
        let most = caller.body_limit(self.service.limits().body);
        let bytes = match body::read(body, most).await {
            Ok(bytes) => bytes,
            Err(refused) => return Ok(fault::rest(&refused, Media::Json)),
        };
        head.extensions.insert(caller.clone());
        if let Some(written) = written(&bytes) {
            head.extensions.insert(written);
        }
        let (method, listens) = (head.method.clone(), head.method == Method::GET);
        let place = listens.then(|| self.streams.enter(&caller, &self.service.limits())).transpose()?;
        if named.is_none() && method == Method::POST {
            self.sessions.check_room(&caller)?;
        }
        let mut response = self.protocol.handle(Request::from_parts(head, Full::new(bytes))).await;
        // A client takes "accepted" for a session that could not be ended.
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if named.is_none()
            && let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok())
        {
            self.sessions.begin(id, &caller);
        }
        if let Some(id) = named.as_deref().filter(|_| method == Method::DELETE) {
            self.sessions.forget(id);
        }
        let open = named.filter(|_| listens).and_then(|id| self.sessions.listen(&id));
        Ok(whole(response, (place, open)))
    }
}

/// The arguments in a request's body, where there are some.
fn written(body: &Bytes) -> Option<Written> {
    let read: Envelope<'_> = serde_json::from_slice(body).ok()?;
    Some(Written(read.params?.arguments?.get().into()))
}

/// The answer with what has to live as long as it is written.
fn whole<B>(response: http::Response<B>, kept: (Option<Place>, Option<sessions::Listening>)) -> Response
where
    B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    let (mut head, body) = response.into_parts();
    if matches!(kept, (None, None)) {
        return Response::from_parts(head, Body::new(body));
    }
    // Proxies are not to hold back what is said.
    head.headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    let stream = body.into_data_stream().map(move |data| {
        let _ = &kept;
        data
    });
    Response::from_parts(head, Body::from_stream(stream))
}

/// A session that is over, one of somebody else and one that never was: the same.
fn unknown_session() -> Response {
    let mut response = Response::new(Body::from("Not Found: Session not found"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Who calls, of a request that the door let in.
fn caller_of(extensions: &rmcp::model::Extensions) -> Result<&Caller, rmcp::ErrorData> {
    let head = extensions.get::<http::request::Parts>();
    head.and_then(|head| head.extensions.get::<Caller>())
        .ok_or_else(|| rmcp::ErrorData::internal_error("the request came in by another way", None))
}
