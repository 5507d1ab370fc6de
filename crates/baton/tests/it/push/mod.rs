//! Push notifications: the operations at every door, and what reaches a real receiver.

mod delivering;
mod ending;
mod failing;
mod operations;
mod secrets;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use baton::config::settings::{Destination, Network, Settings};
use serde_json::{Value, json};

use crate::harness::{Frame, TestNode, User, message, until};
use crate::script::{Asked, Server};

/// What a receiver does with a notification.
#[derive(Clone, Debug)]
enum Reply {
    Status(u16),
    /// With these headers.
    With(u16, &'static str, String),
}

/// A receiver of webhooks on loopback.
struct Hook {
    server: Server,
}

impl Hook {
    /// Takes everything.
    async fn start() -> Self {
        Self::replying([]).await
    }

    /// Does these first, then takes everything.
    async fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let next = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        let server = Server::start(move |_, _, _| {
            match next.lock().unwrap().pop_front().unwrap_or(Reply::Status(200)) {
                Reply::Status(status) => answer(status).body(Body::empty()).unwrap(),
                Reply::With(status, name, value) => {
                    answer(status).header(name, value).body(Body::empty()).unwrap()
                }
            }
        })
        .await;
        Self { server }
    }

    fn url(&self) -> String {
        format!("{}/hook", self.server.url)
    }

    fn got(&self) -> Vec<Asked> {
        self.server.asked_for("POST /hook")
    }

    /// Waits for so many notifications in all.
    async fn gets(&self, n: usize) -> Vec<Asked> {
        until("the receiver is told", async || self.got().len() >= n).await;
        self.got()
    }

    /// What it was told so far, in short.
    fn lines(&self) -> Vec<String> {
        self.got().iter().map(line).collect()
    }
}

/// Takes connections and never says anything.
pub struct Mute {
    pub url: String,
    connections: Arc<AtomicUsize>,
}

impl Mute {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                open.push(stream);
            }
        });
        Self { url, connections }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn answer(status: u16) -> http::response::Builder {
    http::Response::builder().status(status)
}

/// A notification in short, as an event of a stream.
fn line(asked: &Asked) -> String {
    let id = asked.header("baton-event-sequence").unwrap().parse().unwrap();
    Frame { id, value: asked.json() }.line()
}

pub fn allow_loopback(settings: &mut Settings) {
    let network = Network { address: [127, 0, 0, 0].into(), prefix: 8 };
    settings.net.allow = vec![Destination::Network(network)];
}

/// A node in dev mode that may call receivers on loopback.
async fn node() -> TestNode {
    TestNode::with(allow_loopback).await
}

/// SendMessage that returns at once, with a configuration: the task's id.
pub async fn hand_in(user: &User, text: &str, config: &Value) -> String {
    let params = json!({
        "message": message(text),
        "configuration": {"returnImmediately": true, "taskPushNotificationConfig": config},
    });
    let sent = user.call(baton_wire::operation::Operation::SendMessage, params).await.ok();
    sent["task"]["id"].as_str().unwrap().to_owned()
}

/// Lets time pass, and the sender notice it.
fn wait(node: &TestNode, by: Duration) {
    node.clock.advance(by);
    node.node().service.hub.owed().notify_one();
}

/// What the operator sees of the only configuration of a task.
async fn delivery(node: &TestNode, task: &str) -> Value {
    let page = node.operator("GET", &format!("/api/v1/deliveries?task={task}"), None).await.json();
    assert_eq!(page["deliveries"].as_array().unwrap().len(), 1, "{page}");
    page["deliveries"][0].clone()
}

/// Waits until nothing is owed to the only configuration of a task.
async fn settled(node: &TestNode, task: &str) {
    until("nothing is owed", async || {
        let delivery = delivery(node, task).await;
        delivery["state"] != "active" || delivery.get("dueAt").is_none()
    })
    .await;
}
