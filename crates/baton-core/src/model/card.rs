//! The agent card (§4.4): what an agent says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SecurityScheme;
use super::lenient::{boolean, default_on_null, nonempty};
use crate::json::Object;

/// An agent's card. Members are in the order of the definition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCard {
    #[serde(deserialize_with = "default_on_null")]
    pub name: String,
    #[serde(deserialize_with = "default_on_null")]
    pub description: String,
    /// In order of preference.
    #[serde(alias = "supported_interfaces", deserialize_with = "default_on_null")]
    pub supported_interfaces: Vec<AgentInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    #[serde(deserialize_with = "default_on_null")]
    pub version: String,
    #[serde(
        alias = "documentation_url",
        deserialize_with = "nonempty",
        skip_serializing_if = "Option::is_none"
    )]
    pub documentation_url: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub capabilities: AgentCapabilities,
    /// By name.
    #[serde(
        alias = "security_schemes",
        deserialize_with = "default_on_null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    #[serde(
        alias = "security_requirements",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
    #[serde(alias = "default_input_modes", deserialize_with = "default_on_null")]
    pub default_input_modes: Vec<String>,
    #[serde(alias = "default_output_modes", deserialize_with = "default_on_null")]
    pub default_output_modes: Vec<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub skills: Vec<AgentSkill>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    #[serde(alias = "icon_url", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// One URL where an agent is to be had, and what is spoken there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentInterface {
    #[serde(deserialize_with = "default_on_null")]
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON`, `GRPC`, or a URI.
    #[serde(alias = "protocol_binding", deserialize_with = "default_on_null")]
    pub protocol_binding: String,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `major.minor`.
    #[serde(alias = "protocol_version", deserialize_with = "default_on_null")]
    pub protocol_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentProvider {
    #[serde(deserialize_with = "default_on_null")]
    pub url: String,
    #[serde(deserialize_with = "default_on_null")]
    pub organization: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    #[serde(alias = "push_notifications", skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    #[serde(alias = "extended_agent_card", skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentExtension {
    #[serde(deserialize_with = "default_on_null")]
    pub uri: String,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "boolean", skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Object>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSkill {
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
    #[serde(deserialize_with = "default_on_null")]
    pub name: String,
    #[serde(deserialize_with = "default_on_null")]
    pub description: String,
    #[serde(deserialize_with = "default_on_null")]
    pub tags: Vec<String>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    #[serde(
        alias = "input_modes",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub input_modes: Vec<String>,
    #[serde(
        alias = "output_modes",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub output_modes: Vec<String>,
    #[serde(
        alias = "security_requirements",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// Schemes that must all be met, each with its scopes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecurityRequirement {
    #[serde(deserialize_with = "default_on_null")]
    pub schemes: BTreeMap<String, StringList>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StringList {
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<String>,
}

/// A JSON Web Signature of the card's canonical form, taken apart (§8.4.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCardSignature {
    /// The protected header, base64url.
    #[serde(deserialize_with = "default_on_null")]
    pub protected: String,
    /// Base64url.
    #[serde(deserialize_with = "default_on_null")]
    pub signature: String,
    /// The unprotected header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Object>,
}
