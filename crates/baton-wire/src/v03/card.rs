//! The agent card in both shapes at once: one object that clients of 1.0 and of 0.3 read, each its own members.

use std::collections::BTreeMap;

use baton_core::json::Json;
use baton_core::model::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentInterface, AgentProvider, AgentSkill,
    SecurityRequirement, SecurityScheme,
};
use serde::{Serialize, Serializer};

/// The version that the card names: 0.3 spells it with the patch.
const PROTOCOL_VERSION: &str = "0.3.0";

/// A card of 1.0, and where the agent is to be had in 0.3: by preference, the version of the interfaces not looked at.
/// Without such an interface it is the card of 1.0 and nothing more.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    pub card: &'a AgentCard,
    pub interfaces: &'a [AgentInterface],
}

impl Serialize for Card<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.interfaces.first() {
            Some(preferred) => Both::new(self.card, preferred, self.interfaces).serialize(serializer),
            None => self.card.serialize(serializer),
        }
    }
}

/// The members of both shapes. Where the two name one thing alike but spell it differently, both spellings stand in one
/// object: each side ignores the members that it does not know.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Both<'a> {
    name: &'a str,
    description: &'a str,
    supported_interfaces: &'a [AgentInterface],
    protocol_version: &'static str,
    url: &'a str,
    preferred_transport: &'a str,
    additional_interfaces: Vec<Interface<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    capabilities: &'a AgentCapabilities,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Json>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_requirements: &'a [SecurityRequirement],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Security<'a>>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<Skill<'a>>,
    supports_authenticated_extended_card: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [AgentCardSignature],
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
}

/// An interface as 0.3 names it.
#[derive(Serialize)]
struct Interface<'a> {
    url: &'a str,
    transport: &'a str,
}

/// Schemes that must all be met, each with its scopes.
type Security<'a> = BTreeMap<&'a str, &'a [String]>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Skill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_requirements: &'a [SecurityRequirement],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Security<'a>>,
}

impl<'a> Both<'a> {
    fn new(card: &'a AgentCard, preferred: &'a AgentInterface, interfaces: &'a [AgentInterface]) -> Self {
        let interface =
            |other: &'a AgentInterface| Interface { url: &other.url, transport: &other.protocol_binding };
        let scheme = |(name, scheme): (&'a String, &SecurityScheme)| (name.as_str(), both_spellings(scheme));
        Self {
            name: &card.name,
            description: &card.description,
            supported_interfaces: &card.supported_interfaces,
            protocol_version: PROTOCOL_VERSION,
            url: &preferred.url,
            preferred_transport: &preferred.protocol_binding,
            additional_interfaces: interfaces.iter().map(interface).collect(),
            provider: card.provider.as_ref(),
            version: &card.version,
            documentation_url: card.documentation_url.as_deref(),
            capabilities: &card.capabilities,
            security_schemes: card.security_schemes.iter().map(scheme).collect(),
            security_requirements: &card.security_requirements,
            security: security(&card.security_requirements),
            default_input_modes: &card.default_input_modes,
            default_output_modes: &card.default_output_modes,
            skills: card.skills.iter().map(Skill::new).collect(),
            supports_authenticated_extended_card: card.capabilities.extended_agent_card.unwrap_or(false),
            signatures: &card.signatures,
            icon_url: card.icon_url.as_deref(),
        }
    }
}

impl<'a> Skill<'a> {
    fn new(skill: &'a AgentSkill) -> Self {
        Self {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: &skill.tags,
            examples: &skill.examples,
            input_modes: &skill.input_modes,
            output_modes: &skill.output_modes,
            security_requirements: &skill.security_requirements,
            security: security(&skill.security_requirements),
        }
    }
}

fn security(requirements: &[SecurityRequirement]) -> Vec<Security<'_>> {
    let named = requirements.iter().map(|requirement| requirement.schemes.iter());
    named.map(|schemes| schemes.map(|(name, scopes)| (name.as_str(), &*scopes.list)).collect()).collect()
}

/// A scheme of 1.0 with the members of 0.3 beside it: `type`, and what 1.0 keeps one level deeper.
fn both_spellings(scheme: &SecurityScheme) -> Json {
    let outer = Json::from_serialize(scheme).expect("a scheme is JSON");
    let (kind, inner) = match scheme {
        SecurityScheme::ApiKey(key) => ("apiKey", Json::from_serialize(key)),
        SecurityScheme::Http(http) => ("http", Json::from_serialize(http)),
        SecurityScheme::OAuth2(oauth) => ("oauth2", Json::from_serialize(oauth)),
        SecurityScheme::OpenIdConnect(oidc) => ("openIdConnect", Json::from_serialize(oidc)),
        SecurityScheme::MutualTls(tls) => ("mutualTLS", Json::from_serialize(tls)),
        SecurityScheme::Missing => return outer,
    };
    let inner = inner.expect("what a scheme holds is JSON");
    let place = match scheme {
        // Where the key goes: `location` in 1.0.
        SecurityScheme::ApiKey(key) => {
            format!("\"in\":{}", serde_json::to_string(&key.location).expect("text is JSON"))
        }
        SecurityScheme::Http(_)
        | SecurityScheme::OAuth2(_)
        | SecurityScheme::OpenIdConnect(_)
        | SecurityScheme::MutualTls(_)
        | SecurityScheme::Missing => String::new(),
    };
    let mut text = format!("{{\"type\":\"{kind}\"");
    for more in [&place, inside(inner.as_str()), inside(outer.as_str())] {
        if !more.is_empty() {
            text.push(',');
            text.push_str(more);
        }
    }
    text.push('}');
    Json::parse(&text).expect("objects joined are an object")
}

/// The members of an object without its braces.
fn inside(object: &str) -> &str {
    object.strip_prefix('{').and_then(|object| object.strip_suffix('}')).unwrap_or_default()
}
