//! Calls over real HTTP, which may be lost in the middle: that is an answer here, and no failure.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use baton_wire::sse::Reader;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::node::PATIENCE;

/// The node went away before the answer was there: nobody knows what it did.
#[derive(Debug)]
pub struct Lost;

impl<E: std::error::Error> From<E> for Lost {
    fn from(_: E) -> Self {
        Self
    }
}

/// What the node answered instead of a result.
#[derive(Debug)]
pub struct Fault {
    pub status: StatusCode,
    /// The `reason` of its ErrorInfo, on either door.
    pub reason: String,
    pub retry_after: Option<String>,
    pub message: String,
}

/// A result, or what was said instead; or nothing.
pub type Call<T> = Result<Result<T, Fault>, Lost>;

#[derive(Clone, Debug)]
enum Door {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// One connection at a time, opened when it is needed.
#[derive(Debug)]
pub struct Client {
    door: Door,
    token: Option<String>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Send {
    pub agent: &'static str,
    /// The request of SendMessage.
    pub params: Value,
    /// The message's own id is its idempotency key.
    pub keyed: bool,
}

impl Send {
    pub fn new(agent: &'static str, id: &str, text: &str) -> Self {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        Self { agent, params: json!({"message": message}), keyed: true }
    }

    pub fn at_once(mut self) -> Self {
        self.params["configuration"] = json!({"returnImmediately": true});
        self
    }

    pub fn in_context(mut self, context: &str) -> Self {
        self.params["message"]["contextId"] = json!(context);
        self
    }

    /// A turn of a task that is there.
    pub fn in_task(mut self, task: &str) -> Self {
        self.params["message"]["taskId"] = json!(task);
        self
    }

    pub fn unkeyed(mut self) -> Self {
        self.keyed = false;
        self
    }

    pub fn id(&self) -> &str {
        self.params["message"]["messageId"].as_str().unwrap()
    }

    pub fn text(&self) -> &str {
        self.params["message"]["parts"][0]["text"].as_str().unwrap()
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { door: Door::Tcp(address), token: None, connection: None }
    }

    pub fn over(socket: PathBuf) -> Self {
        Self { door: Door::Unix(socket), token: None, connection: None }
    }

    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// SendMessage: the task.
    pub async fn send(&mut self, send: &Send) -> Call<Value> {
        let key = send.keyed.then(|| send.id());
        let answer = self.rpc(send.agent, "SendMessage", &send.params, key).await?;
        Ok(answer.map(|mut result| result["task"].take()))
    }

    pub async fn get(&mut self, agent: &str, task: &str) -> Call<Value> {
        self.rpc(agent, "GetTask", &json!({"id": task}), None).await
    }

    pub async fn cancel(&mut self, agent: &str, task: &str) -> Call<Value> {
        self.rpc(agent, "CancelTask", &json!({"id": task}), None).await
    }

    /// A call over JSON-RPC.
    pub async fn rpc(&mut self, agent: &str, method: &str, params: &Value, key: Option<&str>) -> Call<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self.request(Method::POST, &format!("/a2a/{agent}"));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let (status, headers, mut body) = self.whole(request, Some(&body)).await?;
        if body.get("result").is_some() {
            return Ok(Ok(body["result"].take()));
        }
        Ok(Err(Fault::of(status, &headers, &body)))
    }

    /// A call of the admin API or another plain path.
    pub async fn plain(&mut self, method: Method, path: &str, body: Option<&Value>) -> Call<Value> {
        let request = self.request(method, path);
        let (status, headers, body) = self.whole(request, body).await?;
        Ok(if status.is_success() { Ok(body) } else { Err(Fault::of(status, &headers, &body)) })
    }

    /// SendStreamingMessage over REST.
    pub async fn stream(&mut self, send: &Send) -> Call<Stream> {
        let mut request = self.request(Method::POST, &format!("/a2a/{}/message:stream", send.agent));
        if send.keyed {
            request = request.header("idempotency-key", send.id());
        }
        self.open(request, Some(&send.params)).await
    }

