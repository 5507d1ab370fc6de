//! Somebody else's A2A server: it answers what a test wrote down, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::{TcpListener, UnixListener};

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub line: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

type Answer = dyn Fn(&str, &Asked, usize) -> Response + Send + Sync;

/// A running server. `answer` gets the server's URL, the request, and how many like it came before.
#[derive(Clone)]
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Answer>,
}

impl Server {
    pub async fn start(answer: impl Fn(&str, &Asked, usize) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self::new(url, answer);
        let router = server.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    /// On a unix socket; its cards name an address that nobody has.
    pub fn start_unix(
        path: &std::path::Path,
        answer: impl Fn(&str, &Asked, usize) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let server = Self::new("http://agents.invalid".to_owned(), answer);
        let router = server.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    fn new(url: String, answer: impl Fn(&str, &Asked, usize) -> Response + Send + Sync + 'static) -> Self {
        Self { url, asked: Arc::default(), answer: Arc::new(answer) }
    }

    fn router(&self) -> Router {
        Router::new().fallback(respond).with_state(self.clone())
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The requests that begin so.
    pub fn asked_for(&self, line: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.line.starts_with(line)).collect()
    }
}

async fn respond(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let method_of = serde_json::from_slice::<Value>(&body).ok();
    let method_of = method_of.as_ref().and_then(|body| body["method"].as_str()).unwrap_or_default();
    let line = format!("{} {} {method_of}", parts.method, parts.uri).trim_end().to_owned();
    let asked = Asked { line, headers: parts.headers, body: String::from_utf8_lossy(&body).into_owned() };
    let before = {
        let mut all = server.asked.lock().unwrap();
        let before = all.iter().filter(|other| other.line == asked.line).count();
        all.push(asked.clone());
        before
    };
    (server.answer)(&server.url, &asked, before)
}

/// A card with one interface per `(binding, version)`, all at `url`.
pub fn card(url: &str, interfaces: &[(&str, &str)], streaming: bool) -> Value {
    let interfaces: Vec<Value> = interfaces
        .iter()
        .map(|(binding, version)| json!({"url": url, "protocolBinding": binding, "protocolVersion": version}))
        .collect();
    json!({
        "name": "scripted", "description": "As written", "version": "1", "supportedInterfaces": interfaces,
        "capabilities": {"streaming": streaming}, "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
    })
}

pub fn ok(value: &Value) -> Response {
    status(200, value)
}

pub fn status(code: u16, value: &Value) -> Response {
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.body(Body::from(value.to_string())).unwrap()
}

pub fn nothing() -> Response {
    Response::builder().status(StatusCode::NOT_FOUND).body(Body::empty()).unwrap()
}

/// The answer to a JSON-RPC request of ours, whose ids count from one.
pub fn result(asked: &Asked, value: &Value) -> Response {
    ok(&json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": value}))
}

pub fn error(asked: &Asked, code: i32, message: &str) -> Response {
    ok(&json!({"jsonrpc": "2.0", "id": asked.json()["id"], "error": {"code": code, "message": message}}))
}

/// A stream of exactly these bytes, cut as they are given; a break at the end where `breaks`.
pub fn sse(pieces: Vec<Vec<u8>>, breaks: bool) -> Response {
    let pieces = stream::iter(pieces).map(|piece| Ok(Bytes::from(piece)));
    // A break is seen after what was written before it, and so it waits until that is on its way.
    let broken = stream::iter(breaks.then_some(())).then(async |()| {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        Err(std::io::Error::other("cut"))
    });
    let body = Body::from_stream(pieces.chain(broken));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

/// Events as a JSON-RPC server writes them, each with its id where it has one.
pub fn events(items: &[(Option<u64>, Value)]) -> Vec<Vec<u8>> {
    let event = |(id, item): &(Option<u64>, Value)| {
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        format!("{id}data: {}\n\n", json!({"jsonrpc": "2.0", "id": 1, "result": item})).into_bytes()
    };
    items.iter().map(event).collect()
}

pub fn task(state: &str, artifacts: &Value) -> Value {
    let status = json!({"state": format!("TASK_STATE_{state}"), "timestamp": "2026-01-01T00:00:00.000Z"});
    json!({"task": {"id": "t1", "contextId": "c1", "status": status, "artifacts": artifacts}})
}

pub fn status_update(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": format!("TASK_STATE_{state}")}}})
}

pub fn artifact(text: &str) -> Value {
    json!({"artifactId": "a", "parts": [{"text": text}]})
}

pub fn piece(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact(text), "append": append}})
}
