//! The operations of A2A 1.0, asked of another agent.

use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::json::Json;
use baton_core::model::{AgentCard, Message, Role, TaskObject};
use baton_wire::client::{
    Binding, CONTENT_TYPE, RestRequest, VERSION, jsonrpc_request, read_jsonrpc, read_rest,
};
use baton_wire::jsonrpc::Id;
use baton_wire::request::{
    Call, CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest, SubscribeToTaskRequest,
};
use baton_wire::response::{ListTasksResponse, SendMessageResponse};
use bytes::Bytes;
use http::Method;
use serde::de::DeserializeOwned;

use super::transport::{self, Transport};
use super::{Address, Error, Events, Found, Interface, Options, card};

/// Another agent, its card read.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    found: Found,
    interface: Interface,
    next_id: AtomicU64,
}

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream, application/json;q=0.9";

impl Client {
    /// Finds the card of the agent at `url` and chooses the interface to talk to.
    pub async fn connect(url: &str, options: &Options) -> Result<Self, Error> {
        let named = Address::parse(url)?;
        Self::over(Transport::new(&named.place, options)?, &named).await
    }

    /// As [`Client::connect`], over connections of one's own.
    pub async fn over(transport: Transport, named: &Address) -> Result<Self, Error> {
        let found = card::find(&transport, named).await?;
        let interface = found.choose()?;
        Ok(Self { transport, found, interface, next_id: AtomicU64::new(1) })
    }

    /// Only the card, whatever it offers.
    pub async fn find(url: &str, options: &Options) -> Result<Found, Error> {
        let named = Address::parse(url)?;
        card::find(&Transport::new(&named.place, options)?, &named).await
    }

    pub const fn card(&self) -> &AgentCard {
        &self.found.card
    }

    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The token was given for another origin than the one the card sends us to.
    pub fn withholds_token(&self) -> bool {
        self.transport.has_token() && !self.transport.is_token_for(&self.interface.address.place)
    }

    /// Whether the card says that it streams.
    pub fn streams(&self) -> bool {
        self.card().capabilities.streaming == Some(true)
    }

    pub async fn send(&self, request: SendMessageRequest) -> Result<SendMessageResponse, Error> {
        self.ask(Call::SendMessage(Box::new(request))).await
    }

    pub async fn stream(&self, request: SendMessageRequest) -> Result<Events, Error> {
        self.open(Call::SendStreamingMessage(Box::new(request)), None).await
    }

    pub async fn get(&self, id: &str, history_length: Option<i32>) -> Result<TaskObject, Error> {
        self.ask(Call::GetTask(GetTaskRequest { id: id.to_owned(), history_length, ..Default::default() }))
            .await
    }

    pub async fn list(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Error> {
        self.ask(Call::ListTasks(request)).await
    }

    /// The least that a caller with credentials may ask: whether they are taken.
    pub async fn probe(&self) -> Result<(), Error> {
        let one = ListTasksRequest { page_size: Some(1), ..ListTasksRequest::default() };
        self.list(one).await.map(drop)
    }

    /// Sends a text and waits for what comes of it: a task or a message, as JSON.
    pub async fn say(&self, id: &str, text: &str) -> Result<Json, Error> {
        let message = Message::text(Role::User, id, text);
        let answer = self.send(SendMessageRequest { message, ..SendMessageRequest::default() }).await?;
        Json::from_serialize(&answer).map_err(|why| {
            Error::unreadable(
                &self.interface.address.to_string(),
                format!("the answer cannot be shown: {why}"),
            )
        })
    }

    pub async fn cancel(&self, id: &str) -> Result<TaskObject, Error> {
        self.ask(Call::CancelTask(CancelTaskRequest { id: id.to_owned(), ..Default::default() })).await
    }

    /// The task's events from now on, or those after `last_event_id` where the server can go back.
    pub async fn subscribe(&self, id: &str, last_event_id: Option<&str>) -> Result<Events, Error> {
        let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
        self.open(Call::SubscribeToTask(request), last_event_id).await
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let limits = self.transport.limits;
        let within = match &call {
            Call::SendMessage(_) => limits.send_within,
            _ => limits.answer_within,
        };
        let Spelled { to, method, body } = self.spell(call);
        let headers = headers(None);
        let call = transport::Call { method, accept: JSON, headers: &headers, body };
        let (status, body) = self.transport.call(&to, call, (limits.answer, within)).await?;
        let answer = match self.interface.binding {
            Binding::JsonRpc => read_jsonrpc(status.as_u16(), &body),
            Binding::Rest => read_rest(status.as_u16(), &body),
        };
        answer.map_err(|failure| Error::from_failure(failure, &to.to_string()))
    }

    async fn open(&self, call: Call, last_event_id: Option<&str>) -> Result<Events, Error> {
        let Spelled { to, method, body } = self.spell(call);
        let headers = headers(last_event_id);
        let call = transport::Call { method, accept: STREAM, headers: &headers, body };
        Events::open(&self.transport, &to, call, self.interface.binding).await
    }

    fn spell(&self, mut call: Call) -> Spelled {
        if self.interface.tenant.is_some() {
            call.tenant_mut().clone_from(&self.interface.tenant);
        }
        match self.interface.binding {
            Binding::JsonRpc => {
                let id = Id::number(self.next_id.fetch_add(1, Ordering::Relaxed));
                let to = self.interface.address.clone();
                Spelled { to, method: Method::POST, body: jsonrpc_request(&id, &call) }
            }
            Binding::Rest => {
                let RestRequest { method, target, body } = RestRequest::new(&call);
                let to = self.interface.address.below(&target);
                Spelled { to, method, body: body.unwrap_or_default() }
            }
        }
    }
}

/// A call on its way.
struct Spelled {
    to: Address,
    method: Method,
    body: Bytes,
}

fn headers(last_event_id: Option<&str>) -> Vec<(&'static str, &str)> {
    let mut headers = vec![("content-type", CONTENT_TYPE), ("a2a-version", VERSION)];
    headers.extend(last_event_id.map(|id| ("last-event-id", id)));
    headers
}