    /// SubscribeToTask over REST; `last` is what the caller has seen.
    pub async fn subscribe(&mut self, agent: &str, task: &str, last: Option<u64>) -> Call<Stream> {
        let mut request = self.request(Method::GET, &format!("/a2a/{agent}/tasks/{task}:subscribe"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        self.open(request, None).await
    }

    async fn open(&mut self, request: http::request::Builder, body: Option<&Value>) -> Call<Stream> {
        let response = self.answer(request, body).await?;
        if response.headers()["content-type"] == "text/event-stream" {
            // The connection belongs to the stream from now on.
            self.connection = None;
            return Ok(Ok(Stream {
                body: response.into_body(),
                reader: Reader::new(1 << 20),
                waiting: VecDeque::new(),
            }));
        }
        let (parts, body) = response.into_parts();
        let body = serde_json::from_slice(&body.collect().await?.to_bytes())?;
        Ok(Err(Fault::of(parts.status, &parts.headers, &body)))
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header("content-type", "application/json").header("a2a-version", "1.0");
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    async fn whole(
        &mut self,
        request: http::request::Builder,
        body: Option<&Value>,
    ) -> Result<(StatusCode, HeaderMap, Value), Lost> {
        let response = self.answer(request, body).await?;
        let (parts, body) = response.into_parts();
        let bytes = timeout(PATIENCE, body.collect()).await.expect("an answer ends")?.to_bytes();
        Ok((parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn answer(
        &mut self,
        request: http::request::Builder,
        body: Option<&Value>,
    ) -> Result<http::Response<Incoming>, Lost> {
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let request = request.body(Full::new(bytes)).unwrap();
        let mut connection = match self.connection.take() {
            Some(open) if !open.is_closed() => open,
            _ => self.connect().await?,
        };
        connection.ready().await?;
        let response =
            timeout(PATIENCE, connection.send_request(request)).await.expect("a request is answered")?;
        self.connection = Some(connection);
        Ok(response)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Lost> {
        match &self.door {
            Door::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                shake(stream).await
            }
            Door::Unix(path) => shake(UnixStream::connect(path).await?).await,
        }
    }
}

async fn shake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, Lost>
where
    S: AsyncRead + AsyncWrite + Unpin + std::marker::Send + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

impl Fault {
    fn of(status: StatusCode, headers: &HeaderMap, body: &Value) -> Self {
        let retry_after = headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        let details = [&body["error"]["details"], &body["error"]["data"]];
        let reason =
            details.iter().find_map(|details| details[0]["reason"].as_str()).unwrap_or_default().to_owned();
        let message = body["error"]["message"].as_str().unwrap_or_default().to_owned();
        Self { status, reason, retry_after, message }
    }
}

/// An event stream.
#[derive(Debug)]
pub struct Stream {
    body: Incoming,
    reader: Reader,
    waiting: VecDeque<Frame>,
}

/// One event of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub id: u64,
    pub item: Value,
}

/// Longest silence of a stream: comments come every four seconds.
const SILENCE: Duration = Duration::from_secs(30);

impl Stream {
    /// The next event; `None` at a proper end.
    pub async fn next(&mut self) -> Result<Option<Frame>, Lost> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Ok(Some(frame));
            }
            let Some(frame) = timeout(SILENCE, self.body.frame()).await.expect("a stream is not silent")
            else {
                return Ok(None);
            };
            let Ok(data) = frame?.into_data() else { continue };
            for event in self.reader.feed(&data) {
                let event = event.unwrap();
                self.waiting.push_back(Frame {
                    id: event.id.parse().expect("every event has a number"),
                    item: serde_json::from_str(&event.data).unwrap(),
                });
            }
        }
    }

    /// All that comes until its end.
    pub async fn rest(mut self) -> Result<Vec<Frame>, Lost> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await? {
            frames.push(frame);
        }
        Ok(frames)
    }
}
