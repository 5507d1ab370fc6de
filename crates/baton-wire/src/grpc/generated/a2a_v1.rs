//! Generated from `proto/lf/a2a/v1/a2a.proto`; `just gen` writes it anew.

/// The unit of work.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Task {
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub context_id: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "3")]
    pub status: ::core::option::Option<TaskStatus>,
    #[prost(message, repeated, tag = "4")]
    pub artifacts: ::prost::alloc::vec::Vec<Artifact>,
    /// Oldest first.
    #[prost(message, repeated, tag = "5")]
    pub history: ::prost::alloc::vec::Vec<Message>,
    #[prost(message, optional, tag = "6")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
/// A state, what was said with it, and since when it holds.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatus {
    #[prost(enumeration = "TaskState", tag = "1")]
    pub state: i32,
    #[prost(message, optional, tag = "2")]
    pub message: ::core::option::Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub timestamp: ::core::option::Option<::prost_types::Timestamp>,
}
/// One piece of content.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Part {
    #[prost(message, optional, tag = "5")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    #[prost(string, tag = "6")]
    pub filename: ::prost::alloc::string::String,
    /// A MIME type; of text and data too.
    #[prost(string, tag = "7")]
    pub media_type: ::prost::alloc::string::String,
    #[prost(oneof = "part::Content", tags = "1, 2, 3, 4")]
    pub content: ::core::option::Option<part::Content>,
}
/// Nested message and enum types in `Part`.
pub mod part {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Content {
        #[prost(string, tag = "1")]
        Text(::prost::alloc::string::String),
        #[prost(bytes, tag = "2")]
        Raw(::prost::bytes::Bytes),
        #[prost(string, tag = "3")]
        Url(::prost::alloc::string::String),
        #[prost(message, tag = "4")]
        Data(::prost_types::Value),
    }
}
/// One turn of a conversation.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Message {
    #[prost(string, tag = "1")]
    pub message_id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub context_id: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(enumeration = "Role", tag = "4")]
    pub role: i32,
    #[prost(message, repeated, tag = "5")]
    pub parts: ::prost::alloc::vec::Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    #[prost(string, repeated, tag = "7")]
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "8")]
    pub reference_task_ids: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// One result of a task.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Artifact {
    #[prost(string, tag = "1")]
    pub artifact_id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub name: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub description: ::prost::alloc::string::String,
    #[prost(message, repeated, tag = "4")]
    pub parts: ::prost::alloc::vec::Vec<Part>,
    #[prost(message, optional, tag = "5")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
    #[prost(string, repeated, tag = "6")]
    pub extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// A change of a task's status.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskStatusUpdateEvent {
    #[prost(string, tag = "1")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub context_id: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "3")]
    pub status: ::core::option::Option<TaskStatus>,
    #[prost(message, optional, tag = "4")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
/// A new artifact, or a piece to append to one.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TaskArtifactUpdateEvent {
    #[prost(string, tag = "1")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub context_id: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "3")]
    pub artifact: ::core::option::Option<Artifact>,
    #[prost(bool, tag = "4")]
    pub append: bool,
    #[prost(bool, tag = "5")]
    pub last_chunk: bool,
    #[prost(message, optional, tag = "6")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
