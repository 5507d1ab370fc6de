//! The client's side of A2A 1.0: requests written, answers and errors read. Reading is lenient, since the other side
//! may be any server.

mod answer;
mod failure;
mod rest;

pub use answer::{read_event, read_jsonrpc, read_rest};
pub use failure::{Failure, RemoteError};
pub use rest::RestRequest;

use bytes::Bytes;
use serde::Serialize;

use crate::jsonrpc::Id;
use crate::request::Call;
use crate::response::encode;

/// The media type of requests. Every 1.0 server takes it in both bindings; `application/a2a+json` some do not.
pub const CONTENT_TYPE: &str = "application/json";

/// The value of the `A2A-Version` header that every request carries (§3.6.1).
pub const VERSION: &str = "1.0";

/// Which of the two HTTP bindings an interface speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    Rest,
}

impl Binding {
    /// By the `protocolBinding` of an interface in a card.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "JSONRPC" => Some(Self::JsonRpc),
            "HTTP+JSON" => Some(Self::Rest),
            _ => None,
        }
    }
}

/// The body of a JSON-RPC request, posted to the interface's URL as it stands.
pub fn jsonrpc_request(id: &Id, call: &Call) -> Bytes {
    let method = call.operation().method();
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => envelope(id, method, request),
        Call::GetTask(request) => envelope(id, method, request),
        Call::ListTasks(request) => envelope(id, method, request),
        Call::CancelTask(request) => envelope(id, method, request),
        Call::SubscribeToTask(request) => envelope(id, method, request),
        Call::CreateTaskPushNotificationConfig(config) => envelope(id, method, config),
        Call::GetTaskPushNotificationConfig(request) => envelope(id, method, request),
        Call::ListTaskPushNotificationConfigs(request) => envelope(id, method, request),
        Call::DeleteTaskPushNotificationConfig(request) => envelope(id, method, request),
        Call::GetExtendedAgentCard(request) => envelope(id, method, request),
    }
}

fn envelope(id: &Id, method: &str, params: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Envelope<'a, P> {
        jsonrpc: &'static str,
        id: &'a Id,
        method: &'a str,
        params: &'a P,
    }
    encode(&Envelope { jsonrpc: "2.0", id, method, params })
}
