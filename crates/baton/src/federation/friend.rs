//! Asking another node for a grant: the client's side of the extension `urn:x-baton:friend-request:v1`.

use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_wire::client::read_rest;
use baton_wire::response::encode;
use bytes::Bytes;
use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

use super::transport::Call;
use super::{Address, Error, Transport};

/// Bytes of an answer, and how long it may take.
const BOUNDS: (usize, Duration) = (64 * 1024, Duration::from_secs(15));

/// What is asked for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wish<'a> {
    pub card_url: &'a str,
    pub agents: &'a [AgentName],
    pub verbs: &'a [&'a str],
    pub why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<&'a str>,
}

/// A request that was taken in.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    pub id: String,
    pub secret: String,
    pub code: String,
    pub expires_at: Timestamp,
}

impl fmt::Debug for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How it stands.
#[derive(Clone, Debug, Deserialize)]
pub struct Stands {
    pub state: String,
}

/// The credential that came of it.
#[derive(Clone, Deserialize)]
pub struct Credential {
    pub token: String,
    pub granted: Granted,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("granted", &self.granted).finish_non_exhaustive()
    }
}

/// What it is good for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    pub agents: Vec<Agent>,
    pub verbs: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Agent {
    pub name: String,
    pub url: String,
}

/// Sends a request.
pub async fn ask(transport: &Transport, at: &Address, wish: &Wish<'_>) -> Result<Taken, Error> {
    call(transport, Method::POST, at, encode(wish)).await
}

/// Looks what became of one; the transport carries its secret.
pub async fn look(transport: &Transport, request: &Address) -> Result<Stands, Error> {
    call(transport, Method::GET, request, Bytes::new()).await
}

/// Picks the credential up. The one before is void then, where nobody has used it.
pub async fn pick_up(transport: &Transport, request: &Address) -> Result<Credential, Error> {
    call(transport, Method::POST, &request.below("/credential"), Bytes::new()).await
}

async fn call<T: DeserializeOwned>(
    transport: &Transport,
    method: Method,
    to: &Address,
    body: Bytes,
) -> Result<T, Error> {
    let json = [("content-type", "application/json")];
    let headers = if body.is_empty() { &[][..] } else { &json[..] };
    let call = Call { method, accept: "application/json", headers, body };
    let (status, body) = transport.call(to, call, BOUNDS).await?;
    read_rest(status.as_u16(), &body).map_err(|failure| Error::from_failure(failure, &to.to_string()))
}
