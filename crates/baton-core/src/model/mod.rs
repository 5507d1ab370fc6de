//! The A2A 1.0 data model (specification §4): these shapes are the JSON on the wire and the JSON in the store.
//!
//! Writing is strict ProtoJSON: camelCase, unset and empty members left out. Reading is lenient, as ProtoJSON demands:
//! snake_case, enum numbers, numbers as text, `null` as unset, base64url, unknown members ignored. What is required is
//! not checked while reading but by `check`, which names the field.

mod artifact;
mod card;
mod filename;
mod lenient;
mod message;
mod part;
mod push;
mod security;
mod stream;
mod task;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, ArtifactUpdate};
pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface, AgentProvider,
    AgentSkill, SecurityRequirement, StringList,
};
pub use filename::safe_name;
pub use lenient::{boolean, default_on_null, integer, nonempty, object, optional_integer};
pub use message::{Message, Role};
pub use part::{Base64, Content, Part};
pub use push::{AuthenticationInfo, TaskPushNotificationConfig};
pub use security::{
    ApiKeySecurityScheme, AuthorizationCodeOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme,
    ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
    OpenIdConnectSecurityScheme, SecurityScheme, TokenOAuthFlow,
};
pub use stream::StreamResponse;
pub use task::{StatusUpdate, TaskObject, TaskState, TaskStatus};

/// One field that is wrong, as in `google.rpc.BadRequest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field in the request, such as `message.parts[0].raw`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub description: String,
}

impl Violation {
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self { field: field.into(), description: description.into() }
    }

    /// The same, seen from one level up.
    #[must_use]
    pub fn within(self, parent: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        Self { field: format!("{parent}{dot}{}", self.field), description: self.description }
    }
}
