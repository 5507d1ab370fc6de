//! Callers: the same operation over every binding.

use baton_wire::operation::Operation;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use super::client::{Http, query, request, segment, whole};
use super::{Answer, Stream, grpc};

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Rpc,
    Rest,
    Grpc,
}

pub const DOORS: [Door; 3] = [Door::Rpc, Door::Rest, Door::Grpc];

/// Somebody who calls one agent.
#[derive(Clone, Debug)]
pub struct User {
    http: Http,
    base: String,
    pub agent: String,
    pub door: Door,
    headers: Vec<(String, String)>,
}

/// A message with an id of its own.
pub fn message(text: &str) -> Value {
    json!({"messageId": baton::clock::new_id().to_string(), "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// The text of a message or an artifact.
pub fn text_of(value: &Value) -> String {
    value["parts"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
}

impl User {
    pub fn new(base: &str, agent: &str, token: Option<&str>) -> Self {
        let headers = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        Self {
            http: Http::default(),
            base: base.to_owned(),
            agent: agent.to_owned(),
            door: Door::Rpc,
            headers: headers.into_iter().collect(),
        }
    }

    /// The same caller at another address of the node, by TLS as this says.
    pub fn by_tls(&self, base: &str, config: rustls::ClientConfig) -> Self {
        Self { http: Http::tls(config), base: base.to_owned(), ..self.clone() }
    }

    /// The same caller without any header of its own.
    pub fn bare(&self) -> Self {
        Self { headers: Vec::new(), ..self.clone() }
    }

    /// The same caller over every binding.
    pub fn doors(&self) -> [Self; 3] {
        DOORS.map(|door| self.over(door))
    }

    /// The same caller over the bindings of JSON, for requests that are written by hand.
    pub fn json_doors(&self) -> [Self; 2] {
        [Door::Rpc, Door::Rest].map(|door| self.over(door))
    }

    pub fn over(&self, door: Door) -> Self {
        Self { door, ..self.clone() }
    }

    /// The same caller at another agent.
    pub fn to(&self, agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..self.clone() }
    }

    /// The same caller with one more header.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut user = self.clone();
        user.headers.push((name.to_owned(), value.to_owned()));
        user
    }

    pub fn token(&self) -> &str {
        self.headers.iter().find(|(name, _)| name == "authorization").map_or("", |(_, value)| &value[7..])
    }

    /// Whether it says `Authorization: Bearer …`.
    pub fn is_bearer(&self) -> bool {
        self.headers
            .iter()
            .any(|(name, value)| name == "authorization" && value.to_lowercase().starts_with("bearer "))
    }

    fn url(&self, below: &str) -> String {
        format!("{}/a2a/{}{below}", self.base, self.agent)
    }

    /// The URL of a path of the node itself.
    pub fn at_origin(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// One operation, as this binding spells it.
    pub fn request(&self, operation: Operation, params: &Value) -> Request<Full<Bytes>> {
        match self.door {
            Door::Rpc => {
                let method = operation.method();
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                self.raw("POST", "", body.to_string())
            }
            Door::Rest => {
                let (method, path, body) = rest(operation, params.clone());
                self.raw(method, &path, body)
            }
            Door::Grpc => {
                let (method, mut params) = (grpc::method(operation), params.clone());
                params.as_object_mut().unwrap().entry("tenant").or_insert_with(|| json!(self.agent));
                self.grpc(&grpc::path(&method), grpc::request(&method, params))
            }
        }
    }

    /// A request below the agent's URL.
    pub fn raw(&self, method: &str, below: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        let body = body.into();
        let mut headers: Vec<(&str, &str)> = self.headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
            headers.push(("content-type", "application/json"));
        }
        request(method, &self.url(below), &headers, body)
    }

    /// A call of gRPC with any bytes.
    pub fn grpc(&self, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        let headers = self.headers.iter().map(|(name, value)| (&**name, &**value));
        let grpc = [("content-type", "application/grpc"), ("te", "trailers")];
        let headers: Vec<_> = grpc.into_iter().chain(headers).collect();
        request("POST", &self.at_origin(path), &headers, body)
    }

    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Answer {
        self.http.answer(request, self.door).await
    }

    /// What comes back as it is: headers and trailers, and the body.
    pub async fn bytes(&self, request: Request<Full<Bytes>>) -> (http::HeaderMap, Bytes) {
        use http_body_util::BodyExt as _;
        let (parts, body) = self.http.open(request, self.door).await.into_parts();
        let body = super::soon(body.collect()).await.unwrap();
        let mut headers = parts.headers;
        headers.extend(body.trailers().cloned().unwrap_or_default());
        (headers, body.to_bytes())
    }

    pub async fn call(&self, operation: Operation, params: Value) -> Answer {
        self.ask(self.request(operation, &params)).await
    }

    /// A stream, or the answer that came in its place.
    pub async fn open(&self, operation: Operation, params: Value) -> Result<Stream, Answer> {
        self.try_open(self.request(operation, &params)).await
    }

    pub async fn open_request(&self, request: Request<Full<Bytes>>) -> Stream {
        self.try_open(request).await.unwrap()
    }

    /// Whether a connection comes about.
    pub async fn connects(&self) -> bool {
        self.http.try_open(self.raw("GET", "/nothing", ""), self.door).await.is_ok()
    }

    /// The answer as it comes, its body not yet read.
    pub async fn open_raw(&self, request: Request<Full<Bytes>>) -> http::Response<hyper::body::Incoming> {
        self.http.open(request, self.door).await
    }

    /// A stream, or the answer that came in its place, to any request.
    pub async fn try_open(&self, request: Request<Full<Bytes>>) -> Result<Stream, Answer> {
        let response = self.http.open(request, self.door).await;
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap());
        if kind == Some("text/event-stream") || (self.door == Door::Grpc && grpc::is_stream(&response)) {
            return Ok(Stream::new(self.door, response));
        }
        Err(whole(response, self.door).await)
    }

    /// SendMessage: the answer as it is.
    pub async fn try_send(&self, message: Value) -> Answer {
        self.call(Operation::SendMessage, json!({"message": message})).await
    }

    /// SendMessage, to the end: the task.
    pub async fn send(&self, text: &str) -> Value {
        self.try_send(message(text)).await.ok()["task"].take()
    }

    /// SendMessage that returns at once: the task's id.
    pub async fn hand_in(&self, text: &str) -> String {
        self.hand_in_message(message(text)).await["id"].as_str().unwrap().to_owned()
    }

    /// SendMessage that returns at once: the task.
    pub async fn hand_in_message(&self, message: Value) -> Value {
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        self.call(Operation::SendMessage, params).await.ok()["task"].take()
    }

    /// A follow-up: the answer as it is.
    pub async fn follow_up(&self, task: &str, text: &str) -> Answer {
        let mut message = message(text);
        message["taskId"] = task.into();
        self.try_send(message).await
    }

    /// SendStreamingMessage.
    pub async fn stream(&self, text: &str) -> Stream {
        self.stream_message(message(text)).await
    }

    pub async fn stream_message(&self, message: Value) -> Stream {
        self.open(Operation::SendStreamingMessage, json!({"message": message})).await.unwrap()
    }

    pub async fn subscribe(&self, task: &str) -> Stream {
        self.open(Operation::SubscribeToTask, json!({"id": task})).await.unwrap()
    }

    /// SubscribeToTask with `Last-Event-ID`.
    pub async fn resume(&self, task: &str, last: u64) -> Stream {
        self.with("last-event-id", &last.to_string()).subscribe(task).await
    }

    /// SubscribeToTask that is refused.
    pub async fn subscribe_in_vain(&self, task: &str) -> Answer {
        let opened = self.open(Operation::SubscribeToTask, json!({"id": task})).await;
        opened.expect_err("no stream begins")
    }

    pub async fn get(&self, task: &str) -> Value {
        self.call(Operation::GetTask, json!({"id": task})).await.ok()
    }

    /// The task's state without its prefix.
    pub async fn state(&self, task: &str) -> String {
        state(&self.get(task).await)
    }

    pub async fn list(&self, params: Value) -> Value {
        self.call(Operation::ListTasks, params).await.ok()
    }

    pub async fn cancel(&self, task: &str) -> Answer {
        self.call(Operation::CancelTask, json!({"id": task})).await
    }
}

/// The state of a task without its prefix.
pub fn state(task: &Value) -> String {
    task["status"]["state"].as_str().unwrap().trim_start_matches("TASK_STATE_").to_owned()
}

/// Method, path and body of an operation over REST, written down by hand from §11.3.
fn rest(operation: Operation, mut params: Value) -> (&'static str, String, String) {
    let mut take = |name: &str| {
        let taken = params.as_object_mut().unwrap().remove(name);
        segment(taken.as_ref().and_then(Value::as_str).unwrap_or_default())
    };
    match operation {
        Operation::SendMessage => ("POST", "/message:send".to_owned(), params.to_string()),
        Operation::SendStreamingMessage => ("POST", "/message:stream".to_owned(), params.to_string()),
        Operation::GetTask => {
            let id = take("id");
            ("GET", format!("/tasks/{id}{}", query(&params)), String::new())
        }
        Operation::ListTasks => ("GET", format!("/tasks{}", query(&params)), String::new()),
        Operation::CancelTask => ("POST", format!("/tasks/{}:cancel", take("id")), String::new()),
        Operation::SubscribeToTask => ("GET", format!("/tasks/{}:subscribe", take("id")), String::new()),
        Operation::CreateTaskPushNotificationConfig => {
            let id = take("taskId");
            ("POST", format!("/tasks/{id}/pushNotificationConfigs"), params.to_string())
        }
        Operation::GetTaskPushNotificationConfig => {
            let (task, id) = (take("taskId"), take("id"));
            ("GET", format!("/tasks/{task}/pushNotificationConfigs/{id}"), String::new())
        }
        Operation::ListTaskPushNotificationConfigs => {
            ("GET", format!("/tasks/{}/pushNotificationConfigs", take("taskId")), String::new())
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let (task, id) = (take("taskId"), take("id"));
            ("DELETE", format!("/tasks/{task}/pushNotificationConfigs/{id}"), String::new())
        }
        Operation::GetExtendedAgentCard => ("GET", "/extendedAgentCard".to_owned(), String::new()),
    }
}
