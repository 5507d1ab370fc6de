//! A2A 0.3 at the doors: what its clients send and what they read.

mod push;
mod refusals;
mod streams;
mod tasks;

use baton_wire::sse::{Event, Reader};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, soon};

/// A client of 0.3 at one agent, over one of its bindings.
struct Old {
    user: User,
}

/// Both bindings of JSON.
fn old(node: &TestNode, agent: &str) -> [Old; 2] {
    node.json_doors(agent).map(|user| Old { user })
}

/// A message in the spelling of JSON-RPC, which REST takes too.
fn message(text: &str) -> Value {
    json!({"kind": "message", "messageId": baton::clock::new_id().to_string(), "role": "user",
        "parts": [{"kind": "text", "text": text}]})
}

/// `completed` or `TASK_STATE_COMPLETED`, as one word.
fn state(task: &Value) -> String {
    let state = task["status"]["state"].as_str().unwrap_or_else(|| panic!("no task: {task}"));
    state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-").replace("cancelled", "canceled")
}

fn id(task: &Value) -> String {
    task["id"].as_str().unwrap_or_else(|| panic!("no task: {task}")).to_owned()
}

impl Old {
    fn is_rpc(&self) -> bool {
        self.user.door == Door::Rpc
    }

    fn rpc(&self, method: &str, params: &Value) -> Request<Full<Bytes>> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.user.raw("POST", "", body.to_string())
    }

    fn send_request(&self, method: &str, params: &Value) -> Request<Full<Bytes>> {
        if self.is_rpc() {
            return self.rpc(&format!("message/{method}"), params);
        }
        self.user.raw("POST", &format!("/v1/message:{method}"), params.to_string())
    }

    fn about_request(&self, verb: &str, task: &str) -> Request<Full<Bytes>> {
        match (self.is_rpc(), verb) {
            (true, verb) => self.rpc(&format!("tasks/{verb}"), &json!({"id": task})),
            (false, "get") => self.user.raw("GET", &format!("/v1/tasks/{task}"), ""),
            (false, "resubscribe") => self.user.raw("GET", &format!("/v1/tasks/{task}:subscribe"), ""),
            (false, verb) => self.user.raw("POST", &format!("/v1/tasks/{task}:{verb}"), ""),
        }
    }

    /// `message/send` with this configuration.
    async fn try_send(&self, message: Value, configuration: Value) -> Answer {
        let params = json!({"message": message, "configuration": configuration});
        self.user.ask(self.send_request("send", &params)).await
    }

    /// What was sent, to the end: the task or the message.
    async fn send(&self, text: &str) -> Value {
        self.payload(&self.try_send(message(text), json!({"blocking": true})).await)
    }

    /// A send that returns at once: the task.
    async fn hand_in(&self, text: &str) -> Value {
        self.payload(&self.try_send(message(text), json!({"blocking": false})).await)
    }

    /// The task or message of an answer, which REST wraps.
    fn payload(&self, answer: &Answer) -> Value {
        let mut value = answer.ok();
        if self.is_rpc() {
            return value;
        }
        let members = value.as_object_mut().unwrap();
        assert_eq!(members.len(), 1, "one of two: {members:?}");
        members.values_mut().next().unwrap().take()
    }

    /// `tasks/get`, `tasks/cancel`.
    async fn about(&self, verb: &str, task: &str) -> Answer {
        self.user.ask(self.about_request(verb, task)).await
    }

    async fn get(&self, task: &str) -> Value {
        self.about("get", task).await.ok()
    }

    /// A stream of 0.3; asked for as the libraries do.
    async fn open(&self, request: Request<Full<Bytes>>) -> Frames {
        let (mut parts, body) = request.into_parts();
        parts.headers.insert("accept", http::HeaderValue::from_static("text/event-stream"));
        let response = self.user.open_raw(Request::from_parts(parts, body)).await;
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        assert_eq!(kind.as_deref(), Some("text/event-stream"));
        Frames {
            rpc: self.is_rpc(),
            body: response.into_body(),
            reader: Reader::new(1 << 20),
            waiting: std::collections::VecDeque::new(),
        }
    }

    async fn stream(&self, text: &str) -> Frames {
        self.open(self.send_request("stream", &json!({"message": message(text)}))).await
    }
}

/// The events of a stream.
struct Frames {
    rpc: bool,
    body: hyper::body::Incoming,
    reader: Reader,
    waiting: std::collections::VecDeque<Event>,
}

impl Frames {
    async fn event(&mut self) -> Option<Event> {
        while self.waiting.is_empty() {
            let frame = soon(self.body.frame()).await?.expect("the stream is not cut");
            if let Ok(bytes) = frame.into_data() {
                self.waiting.extend(self.reader.feed(&bytes).map(Result::unwrap));
            }
        }
        self.waiting.pop_front()
    }

    /// The next event in short: `task submitted`, `working`, `a=text`, `a+=text.`, `completed, final`.
    async fn line(&mut self) -> String {
        let Some(event) = self.event().await else { return "end".to_owned() };
        assert!(!event.data.contains('\n'), "one line of data: {event:?}");
        let value: Value = serde_json::from_str(&event.data).unwrap();
        if !self.rpc {
            let (name, item) = value.as_object().and_then(|item| item.iter().next()).unwrap();
            return line(name, item);
        }
        assert_eq!((&value["jsonrpc"], &value["id"]), (&"2.0".into(), &1.into()), "{value}");
        let item = &value["result"];
        let name = match item["kind"].as_str() {
            Some("status-update") => "statusUpdate",
            Some("artifact-update") => "artifactUpdate",
            Some(kind) => kind,
            None => panic!("no kind: {value}"),
        };
        line(name, item)
    }

    async fn lines(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.line().await {
                end if end == "end" => return lines,
                line => lines.push(line),
            }
        }
    }
}

fn texts(parts: &Value) -> String {
    parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
}

fn line(name: &str, item: &Value) -> String {
    match name {
        "task" => format!("task {}", state(item)),
        "message" => format!("message {}", texts(item.get("parts").unwrap_or(&item["content"]))),
        "statusUpdate" => {
            let last = if item["final"].as_bool().unwrap() { ", final" } else { "" };
            format!("{}{last}", state(item))
        }
        "artifactUpdate" => {
            let sign = if item["append"] == true { "+=" } else { "=" };
            let dot = if item["lastChunk"] == true { "." } else { "" };
            let artifact = &item["artifact"];
            format!("{}{sign}{}{dot}", artifact["artifactId"].as_str().unwrap(), texts(&artifact["parts"]))
        }
        other => panic!("no event of 0.3: {other} {item}"),
    }
}