/// How a message is to be answered.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SendMessageConfiguration {
    /// Media types; none where any will do.
    #[prost(string, repeated, tag = "1")]
    pub accepted_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(message, optional, tag = "2")]
    pub task_push_notification_config: ::core::option::Option<
        TaskPushNotificationConfig,
    >,
    #[prost(int32, optional, tag = "3")]
    pub history_length: ::core::option::Option<i32>,
    /// Answer when the task is there, not when it settles.
    #[prost(bool, tag = "4")]
    pub return_immediately: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "2")]
    pub message: ::core::option::Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub configuration: ::core::option::Option<SendMessageConfiguration>,
    #[prost(message, optional, tag = "4")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SendMessageResponse {
    #[prost(oneof = "send_message_response::Payload", tags = "1, 2")]
    pub payload: ::core::option::Option<send_message_response::Payload>,
}
/// Nested message and enum types in `SendMessageResponse`.
pub mod send_message_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        #[prost(message, tag = "1")]
        Task(super::Task),
        #[prost(message, tag = "2")]
        Message(super::Message),
    }
}
/// One item of a stream.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StreamResponse {
    #[prost(oneof = "stream_response::Payload", tags = "1, 2, 3, 4")]
    pub payload: ::core::option::Option<stream_response::Payload>,
}
/// Nested message and enum types in `StreamResponse`.
pub mod stream_response {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Payload {
        #[prost(message, tag = "1")]
        Task(super::Task),
        #[prost(message, tag = "2")]
        Message(super::Message),
        #[prost(message, tag = "3")]
        StatusUpdate(super::TaskStatusUpdateEvent),
        #[prost(message, tag = "4")]
        ArtifactUpdate(super::TaskArtifactUpdateEvent),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub id: ::prost::alloc::string::String,
    #[prost(int32, optional, tag = "3")]
    pub history_length: ::core::option::Option<i32>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTasksRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub context_id: ::prost::alloc::string::String,
    /// Unspecified is no filter.
    #[prost(enumeration = "TaskState", tag = "3")]
    pub status: i32,
    /// 1 to 100.
    #[prost(int32, optional, tag = "4")]
    pub page_size: ::core::option::Option<i32>,
    #[prost(string, tag = "5")]
    pub page_token: ::prost::alloc::string::String,
    #[prost(int32, optional, tag = "6")]
    pub history_length: ::core::option::Option<i32>,
    /// Only tasks whose status is of this time or later.
    #[prost(message, optional, tag = "7")]
    pub status_timestamp_after: ::core::option::Option<::prost_types::Timestamp>,
    #[prost(bool, optional, tag = "8")]
    pub include_artifacts: ::core::option::Option<bool>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTasksResponse {
    #[prost(message, repeated, tag = "1")]
    pub tasks: ::prost::alloc::vec::Vec<Task>,
    /// Empty on the last page.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
    #[prost(int32, tag = "3")]
    pub page_size: i32,
    /// Of all pages together.
    #[prost(int32, tag = "4")]
    pub total_size: i32,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CancelTaskRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub id: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "3")]
    pub metadata: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SubscribeToTaskRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub id: ::prost::alloc::string::String,
}
/// One webhook of one task.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct TaskPushNotificationConfig {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub id: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(string, tag = "4")]
    pub url: ::prost::alloc::string::String,
    #[prost(string, tag = "5")]
    pub token: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "6")]
    pub authentication: ::core::option::Option<AuthenticationInfo>,
}
/// What goes into the Authorization header of a notification.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AuthenticationInfo {
    #[prost(string, tag = "1")]
    pub scheme: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub credentials: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetTaskPushNotificationConfigRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ListTaskPushNotificationConfigsRequest {
    #[prost(string, tag = "1")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(int32, tag = "2")]
    pub page_size: i32,
    #[prost(string, tag = "3")]
    pub page_token: ::prost::alloc::string::String,
    #[prost(string, tag = "4")]
    pub tenant: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListTaskPushNotificationConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    pub configs: ::prost::alloc::vec::Vec<TaskPushNotificationConfig>,
    /// Empty on the last page.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DeleteTaskPushNotificationConfigRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub task_id: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub id: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct GetExtendedAgentCardRequest {
    #[prost(string, tag = "1")]
    pub tenant: ::prost::alloc::string::String,
}
/// What an agent says of itself.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCard {
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub description: ::prost::alloc::string::String,
    /// In order of preference.
    #[prost(message, repeated, tag = "3")]
    pub supported_interfaces: ::prost::alloc::vec::Vec<AgentInterface>,
    #[prost(message, optional, tag = "4")]
    pub provider: ::core::option::Option<AgentProvider>,
    #[prost(string, tag = "5")]
    pub version: ::prost::alloc::string::String,
    #[prost(string, optional, tag = "6")]
    pub documentation_url: ::core::option::Option<::prost::alloc::string::String>,
    #[prost(message, optional, tag = "7")]
    pub capabilities: ::core::option::Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    pub security_schemes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        SecurityScheme,
    >,
    #[prost(message, repeated, tag = "9")]
    pub security_requirements: ::prost::alloc::vec::Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    pub default_input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "11")]
    pub default_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "12")]
    pub skills: ::prost::alloc::vec::Vec<AgentSkill>,
    #[prost(message, repeated, tag = "13")]
    pub signatures: ::prost::alloc::vec::Vec<AgentCardSignature>,
    #[prost(string, optional, tag = "14")]
    pub icon_url: ::core::option::Option<::prost::alloc::string::String>,
}
/// Where an agent is to be had, and what is spoken there.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentInterface {
    /// `host:port` for gRPC.
    #[prost(string, tag = "1")]
    pub url: ::prost::alloc::string::String,
    /// JSONRPC, HTTP+JSON, GRPC, or a URI.
    #[prost(string, tag = "2")]
    pub protocol_binding: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub tenant: ::prost::alloc::string::String,
    #[prost(string, tag = "4")]
    pub protocol_version: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AgentProvider {
    #[prost(string, tag = "1")]
    pub url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub organization: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCapabilities {
    #[prost(bool, optional, tag = "1")]
    pub streaming: ::core::option::Option<bool>,
    #[prost(bool, optional, tag = "2")]
    pub push_notifications: ::core::option::Option<bool>,
    #[prost(message, repeated, tag = "3")]
    pub extensions: ::prost::alloc::vec::Vec<AgentExtension>,
    #[prost(bool, optional, tag = "4")]
    pub extended_agent_card: ::core::option::Option<bool>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentExtension {
    #[prost(string, tag = "1")]
    pub uri: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub description: ::prost::alloc::string::String,
    #[prost(bool, tag = "3")]
    pub required: bool,
    #[prost(message, optional, tag = "4")]
    pub params: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentSkill {
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub name: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub description: ::prost::alloc::string::String,
    #[prost(string, repeated, tag = "4")]
    pub tags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "5")]
    pub examples: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "6")]
    pub input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(string, repeated, tag = "7")]
    pub output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(message, repeated, tag = "8")]
    pub security_requirements: ::prost::alloc::vec::Vec<SecurityRequirement>,
}
/// A JSON Web Signature over the card.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AgentCardSignature {
    #[prost(string, tag = "1")]
    pub protected: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub signature: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "3")]
    pub header: ::core::option::Option<::prost_types::Struct>,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct StringList {
    #[prost(string, repeated, tag = "1")]
    pub list: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// Schemes that must all be met, each with its scopes.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SecurityRequirement {
    #[prost(btree_map = "string, message", tag = "1")]
    pub schemes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        StringList,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SecurityScheme {
    #[prost(oneof = "security_scheme::Scheme", tags = "1, 2, 3, 4, 5")]
    pub scheme: ::core::option::Option<security_scheme::Scheme>,
}
/// Nested message and enum types in `SecurityScheme`.
pub mod security_scheme {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Scheme {
        #[prost(message, tag = "1")]
        ApiKeySecurityScheme(super::ApiKeySecurityScheme),
        #[prost(message, tag = "2")]
        HttpAuthSecurityScheme(super::HttpAuthSecurityScheme),
        #[prost(message, tag = "3")]
        Oauth2SecurityScheme(super::OAuth2SecurityScheme),
        #[prost(message, tag = "4")]
        OpenIdConnectSecurityScheme(super::OpenIdConnectSecurityScheme),
        #[prost(message, tag = "5")]
        MtlsSecurityScheme(super::MutualTlsSecurityScheme),
    }
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ApiKeySecurityScheme {
    #[prost(string, tag = "1")]
    pub description: ::prost::alloc::string::String,
    /// query, header or cookie.
    #[prost(string, tag = "2")]
    pub location: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub name: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct HttpAuthSecurityScheme {
    #[prost(string, tag = "1")]
    pub description: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub scheme: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub bearer_format: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuth2SecurityScheme {
    #[prost(string, tag = "1")]
    pub description: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "2")]
    pub flows: ::core::option::Option<OAuthFlows>,
    #[prost(string, tag = "3")]
    pub oauth2_metadata_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct OpenIdConnectSecurityScheme {
    #[prost(string, tag = "1")]
    pub description: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub open_id_connect_url: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct MutualTlsSecurityScheme {
    #[prost(string, tag = "1")]
    pub description: ::prost::alloc::string::String,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OAuthFlows {
    #[prost(oneof = "o_auth_flows::Flow", tags = "1, 2, 3, 4, 5")]
    pub flow: ::core::option::Option<o_auth_flows::Flow>,
}
/// Nested message and enum types in `OAuthFlows`.
pub mod o_auth_flows {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Flow {
        #[prost(message, tag = "1")]
        AuthorizationCode(super::AuthorizationCodeOAuthFlow),
        #[prost(message, tag = "2")]
        ClientCredentials(super::ClientCredentialsOAuthFlow),
        #[deprecated]
        #[prost(message, tag = "3")]
        Implicit(super::ImplicitOAuthFlow),
        #[deprecated]
        #[prost(message, tag = "4")]
        Password(super::PasswordOAuthFlow),
        #[prost(message, tag = "5")]
        DeviceCode(super::DeviceCodeOAuthFlow),
    }
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AuthorizationCodeOAuthFlow {
    #[prost(string, tag = "1")]
    pub authorization_url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub token_url: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub refresh_url: ::prost::alloc::string::String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    #[prost(bool, tag = "5")]
    pub pkce_required: bool,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ClientCredentialsOAuthFlow {
    #[prost(string, tag = "1")]
    pub token_url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub refresh_url: ::prost::alloc::string::String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ImplicitOAuthFlow {
    #[prost(string, tag = "1")]
    pub authorization_url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub refresh_url: ::prost::alloc::string::String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PasswordOAuthFlow {
    #[prost(string, tag = "1")]
    pub token_url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub refresh_url: ::prost::alloc::string::String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DeviceCodeOAuthFlow {
    #[prost(string, tag = "1")]
    pub device_authorization_url: ::prost::alloc::string::String,
    #[prost(string, tag = "2")]
    pub token_url: ::prost::alloc::string::String,
    #[prost(string, tag = "3")]
    pub refresh_url: ::prost::alloc::string::String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: ::prost::alloc::collections::BTreeMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Canceled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}
impl TaskState {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "TASK_STATE_UNSPECIFIED" => Some(Self::Unspecified),
            "TASK_STATE_SUBMITTED" => Some(Self::Submitted),
            "TASK_STATE_WORKING" => Some(Self::Working),
            "TASK_STATE_COMPLETED" => Some(Self::Completed),
            "TASK_STATE_FAILED" => Some(Self::Failed),
            "TASK_STATE_CANCELED" => Some(Self::Canceled),
            "TASK_STATE_INPUT_REQUIRED" => Some(Self::InputRequired),
            "TASK_STATE_REJECTED" => Some(Self::Rejected),
            "TASK_STATE_AUTH_REQUIRED" => Some(Self::AuthRequired),
            _ => None,
        }
    }
}
/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Role {
    Unspecified = 0,
    User = 1,
    Agent = 2,
}
impl Role {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Unspecified => "ROLE_UNSPECIFIED",
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "ROLE_UNSPECIFIED" => Some(Self::Unspecified),
            "ROLE_USER" => Some(Self::User),
            "ROLE_AGENT" => Some(Self::Agent),
            _ => None,
        }
    }
}
