//! Which extensions a request activates (§4.6): what it asks for in `A2A-Extensions`, as far as the agent declares it.

use axum::response::Response;
use baton_core::model::AgentExtension;
use baton_wire::fault::{Fault, Kind};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::Agent;
use crate::service::manifest::IDEMPOTENT_SEND;

/// Today's name, and the one that clients of 0.3 send.
const HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];

/// What one request activated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activated {
    /// The node's own, of which there is one.
    pub idempotent_send: bool,
    /// The agent's, in the order of its declaration.
    pub of_agent: Vec<String>,
    /// Which of the headers asked.
    asked_by: [bool; 2],
}

impl Activated {
    /// What a request asks for and the agent declares; anything else is ignored. A request that does not ask for what the
    /// agent requires is refused, whatever its operation.
    pub fn read(headers: &HeaderMap, agent: &Agent) -> Result<Self, Fault> {
        let asked_by = HEADERS.map(|name| headers.contains_key(name));
        let asks = |uri: &str| HEADERS.iter().any(|name| names(headers, name, uri));
        if let Some(missing) =
            agent.extensions.iter().find(|extension| extension.required && !asks(&extension.uri))
        {
            return Err(required(missing, agent));
        }
        if asked_by == [false; 2] {
            return Ok(Self::default());
        }
        let of_agent = agent.extensions.iter().map(|extension| &extension.uri);
        Ok(Self {
            idempotent_send: asks(IDEMPOTENT_SEND),
            of_agent: of_agent.filter(|uri| asks(uri)).cloned().collect(),
            asked_by,
        })
    }

    /// Names them, as the value of the answer's header.
    pub fn header(&self) -> Option<HeaderValue> {
        let own = self.idempotent_send.then_some(IDEMPOTENT_SEND);
        let uris: Vec<&str> = own.into_iter().chain(self.of_agent.iter().map(String::as_str)).collect();
        (!uris.is_empty()).then(|| HeaderValue::try_from(uris.join(",")).ok()).flatten()
    }

    /// Says in the answer which extensions took effect, by the name that they were asked for.
    pub fn echo(&self, mut response: Response) -> Response {
        if let Some(value) = self.header() {
            let asked = HEADERS.into_iter().zip(self.asked_by).filter(|(_, asked)| *asked);
            response.headers_mut().extend(asked.map(|(name, _)| (name, value.clone())));
        }
        response
    }
}

/// Whether a header, which may come several times and be a list, names a URI.
fn names(headers: &HeaderMap, header: &HeaderName, uri: &str) -> bool {
    let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|asked| asked.trim() == uri)
}

fn required(missing: &AgentExtension, agent: &Agent) -> Fault {
    let required = agent.extensions.iter().filter(|extension| extension.required);
    let all: Vec<&str> = required.map(|extension| extension.uri.as_str()).collect();
    let text = format!("This agent requires the extension {}; name it in A2A-Extensions", missing.uri);
    Fault::new(Kind::ExtensionSupportRequired)
        .with_message(text)
        .with_metadata("requiredExtensions", all.join(","))
}
