//! What an agent can do and where it is to be had: one manifest per agent, from its declaration and from what is really
//! served. Every card is a projection of it.

mod security;

use std::collections::BTreeMap;
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::json::Object;
use baton_core::model::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    SecurityRequirement, SecurityScheme,
};
use baton_store::Verb;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Error, Scope, Service};
use crate::access::{Caller, Resource};
use crate::config::settings::{Agent, Audience, Compat, Skill};

/// The extension that makes a repeated send safe: the messageId is the idempotency key.
pub const IDEMPOTENT_SEND: &str = "urn:x-baton:idempotent-send:v1";

/// The extension whose parameters say where an agent runs.
pub const ENVIRONMENT: &str = "urn:x-baton:environment:v1";

/// The extension that says where strangers ask for a grant.
pub const FRIEND_REQUEST: &str = "urn:x-baton:friend-request:v1";

/// What is the same for all agents of a node.
#[derive(Clone, Debug)]
pub struct Site {
    /// What cards advertise, without a trailing slash.
    pub base: String,
    /// Loopback needs no credentials.
    pub dev: bool,
    /// By what callers are known.
    pub ways: Ways,
    /// What is really served, in order of preference.
    pub served: Vec<Served>,
    pub environment: Environment,
}

/// By what callers are known at the listeners of a node.
#[derive(Clone, Debug)]
pub struct Ways {
    /// Tokens of grants.
    pub tokens: bool,
    /// Access tokens in return for these, and how long they are good.
    pub client_credentials: Option<Duration>,
    /// Access tokens for clients that an operator allowed something, and how long they are good.
    pub authorization_code: Option<Duration>,
    /// Clients may register themselves for that.
    pub registration: bool,
    pub issuers: Vec<Trusted>,
    /// Client certificates.
    pub certificates: bool,
}

/// An issuer of JWTs that are taken.
#[derive(Clone, Debug)]
pub struct Trusted {
    pub url: String,
    /// Where it says what it is.
    pub discovery: String,
}

/// A binding in one version.
#[derive(Clone, Debug)]
pub struct Served {
    /// As cards name it: `JSONRPC`, `HTTP+JSON`, `GRPC`.
    pub binding: &'static str,
    /// `major.minor`.
    pub version: &'static str,
    pub address: Address,
}

/// Where a binding is, seen from the agent's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The agent's URL itself.
    Agent,
    /// `host:port` of the node; the agent is named by the tenant.
    Authority,
    /// `host:port` of the node, in a version without tenants: only the default agent's cards can name it.
    AuthorityOfDefault,
}

/// Where a node runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Environment {
    pub node: String,
    pub os: String,
}

/// The parameters of [`FRIEND_REQUEST`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FriendRequests {
    pub url: String,
    /// The agent's name in a request.
    pub agent: AgentName,
}

/// One agent, as it is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub name: AgentName,
    pub title: String,
    pub description: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    pub runner: &'static str,
    pub url: String,
    pub card: CardManner,
    pub interfaces: Vec<AgentInterface>,
    pub capabilities: Capabilities,
    pub extensions: Vec<AgentExtension>,
    /// Empty where nobody needs credentials.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    pub security_requirements: Vec<SecurityRequirement>,
    pub input_modes: Vec<String>,
    pub output_modes: Vec<String>,
    pub skills: Vec<Skill>,
}

/// How the card is shown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CardManner {
    /// Without a grant.
    pub published: bool,
    pub compat: Compat,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub streaming: bool,
    pub push_notifications: bool,
    pub extended_card: ExtendedCard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExtendedCard {
    /// Not offered.
    Off,
    /// Offered, but there is nothing that the public card does not show.
    Absent,
    On,
}

/// Who looks at a card.
#[derive(Clone, Copy, Debug)]
pub enum Viewer<'a> {
    Anybody,
    /// The extended card of this caller.
    Caller(&'a Caller),
}

impl Site {
    /// Where an agent is to be had.
    pub fn url(&self, agent: &AgentName) -> String {
        format!("{}/a2a/{agent}", self.base)
    }

    /// Where strangers ask for a grant.
    pub fn friends_url(&self) -> String {
        format!("{}/friend-requests", self.base)
    }

