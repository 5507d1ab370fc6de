//! A node's admin API, `/api/v1`, as its operator calls it. The command `baton node` is in [`control`](super::control).

use std::time::Duration;

use baton_core::ident::Owner;
use baton_core::json::Json;
use baton_core::model::TaskObject;
use baton_wire::client::{Binding, read_rest};
use baton_wire::query::segment;
use bytes::Bytes;
use http::Method;
use serde::Deserialize;

use crate::federation::{Address, Call, Error, Events, Limits, Options, Place, Transport};

use super::access::NodeArgs;
use super::{Failure, Global};

/// A node to administer.
#[derive(Debug)]
pub struct Node {
    transport: Transport,
    base: Address,
    /// What a resumed command needs to find it again.
    pub flags: String,
}

/// One task as the admin API shows it.
#[derive(Debug, Deserialize)]
pub struct Shown {
    pub agent: String,
    pub owner: Owner,
    pub task: TaskObject,
}

/// How long the node may take: cancelling waits up to ten seconds for the end.
const WITHIN: Duration = Duration::from_secs(30);

impl Node {
    pub fn new(global: &Global, args: &NodeArgs) -> Result<Self, Failure> {
        let (base, options, flags) = if let Some(url) = &args.node {
            (
                Address::parse(url)?,
                args.access.options()?,
                format!(" --node {}{}", quoted(url), args.access.flags()),
            )
        } else {
            let place = Place::Unix(NodeArgs::socket(global));
            let dir = global.data_dir.as_ref().map(|dir| quoted(&dir.to_string_lossy()));
            let flags = dir.map(|dir| format!(" --data-dir {dir}")).unwrap_or_default();
            // The socket knows its operator by the kernel's word; a token meant for others stays here.
            (Address::at(place), Options::default(), flags)
        };
        let transport = Transport::new(&base.place, &options)?;
        Ok(Self { transport, base, flags })
    }

    pub async fn get(&self, path: &str) -> Result<Json, Failure> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    pub async fn post(&self, path: &str, body: Bytes) -> Result<Json, Failure> {
        self.call(Method::POST, path, body).await
    }

    pub async fn delete(&self, path: &str) -> Result<Json, Failure> {
        self.call(Method::DELETE, path, Bytes::new()).await
    }

    /// A task's events from now on, or those after `last_event_id`.
    pub async fn events(&self, id: &str, last_event_id: Option<&str>) -> Result<Events, Error> {
        let to = self.base.below(&format!("/api/v1/tasks/{}/events", segment(id)));
        let headers: Vec<_> = last_event_id.map(|id| ("last-event-id", id)).into_iter().collect();
        let call =
            Call { method: Method::GET, accept: "text/event-stream", headers: &headers, body: Bytes::new() };
        Events::open(&self.transport, &to, call, Binding::Rest).await
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Json, Failure> {
        self.try_call(method, path, body).await.map_err(|why| self.explain(why))
    }

    pub async fn try_call(&self, method: Method, path: &str, body: Bytes) -> Result<Json, Error> {
        let to = self.base.below(&format!("/api/v1/{path}"));
        let headers = [("content-type", "application/json")];
        let headers = if body.is_empty() { &[][..] } else { &headers[..] };
        let call = Call { method, accept: "application/json", headers, body };
        let (status, body) = self.transport.call(&to, call, (Limits::default().answer, WITHIN)).await?;
        read_rest(status.as_u16(), &body).map_err(|failure| Error::from_failure(failure, &to.to_string()))
    }

    /// What an error means where a node was to be administered.
    pub fn explain(&self, error: Error) -> Failure {
        let unreachable = matches!(error, Error::Unreachable { .. });
        let failure = Failure::from(error);
        match &self.base.place {
            Place::Unix(_) if unreachable => failure.with_hint(
                "No node answers there. Start one with `baton serve`, or name its data folder with --data-dir, \
                 or its URL with --node.",
            ),
            Place::Unix(_) | Place::Tcp { .. } => failure,
        }
    }
}

/// Reads what the admin API answered.
pub fn typed<T: for<'de> Deserialize<'de>>(json: &Json) -> Result<T, Failure> {
    serde_json::from_str(json.as_str()).map_err(|why| {
        Failure::failed(format!("the node's answer cannot be read: {why}; is it of another version?"))
    })
}

/// The path of one thing of a kind, and of what is done with it; empty where it is only looked at or ended.
pub fn path(kind: &str, id: &str, what: &str) -> String {
    let path = format!("{kind}/{}", segment(id));
    if what.is_empty() { path } else { format!("{path}/{what}") }
}

/// `?a=1&b=2` of what is given.
pub fn query<const N: usize>(given: [(&str, Option<String>); N]) -> String {
    let given = given.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(&value?))));
    let given = given.collect::<Vec<_>>().join("&");
    if given.is_empty() { given } else { format!("?{given}") }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    shell_words::quote(word).into_owned()
}
