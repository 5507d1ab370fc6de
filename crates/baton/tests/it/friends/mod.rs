//! Friend requests: a stranger asks, a human decides, the stranger picks its credential up.

mod asking;
mod attacks;
mod deciding;
mod looking;
mod nodes;
mod peering;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::response::Response;
use baton::config::settings::{Destination, Network, Settings};
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, request};
use crate::script::{Server, nothing};

/// A request's answer: who may ask for what became of it.
#[derive(Clone, Debug)]
struct Asked {
    id: String,
    secret: String,
    code: String,
}

/// What a stranger sends, with another card each time.
fn wish(card: &str) -> Value {
    json!({"cardUrl": card, "agents": ["echo"], "verbs": ["send", "read"], "why": "to try it out"})
}

async fn post(node: &TestNode, from: &str, body: &Value) -> Answer {
    let url = format!("{}/friend-requests", node.url());
    let headers = [("content-type", "application/json"), ("x-forwarded-for", from)];
    node.anyone("echo").over(Door::Rest).ask(request("POST", &url, &headers, body.to_string())).await
}

/// A request that is taken in.
async fn ask(node: &TestNode, body: &Value) -> Asked {
    let answer = post(node, "192.0.2.1", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let made = answer.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Asked { id: text("id"), secret: text("secret"), code: text("code") }
}

impl Asked {
    async fn call(&self, node: &TestNode, method: &str, below: &str, secret: &str) -> Answer {
        let url = format!("{}/friend-requests/{}{below}", node.url(), self.id);
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", &*bearer), ("x-forwarded-for", "192.0.2.1")];
        node.anyone("echo").over(Door::Rest).ask(request(method, &url, &headers, "")).await
    }

    async fn state(&self, node: &TestNode) -> Value {
        self.call(node, "GET", "", &self.secret).await.json()
    }

    async fn pick_up(&self, node: &TestNode) -> Answer {
        self.call(node, "POST", "/credential", &self.secret).await
    }

    /// The holder of a credential that is picked up.
    async fn holder(&self, node: &TestNode) -> User {
        let answer = self.pick_up(node).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        User::new(node.url(), "echo", answer.json()["token"].as_str())
    }

    async fn operate(&self, node: &TestNode, what: &str, body: Option<&Value>) -> Answer {
        let (method, below) =
            if what.is_empty() { ("GET", String::new()) } else { ("POST", format!("/{what}")) };
        node.operator(method, &format!("/api/v1/friend-requests/{}{below}", self.id), body).await
    }

    async fn shown(&self, node: &TestNode) -> Value {
        self.operate(node, "", None).await.json()
    }

    async fn approve(&self, node: &TestNode) -> Value {
        self.operate(node, "approve", None).await.ok()
    }
}

/// A node out of dev mode, behind a proxy on this machine that tests play by naming addresses.
async fn node(change: impl FnOnce(&mut Settings)) -> TestNode {
    TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.trusted_proxies = vec![loopback()];
        settings.net.allow = vec![Destination::Network(Network { prefix: 8, ..loopback() })];
        change(settings);
    })
    .await
}

fn loopback() -> Network {
    Network { address: [127, 0, 0, 1].into(), prefix: 32 }
}

/// A stranger's own server, and what it serves at which path.
#[derive(Clone)]
struct Home {
    server: Server,
    documents: Documents,
}

type Documents = Arc<Mutex<HashMap<String, Document>>>;

#[derive(Clone)]
enum Document {
    Json(String),
    Redirect(String),
}

impl Home {
    async fn open() -> Self {
        let documents = Documents::default();
        let known = Arc::clone(&documents);
        let server = Server::start(move |_, asked, _| {
            let path = asked.line.split(' ').nth(1).unwrap();
            match known.lock().unwrap().get(path) {
                Some(Document::Json(text)) => Response::new(Body::from(text.clone())),
                Some(Document::Redirect(to)) => {
                    Response::builder().status(302).header("location", to).body(Body::empty()).unwrap()
                }
                None => nothing(),
            }
        })
        .await;
        Self { server, documents }
    }

    /// The URL of its card.
    fn card(&self) -> String {
        format!("{}/card.json", self.server.url)
    }

    fn put(&self, path: &str, document: Document) {
        self.documents.lock().unwrap().insert(path.to_owned(), document);
    }

    fn put_card(&self, card: &Value) {
        self.put("/card.json", Document::Json(card.to_string()));
    }

    /// How often it was asked for anything.
    fn hits(&self) -> usize {
        self.server.asked().len()
    }
}
