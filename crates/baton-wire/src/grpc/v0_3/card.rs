//! The agent card in 0.3.

use baton_core::model::{AgentCard, AgentInterface};
use prost::Message;

use super::super::generated::a2a_v1;
use super::pb;

/// The version that the card says it is written in.
const PROTOCOL_VERSION: &str = "0.3.0";

/// A card, with the interfaces at which 0.3 is spoken: the first is the preferred one.
pub fn card(card: &AgentCard, interfaces: &[AgentInterface]) -> pb::AgentCard {
    let current = a2a_v1::AgentCard::from(card);
    let preferred = interfaces.first();
    let text = |of: fn(&AgentInterface) -> &String| preferred.map(of).cloned().unwrap_or_default();
    let schemes = current.security_schemes.iter();
    pb::AgentCard {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        name: current.name,
        description: current.description,
        url: text(|interface| &interface.url),
        preferred_transport: text(|interface| &interface.protocol_binding),
        additional_interfaces: interfaces
            .iter()
            .map(|interface| pb::AgentInterface {
                url: interface.url.clone(),
                transport: interface.protocol_binding.clone(),
            })
            .collect(),
        provider: current.provider.as_ref().map(older),
        version: current.version,
        documentation_url: current.documentation_url.unwrap_or_default(),
        supports_authenticated_extended_card: card.capabilities.extended_agent_card.unwrap_or_default(),
        capabilities: current.capabilities.as_ref().map(older),
        security_schemes: schemes.map(|(name, scheme)| (name.clone(), older(scheme))).collect(),
        security: current.security_requirements.iter().map(older).collect(),
        default_input_modes: current.default_input_modes,
        default_output_modes: current.default_output_modes,
        skills: current.skills.iter().map(older).collect(),
        signatures: current.signatures.iter().map(older).collect(),
        icon_url: current.icon_url.unwrap_or_default(),
    }
}

/// These messages kept the numbers of their fields: what 1.0 added to them is unknown to 0.3, and falls away.
fn older<Older: Message + Default>(current: &impl Message) -> Older {
    Older::decode(&*current.encode_to_vec()).unwrap_or_default()
}