    /// The path of the base, without a trailing slash: nothing for most.
    pub fn path(&self) -> &str {
        let (_, rest) = self.base.split_once("://").unwrap_or_default();
        rest.find('/').map_or("", |at| &rest[at..])
    }

    /// Where the metadata of what is protected at a path below the base is to be had (RFC 9728 §3.1).
    pub fn resource_metadata(&self, below: &str) -> String {
        let origin = self.base.strip_suffix(self.path()).unwrap_or(&self.base);
        format!("{origin}/.well-known/oauth-protected-resource{}{below}", self.path())
    }

    /// What of the node a URL names as a resource (RFC 8707 §2); none where that is not here.
    pub fn resource(&self, url: &str) -> Option<Resource> {
        let plain = |url: &str| {
            let url = Url::parse(url).ok()?;
            let bare = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
            bare.then(|| url.as_str().trim_end_matches('/').to_owned())
        };
        let (url, base) = (plain(url)?, plain(&self.base)?);
        Resource::parse(url.strip_prefix(&base)?)
    }

    pub fn token_endpoint(&self) -> String {
        format!("{}/oauth/token", self.base)
    }

    /// What can be had at the base: below a path there is no `host:port` that leads here.
    fn offered(&self, to_default: bool) -> impl Iterator<Item = &Served> {
        let (_, rest) = self.base.split_once("://").unwrap_or_default();
        let below_a_path = rest.contains('/');
        self.served.iter().filter(move |served| match served.address {
            Address::Agent => true,
            Address::Authority => !below_a_path,
            Address::AuthorityOfDefault => to_default && !below_a_path,
        })
    }

    fn interface(&self, served: &Served, agent: &AgentName) -> AgentInterface {
        let (url, tenant) = match served.address {
            Address::Agent => (self.url(agent), None),
            Address::Authority => (authority(&self.base), Some(agent.to_string())),
            Address::AuthorityOfDefault => (authority(&self.base), None),
        };
        AgentInterface {
            url,
            protocol_binding: served.binding.to_owned(),
            tenant,
            protocol_version: served.version.to_owned(),
        }
    }
}

/// `host:port` of a URL.
fn authority(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let named = authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let port = if scheme == "http" { 80 } else { 443 };
    if named { authority.to_owned() } else { format!("{authority}:{port}") }
}

impl Manifest {
    /// `is_default` where requests that name no agent are this one's.
    pub fn of(agent: &Agent, site: &Site, is_default: bool) -> Self {
        let (security_schemes, security_requirements) =
            if site.dev { Default::default() } else { security::of(site) };
        let more = agent.skills.iter().any(|skill| skill.to != Audience::Everyone);
        let extended_card = match (agent.extended_card, more) {
            (false, _) => ExtendedCard::Off,
            (true, false) => ExtendedCard::Absent,
            (true, true) => ExtendedCard::On,
        };
        Self {
            name: agent.name.clone(),
            title: agent.title.clone(),
            description: agent.description.clone(),
            version: agent.version.clone(),
            provider: agent.provider.clone(),
            documentation_url: agent.documentation_url.clone(),
            icon_url: agent.icon_url.clone(),
            runner: agent.runner.kind(),
            url: site.url(&agent.name),
            card: CardManner { published: agent.publish, compat: agent.card.compat },
            interfaces: site.offered(is_default).map(|served| site.interface(served, &agent.name)).collect(),
            capabilities: Capabilities {
                streaming: agent.streaming,
                push_notifications: agent.push,
                extended_card,
            },
            extensions: extensions(agent, site),
            security_schemes,
            security_requirements,
            input_modes: agent.input_modes.clone(),
            output_modes: agent.output_modes.clone(),
            skills: agent.skills.clone(),
        }
    }

