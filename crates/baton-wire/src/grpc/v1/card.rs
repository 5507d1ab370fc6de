//! The agent card as a message of the definition.

use baton_core::model::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentSkill, OAuthFlows,
    SecurityRequirement, SecurityScheme,
};

use super::super::value::from_object;
use super::pb;

impl From<&AgentCard> for pb::AgentCard {
    fn from(card: &AgentCard) -> Self {
        let schemes =
            card.security_schemes.iter().map(|(name, scheme)| (name.clone(), security_scheme(scheme)));
        Self {
            name: card.name.clone(),
            description: card.description.clone(),
            supported_interfaces: card.supported_interfaces.iter().map(interface).collect(),
            provider: card.provider.as_ref().map(|provider| pb::AgentProvider {
                url: provider.url.clone(),
                organization: provider.organization.clone(),
            }),
            version: card.version.clone(),
            documentation_url: card.documentation_url.clone(),
            capabilities: Some(capabilities(&card.capabilities)),
            security_schemes: schemes.collect(),
            security_requirements: card.security_requirements.iter().map(requirement).collect(),
            default_input_modes: card.default_input_modes.clone(),
            default_output_modes: card.default_output_modes.clone(),
            skills: card.skills.iter().map(skill).collect(),
            signatures: card.signatures.iter().map(signature).collect(),
            icon_url: card.icon_url.clone(),
        }
    }
}

fn interface(interface: &AgentInterface) -> pb::AgentInterface {
    pb::AgentInterface {
        url: interface.url.clone(),
        protocol_binding: interface.protocol_binding.clone(),
        tenant: interface.tenant.clone().unwrap_or_default(),
        protocol_version: interface.protocol_version.clone(),
    }
}

fn capabilities(capabilities: &AgentCapabilities) -> pb::AgentCapabilities {
    pb::AgentCapabilities {
        streaming: capabilities.streaming,
        push_notifications: capabilities.push_notifications,
        extensions: capabilities.extensions.iter().map(extension).collect(),
        extended_agent_card: capabilities.extended_agent_card,
    }
}

fn extension(extension: &AgentExtension) -> pb::AgentExtension {
    pb::AgentExtension {
        uri: extension.uri.clone(),
        description: extension.description.clone().unwrap_or_default(),
        required: extension.required,
        params: extension.params.as_ref().map(from_object),
    }
}

fn requirement(requirement: &SecurityRequirement) -> pb::SecurityRequirement {
    let schemes = requirement.schemes.iter();
    let schemes = schemes.map(|(name, scopes)| (name.clone(), pb::StringList { list: scopes.list.clone() }));
    pb::SecurityRequirement { schemes: schemes.collect() }
}

fn skill(skill: &AgentSkill) -> pb::AgentSkill {
    pb::AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
        security_requirements: skill.security_requirements.iter().map(requirement).collect(),
    }
}

fn signature(signature: &AgentCardSignature) -> pb::AgentCardSignature {
    pb::AgentCardSignature {
        protected: signature.protected.clone(),
        signature: signature.signature.clone(),
        header: signature.header.as_ref().map(from_object),
    }
}

/// Text that may be unset, which is empty in the definition.
fn text(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

fn security_scheme(scheme: &SecurityScheme) -> pb::SecurityScheme {
    use pb::security_scheme::Scheme;
    let scheme = match scheme {
        SecurityScheme::ApiKey(key) => Some(Scheme::ApiKeySecurityScheme(pb::ApiKeySecurityScheme {
            description: text(key.description.as_ref()),
            location: key.location.clone(),
            name: key.name.clone(),
        })),
        SecurityScheme::Http(http) => Some(Scheme::HttpAuthSecurityScheme(pb::HttpAuthSecurityScheme {
            description: text(http.description.as_ref()),
            scheme: http.scheme.clone(),
            bearer_format: text(http.bearer_format.as_ref()),
        })),
        SecurityScheme::OAuth2(oauth2) => Some(Scheme::Oauth2SecurityScheme(pb::OAuth2SecurityScheme {
            description: text(oauth2.description.as_ref()),
            flows: Some(pb::OAuthFlows { flow: flow(&oauth2.flows) }),
            oauth2_metadata_url: text(oauth2.oauth2_metadata_url.as_ref()),
        })),
        SecurityScheme::OpenIdConnect(open_id) => {
            Some(Scheme::OpenIdConnectSecurityScheme(pb::OpenIdConnectSecurityScheme {
                description: text(open_id.description.as_ref()),
                open_id_connect_url: open_id.open_id_connect_url.clone(),
            }))
        }
        SecurityScheme::MutualTls(mtls) => Some(Scheme::MtlsSecurityScheme(pb::MutualTlsSecurityScheme {
            description: text(mtls.description.as_ref()),
        })),
        SecurityScheme::Missing => None,
    };
    pb::SecurityScheme { scheme }
}

#[expect(deprecated, reason = "two flows are, and a card may still name them")]
fn flow(flows: &OAuthFlows) -> Option<pb::o_auth_flows::Flow> {
    use pb::o_auth_flows::Flow;
    Some(match flows {
        OAuthFlows::AuthorizationCode(flow) => Flow::AuthorizationCode(pb::AuthorizationCodeOAuthFlow {
            authorization_url: flow.authorization_url.clone(),
            token_url: flow.token_url.clone(),
            refresh_url: text(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
            pkce_required: flow.pkce_required,
        }),
        OAuthFlows::ClientCredentials(flow) => Flow::ClientCredentials(pb::ClientCredentialsOAuthFlow {
            token_url: flow.token_url.clone(),
            refresh_url: text(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }),
        OAuthFlows::Implicit(flow) => Flow::Implicit(pb::ImplicitOAuthFlow {
            authorization_url: flow.authorization_url.clone(),
            refresh_url: text(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }),
        OAuthFlows::Password(flow) => Flow::Password(pb::PasswordOAuthFlow {
            token_url: flow.token_url.clone(),
            refresh_url: text(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }),
        OAuthFlows::DeviceCode(flow) => Flow::DeviceCode(pb::DeviceCodeOAuthFlow {
            device_authorization_url: flow.device_authorization_url.clone(),
            token_url: flow.token_url.clone(),
            refresh_url: text(flow.refresh_url.as_ref()),
            scopes: flow.scopes.clone(),
        }),
        OAuthFlows::Missing => return None,
    })
}
