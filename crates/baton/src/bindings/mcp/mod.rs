//! The door of the Model Context Protocol, `/mcp`: streamable HTTP, the revision without sessions and those with them.
//!
//! Who calls is asked of the gate at each request, before anything of it is read; a session belongs to the grant and the user
//! that began it. What a tool does is a use case like that of any other door.

mod arguments;
mod bells;
mod cors;
mod cut;
mod exact;
mod handler;
mod resources;
mod results;
mod rung;
mod sessions;
mod tools;

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::media::Media;
use super::stream::Streams;
use super::{Gate, body, fault};
use crate::access::{Caller, Door};
use crate::service::{Error, Service};
use bells::Bells;
use exact::Exact;
use handler::{Handler, Shared};
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
    exact: Exact,
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

/// What is looked at of a request before the protocol reads it.
#[derive(Default, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
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
        let sessions = Arc::new(Sessions::new(service.clone(), Arc::clone(&manager)));
        let shared = Shared { bells, sessions: Arc::clone(&sessions), exact: Exact::default() };
        let (exact, of_all) = (shared.exact.clone(), service.clone());
        let protocol = StreamableHttpService::new(
            move || Ok(Handler::new(of_all.clone(), shared.clone())),
            manager,
            config,
        );
        tokio::spawn(Arc::clone(&sessions).watch());
        Self { service: service.clone(), streams, sessions, exact, protocol }
    }

    /// One request.
    pub async fn answer(&self, gate: &Gate, request: Request<Body>) -> Response {
        let (head, body) = request.into_parts();
        let page = cors::Page::of(gate, &head);
        if head.method == Method::OPTIONS {
            return page.ask_first();
        }
        let answered = match self.try_answer(gate, Request::from_parts(head, body)).await {
            Ok(response) => response,
            Err(why) => fault::rest(&fault::of(why, None), Media::Json),
        };
        page.open(answered)
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
        let (bytes, asked) = taken_apart(bytes, &mut head.extensions);
        let (method, asked) = (head.method.clone(), asked.as_deref());
        if named.is_none() && asked == Some("initialize") {
            return self.begin(&caller, Request::from_parts(head, Full::new(bytes))).await;
        }
        let listens = method == Method::GET || asked == Some("subscriptions/listen");
        let place = listens.then(|| self.streams.enter(&caller, &self.service.limits())).transpose()?;
        let response = self.protocol.handle(Request::from_parts(head, Full::new(bytes))).await;
        Ok(match named {
            None => self.whole(response, place),
            Some(id) if method == Method::GET && response.status() == StatusCode::OK => {
                let (head, body) = response.into_parts();
                let Some((listening, body)) = self.sessions.listen(&id, body) else {
                    return Ok(unknown_session());
                };
                self.whole(http::Response::from_parts(head, body), (place, listening))
            }
            Some(id) if method == Method::DELETE && response.status() == StatusCode::ACCEPTED => {
                self.sessions.forget(&id);
                // A client takes "accepted" for a session that could not be ended.
                let mut response = self.whole(response, ());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            Some(id) => {
                if method != Method::DELETE && response.status() == StatusCode::NOT_FOUND {
                    // It has ended by itself.
                    self.sessions.forget(&id);
                }
                self.whole(response, place)
            }
        })
    }

    /// Begins a session. Once it is there it is counted, though its client has hung up meanwhile.
    async fn begin(&self, caller: &Caller, request: Request<Full<Bytes>>) -> Result<Response, Error> {
        let seat = self.sessions.reserve(caller)?;
        let protocol = self.protocol.clone();
        let begun = tokio::spawn(async move {
            let response = protocol.handle(request).await;
            if let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
                seat.take(id);
            }
            response
        });
        Ok(self.whole(begun.await.map_err(|why| Error::Internal(why.to_string()))?, ()))
    }

    /// The answer with what has to live as long as it is written.
    fn whole<B, K>(&self, response: http::Response<B>, kept: K) -> Response
    where
        B: http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
        K: Send + 'static,
    {
        let (mut head, body) = response.into_parts();
        // Proxies are not to hold back what is said.
        if head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
            head.headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        }
        let exact = self.exact.clone();
        let body = body.map_frame(move |frame| {
            let _ = &kept;
            frame.map_data(|data| exact.write(data))
        });
        Response::from_parts(head, Body::new(body))
    }
}

/// What a request asks for. The arguments of a tool go by a way of their own: the protocol would read their numbers as others.
fn taken_apart(body: Bytes, extensions: &mut http::Extensions) -> (Bytes, Option<String>) {
    // What cannot be read is refused by the protocol.
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&body) else { return (body, None) };
    let method = envelope.method.map(Cow::into_owned);
    let arguments = envelope.params.and_then(|params| params.arguments).map(RawValue::get);
    let Some(arguments) = arguments.filter(|_| method.as_deref() == Some("tools/call")) else {
        return (body, method);
    };
    extensions.insert(Written(arguments.into()));
    let start = arguments.as_ptr().addr() - body.as_ptr().addr();
    let rest = &body[start + arguments.len()..];
    ([&body[..start], b"{}", rest].concat().into(), method)
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