    /// The card of 1.0.
    pub fn card(&self, viewer: Viewer<'_>) -> AgentCard {
        let shown = self.skills.iter().filter(|skill| viewer.sees(&skill.to));
        let skills: Vec<AgentSkill> = shown.map(|skill| skill.card.clone()).collect();
        AgentCard {
            name: self.title.clone(),
            description: self.description.clone(),
            supported_interfaces: self.interfaces_of("1.").cloned().collect(),
            provider: self.provider.clone(),
            version: self.version.clone(),
            documentation_url: self.documentation_url.clone(),
            capabilities: AgentCapabilities {
                streaming: Some(self.capabilities.streaming),
                push_notifications: Some(self.capabilities.push_notifications),
                extensions: self.extensions.clone(),
                extended_agent_card: Some(self.capabilities.extended_card != ExtendedCard::Off),
            },
            security_schemes: self.security_schemes.clone(),
            security_requirements: self.security_requirements.clone(),
            default_input_modes: self.input_modes.clone(),
            default_output_modes: self.output_modes.clone(),
            skills: if skills.is_empty() { vec![self.only_skill()] } else { skills },
            signatures: Vec::new(),
            icon_url: self.icon_url.clone(),
        }
    }

    /// Where the agent is to be had in 0.3, as far as its card says so.
    pub fn legacy_interfaces(&self) -> Vec<AgentInterface> {
        match self.card.compat {
            Compat::Both => self.interfaces_of("0.").cloned().collect(),
            Compat::V1 => Vec::new(),
        }
    }

    fn interfaces_of(&self, major: &'static str) -> impl Iterator<Item = &AgentInterface> {
        self.interfaces.iter().filter(move |interface| interface.protocol_version.starts_with(major))
    }

    /// A card has one skill at least: an agent that declares none does what it says it does.
    fn only_skill(&self) -> AgentSkill {
        AgentSkill {
            id: self.name.to_string(),
            name: self.title.clone(),
            description: self.description.clone(),
            tags: vec![self.name.to_string()],
            ..AgentSkill::default()
        }
    }
}

impl Viewer<'_> {
    fn sees(self, audience: &Audience) -> bool {
        match (self, audience) {
            (_, Audience::Everyone) | (Self::Caller(_), Audience::Extended) => true,
            (Self::Caller(caller), Audience::Grants(names)) => {
                caller.is_local() || names.iter().any(|name| caller.is_named(name))
            }
            (Self::Anybody, Audience::Extended | Audience::Grants(_)) => false,
        }
    }
}

/// What can be named in `A2A-Extensions`, and what else a card says by an extension.
fn extensions(agent: &Agent, site: &Site) -> Vec<AgentExtension> {
    let mut all = vec![AgentExtension {
        uri: IDEMPOTENT_SEND.to_owned(),
        description: Some("A repeated SendMessage with the same messageId gives the same task".to_owned()),
        required: false,
        params: None,
    }];
    if agent.publish {
        let how = FriendRequests { url: site.friends_url(), agent: agent.name.clone() };
        all.push(AgentExtension {
            uri: FRIEND_REQUEST.to_owned(),
            description: Some("Where to ask for a grant; a human decides".to_owned()),
            required: false,
            params: Object::from_serialize(&how).ok(),
        });
    }
    if agent.card.environment {
        all.push(AgentExtension {
            uri: ENVIRONMENT.to_owned(),
            description: Some("Where the agent runs".to_owned()),
            required: false,
            params: Object::from_serialize(&site.environment).ok(),
        });
    }
    all.extend(agent.extensions.iter().cloned());
    all
}

impl Service {
    /// What an agent is now.
    pub fn manifest(&self, agent: &Agent) -> Manifest {
        let default = self.agents.find_default();
        let is_default = default.is_some_and(|default| *default.name() == agent.name);
        Manifest::of(agent, &self.site, is_default)
    }

    /// GetExtendedAgentCard: the card with the skills that this caller may know of.
    pub fn extended_card(&self, scope: &Scope) -> Result<AgentCard, Error> {
        let manifest = self.manifest(&scope.agent.settings);
        match manifest.capabilities.extended_card {
            ExtendedCard::Off => Err(Error::Unsupported("this agent has no extended card")),
            ExtendedCard::Absent => Err(Error::NoExtendedCard),
            ExtendedCard::On => {
                scope.allow(Verb::ExtendedCard)?;
                let mut card = manifest.card(Viewer::Caller(&scope.caller));
                let text = serde_json::to_string(&card).map_err(|why| Error::Internal(why.to_string()))?;
                card.signatures = self.signer.sign(&text);
                Ok(card)
            }
        }
    }
}

#[cfg(test)]
mod tests;
