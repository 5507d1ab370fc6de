//! The door of MCP: a client over plain HTTP, as little as it takes to see every byte of what is answered.

mod auth;
mod bells;
mod given_back;
mod parity;
mod schema;
mod tools;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_wire::sse::Reader;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

use crate::harness::{Answer, Door, User, request, soon};

/// The newest revision that has sessions.
const REVISION: &str = "2025-11-25";

/// Somebody who speaks MCP; in a session where it began one.
#[derive(Debug)]
struct Client {
    user: User,
    session: Option<String>,
    revision: String,
    ids: AtomicU64,
}

impl Client {
    /// Without a session.
    fn without_session(user: &User) -> Self {
        let user = user.over(Door::Rest);
        Self { user, session: None, revision: REVISION.to_owned(), ids: AtomicU64::new(1) }
    }

    /// In a session of its own.
    async fn new(user: &User) -> Self {
        Self::declaring(user, json!({})).await
    }

    /// In a session of a client that can do these things.
    async fn declaring(user: &User, capabilities: Value) -> Self {
        Self::begin(user, REVISION, capabilities).await.0
    }

    /// A session of a revision, and what the server said of itself.
    async fn begin(user: &User, revision: &str, capabilities: Value) -> (Self, Value) {
        let mut client = Self::without_session(user);
        let answer = client.initialize(revision, capabilities).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        client.session = Some(answer.header("mcp-session-id").expect("a session").to_owned());
        let result = only(&answer)["result"].take();
        client.revision = result["protocolVersion"].as_str().unwrap().to_owned();
        let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let taken = client.post(&said.to_string()).await;
        assert_eq!(taken.status, 202, "{taken:?}");
        (client, result)
    }

    async fn initialize(&self, revision: &str, capabilities: Value) -> Answer {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "a test", "version": "1"},
        });
        let said = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.user.ask(self.request("POST", said.to_string(), None)).await
    }

    fn request(&self, method: &str, body: String, revision: Option<&str>) -> Request<Full<Bytes>> {
        let bearer = format!("Bearer {}", self.user.token());
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        if !self.user.token().is_empty() {
            headers.push(("authorization", &bearer));
        }
        headers.extend(self.session.as_deref().map(|id| ("mcp-session-id", id)));
        headers.extend(revision.map(|revision| ("mcp-protocol-version", revision)));
        request(method, &self.user.at_origin("/mcp"), &headers, body)
    }

    /// Anything, as it is written.
    async fn post(&self, body: &str) -> Answer {
        self.user.ask(self.request("POST", body.to_owned(), Some(&self.revision))).await
    }

    /// A request with its parameters as they are written: the answer over HTTP.
    async fn try_ask(&self, method: &str, params: &str) -> Answer {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.post(&body).await
    }

    /// A request that goes well: its result.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let mut answer = only(&self.try_ask(method, &params.to_string()).await);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A tool's answer, its arguments as they are written.
    async fn call_raw(&self, tool: &str, arguments: &str) -> Answer {
        self.try_ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await
    }

    /// A tool's answer, whatever it is.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// What a tool that does as it is told answers.
    async fn does(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// The reason of a tool that refuses.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        reason(&self.call(tool, arguments).await)
    }

    /// The next task of `clerk`, which is there.
    async fn claim(&self) -> Value {
        let mut claimed = self.does("claim_next", json!({"agent": "clerk"})).await;
        assert_eq!(claimed["tasks"].as_array().unwrap().len(), 1, "{claimed}");
        claimed["tasks"][0].take()
    }

    /// The names of the tools that it is offered.
    async fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The stream of the session.
    async fn listen(&self) -> Ear {
        self.try_listen().await.unwrap()
    }

    async fn try_listen(&self) -> Result<Ear, u16> {
        let request = self.request("GET", String::new(), Some(&self.revision));
        Ear::new(self.user.open_raw(request).await)
    }

    async fn subscribe(&self, uri: &str) {
        self.ask("resources/subscribe", json!({"uri": uri})).await;
    }

    /// Ends the session: the status of the answer.
    async fn end(&self) -> u16 {
        self.user.ask(self.request("DELETE", String::new(), Some(&self.revision))).await.status
    }
}

/// Whoever hears what a session is told.
#[derive(Debug)]
struct Ear {
    body: Incoming,
    reader: Reader,
    heard: VecDeque<Value>,
}

impl Ear {
    fn new(response: Response<Incoming>) -> Result<Self, u16> {
        if response.status() != 200 {
            return Err(response.status().as_u16());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Ok(Self { body: response.into_body(), reader: Reader::new(1024 * 1024), heard: VecDeque::new() })
    }

    /// What is said next; `None` once the stream has ended.
    async fn next(&mut self) -> Option<Value> {
        // The stream is never silent for long.
        soon(self.next_or_never()).await
    }

    async fn next_or_never(&mut self) -> Option<Value> {
        while self.heard.is_empty() {
            let frame = self.body.frame().await?.expect("the stream is not cut");
            let Ok(bytes) = frame.into_data() else { continue };
            let said = self.reader.feed(&bytes).map(|event| event.unwrap().data);
            let said = said.filter(|data| !data.is_empty());
            self.heard.extend(said.map(|data| serde_json::from_str::<Value>(&data).unwrap()));
        }
        self.heard.pop_front()
    }

    /// Hears that a resource has changed: which.
    async fn rings(&mut self) -> String {
        let said = self.next().await.expect("the stream goes on");
        assert_eq!(said["method"], "notifications/resources/updated", "{said}");
        said["params"]["uri"].as_str().unwrap().to_owned()
    }

    /// Hears nothing but its end.
    async fn ends(mut self) {
        assert_eq!(self.next().await, None);
    }
}

/// The messages of an answer over HTTP, whether it came as a stream or whole.
fn messages(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return vec![answer.json()];
    }
    assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{answer:?}");
    let mut reader = Reader::new(80 * 1024 * 1024);
    let said: Vec<_> = reader.feed(&answer.body).map(|event| event.unwrap().data).collect();
    said.iter().filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The one message of an answer over HTTP.
#[track_caller]
fn only(answer: &Answer) -> Value {
    let mut messages = messages(answer);
    assert_eq!(messages.len(), 1, "{answer:?}");
    messages.remove(0)
}

/// Why a tool refuses: what programs read, which is the body of the same refusal over HTTP.
#[track_caller]
fn reason(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result.get("structuredContent"), None, "{result}");
    assert!(!result["content"][0]["text"].as_str().unwrap().is_empty(), "{result}");
    let error = &result["_meta"]["baton/error"];
    assert_eq!(error["message"], result["content"][0]["text"], "{result}");
    error["details"][0]["reason"].as_str().unwrap_or_else(|| panic!("no reason: {result}")).to_owned()
}
