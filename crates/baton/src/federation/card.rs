//! Finding an agent's card, and in it the interface that we speak.
//!
//! What is named may be the agent's base URL, the card's own URL, an interface, or an origin. The card is looked for
//! below what was named, under today's name and the legacy one, then at the URL itself, then at the origin; the origin's
//! card counts only where it names the URL, so that a misspelt agent is not taken for the default one.

use baton_core::json::Json;
use baton_core::model::{AgentCard, AgentInterface};
use baton_wire::client::{Binding, read_rest};
use bytes::Bytes;
use http::{Method, StatusCode};

use super::transport::Call;
use super::{Address, Error, Transport};

/// A card and where it was.
#[derive(Clone, Debug)]
pub struct Found {
    pub card: AgentCard,
    /// The card as it was written, unknown members included.
    pub raw: Json,
    pub at: Address,
}

/// The interface of a card that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub binding: Binding,
    pub address: Address,
    pub tenant: Option<String>,
}

const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// What a place says where there is no card; anything else is an answer.
const ABSENT: [StatusCode; 6] = [
    StatusCode::BAD_REQUEST,
    StatusCode::NOT_FOUND,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::NOT_ACCEPTABLE,
    StatusCode::GONE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
];

/// Finds the card that belongs to `named`.
pub async fn find(transport: &Transport, named: &Address) -> Result<Found, Error> {
    let is_file =
        std::path::Path::new(&named.path).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if is_file {
        return fetch(transport, named).await?.ok_or_else(|| absent(named, transport));
    }
    for name in WELL_KNOWN {
        if let Some(found) = fetch(transport, &named.below(name)).await? {
            return Ok(found);
        }
    }
    if !named.path.is_empty() {
        if let Some(found) = fetch(transport, named).await? {
            return Ok(found);
        }
        for name in WELL_KNOWN {
            if let Some(found) = fetch(transport, &named.at_origin(name)).await?
                && found.names(named)
            {
                return Ok(found);
            }
        }
    }
    Err(absent(named, transport))
}

fn absent(named: &Address, transport: &Transport) -> Error {
    let hint = match (transport.has_token(), transport.is_guarded()) {
        (true, _) => "",
        // Who asks through the node has no flag for a token.
        (false, true) => "; some agents show it only to callers with a token",
        (false, false) => "; some agents show it only to callers with a token (--token)",
    };
    let error = baton_wire::client::RemoteError {
        http_status: 404,
        message: format!("there is no agent card at or below this URL{hint}"),
        ..Default::default()
    };
    Error::Refused { url: named.to_string(), error: Box::new(error) }
}

/// A document at one URL.
pub async fn fetch_text(transport: &Transport, at: &Address) -> Result<String, Error> {
    let call =
        Call { method: Method::GET, accept: "application/json, */*;q=0.1", headers: &[], body: Bytes::new() };
    let bounds = (transport.limits.card, transport.limits.answer_within);
    let (status, body) = transport.call(at, call, bounds).await?;
    let url = at.to_string();
    if !status.is_success() {
        return Err(Error::unreadable(&url, format!("answered {status}")));
    }
    String::from_utf8(body.to_vec()).map_err(|_| Error::unreadable(&url, "the answer is no text"))
}

/// The card at one URL; `None` where there is something else or nothing.
pub async fn fetch(transport: &Transport, at: &Address) -> Result<Option<Found>, Error> {
    let call = Call {
        method: Method::GET,
        accept: "application/json, application/a2a+json;q=0.9, */*;q=0.1",
        headers: &[("a2a-version", baton_wire::client::VERSION)],
        body: Bytes::new(),
    };
    let bounds = (transport.limits.card, transport.limits.answer_within);
    let (status, body) = transport.call(at, call, bounds).await?;
    if ABSENT.contains(&status) {
        return Ok(None);
    }
    if !status.is_success() {
        let refused = read_rest::<Json>(status.as_u16(), &body);
        return refused.map(|_| None).map_err(|failure| Error::from_failure(failure, &at.to_string()));
    }
    let Some(raw) = std::str::from_utf8(&body).ok().and_then(|text| Json::parse(text).ok()) else {
        return Ok(None);
    };
    let card: Result<AgentCard, _> = serde_json::from_str(raw.as_str());
    Ok(match card {
        Ok(card) if !card.name.is_empty() => Some(Found { card, raw, at: at.clone() }),
        Ok(_) | Err(_) => None,
    })
}

impl Found {
    /// Whether one of the interfaces is at the server that the card came from.
    pub fn is_at_home(&self) -> bool {
        let legacy = self.legacy_url();
        let urls = self.card.supported_interfaces.iter().map(|interface| interface.url.as_str());
        let mut addresses = urls.chain(legacy.as_deref()).filter_map(|url| Address::parse(url).ok());
        addresses.any(|address| address.place.is_origin_of(&self.at.place))
    }

    /// Whether one of the interfaces is what was named, or lies below it.
    fn names(&self, named: &Address) -> bool {
        let legacy = self.legacy_url();
        let urls = self.card.supported_interfaces.iter().map(|interface| interface.url.as_str());
        urls.chain(legacy.as_deref()).filter_map(|url| Address::parse(url).ok()).any(|address| {
            address.path == named.path || address.path.starts_with(&format!("{}/", named.path))
        })
    }

    /// The interface to use: the first, in the order of the card, that is A2A 1.0 over JSON-RPC or REST.
    pub fn choose(&self) -> Result<Interface, Error> {
        let mut reasons = Vec::new();
        for interface in &self.card.supported_interfaces {
            match self.usable(interface) {
                Ok(usable) => return Ok(usable),
                Err(why) => reasons.push(why),
            }
        }
        let offered = match (reasons.is_empty(), self.legacy_url()) {
            (true, Some(_)) => "A2A 0.3 only".to_owned(),
            (true, None) => "no interface at all".to_owned(),
            (false, _) => reasons.join(", "),
        };
        let why = format!("the card offers {offered}; needed is A2A 1.0 over JSONRPC or HTTP+JSON");
        Err(Error::unreadable(&self.at.to_string(), why))
    }

    fn usable(&self, interface: &AgentInterface) -> Result<Interface, String> {
        let AgentInterface { url, protocol_binding, tenant, protocol_version } = interface;
        let version = protocol_version.trim();
        let is_one = version.is_empty() || version == "1" || version.starts_with("1.");
        let (Some(binding), true) = (Binding::from_name(protocol_binding), is_one) else {
            return Err(format!("{protocol_binding} {version}"));
        };
        let mut address = Address::parse(url).map_err(|_| format!("{protocol_binding} at `{url}`"))?;
        // Behind a socket the card names the way from outside; the path there is the same.
        if matches!(self.at.place, super::Place::Unix(_)) {
            address = self.at.at_origin(&address.path);
        }
        Ok(Interface { binding, address, tenant: tenant.clone() })
    }

    /// The `url` that cards had before 1.0.
    fn legacy_url(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Legacy {
            url: Option<String>,
        }
        serde_json::from_str::<Legacy>(self.raw.as_str()).ok()?.url
    }
}
