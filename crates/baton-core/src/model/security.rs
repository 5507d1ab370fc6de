//! How callers prove who they are (§4.5): the schemes that a card names.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::lenient::{boolean, default_on_null, nonempty, object};

/// One scheme: the `oneof` of the definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SecurityScheme {
    ApiKey(ApiKeySecurityScheme),
    Http(HttpAuthSecurityScheme),
    OAuth2(OAuth2SecurityScheme),
    OpenIdConnect(OpenIdConnectSecurityScheme),
    MutualTls(MutualTlsSecurityScheme),
    /// None of 1.0: read, as a card of another version has it, and written as an empty object.
    #[default]
    Missing,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApiKeySecurityScheme {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `query`, `header` or `cookie`.
    #[serde(deserialize_with = "default_on_null")]
    pub location: String,
    #[serde(deserialize_with = "default_on_null")]
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpAuthSecurityScheme {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A scheme of RFC 9110, such as `bearer`.
    #[serde(deserialize_with = "default_on_null")]
    pub scheme: String,
    #[serde(alias = "bearer_format", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub bearer_format: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth2SecurityScheme {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub flows: OAuthFlows,
    #[serde(
        alias = "oauth2_metadata_url",
        deserialize_with = "nonempty",
        skip_serializing_if = "Option::is_none"
    )]
    pub oauth2_metadata_url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenIdConnectSecurityScheme {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(alias = "open_id_connect_url", deserialize_with = "default_on_null")]
    pub open_id_connect_url: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MutualTlsSecurityScheme {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How tokens are had: the `oneof` of the definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OAuthFlows {
    AuthorizationCode(AuthorizationCodeOAuthFlow),
    ClientCredentials(TokenOAuthFlow),
    /// Deprecated by OAuth 2.1, and still in the definition; so is the next.
    Implicit(ImplicitOAuthFlow),
    Password(TokenOAuthFlow),
    DeviceCode(DeviceCodeOAuthFlow),
    #[default]
    Missing,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthorizationCodeOAuthFlow {
    #[serde(alias = "authorization_url", deserialize_with = "default_on_null")]
    pub authorization_url: String,
    #[serde(alias = "token_url", deserialize_with = "default_on_null")]
    pub token_url: String,
    #[serde(alias = "refresh_url", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    /// What each scope is for.
    #[serde(deserialize_with = "default_on_null")]
    pub scopes: BTreeMap<String, String>,
    #[serde(
        alias = "pkce_required",
        deserialize_with = "boolean",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub pkce_required: bool,
}

/// The flows that need a token endpoint only: client credentials and password.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenOAuthFlow {
    #[serde(alias = "token_url", deserialize_with = "default_on_null")]
    pub token_url: String,
    #[serde(alias = "refresh_url", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub scopes: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImplicitOAuthFlow {
    #[serde(alias = "authorization_url", deserialize_with = "default_on_null")]
    pub authorization_url: String,
    #[serde(alias = "refresh_url", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub scopes: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceCodeOAuthFlow {
    #[serde(alias = "device_authorization_url", deserialize_with = "default_on_null")]
    pub device_authorization_url: String,
    #[serde(alias = "token_url", deserialize_with = "default_on_null")]
    pub token_url: String,
    #[serde(alias = "refresh_url", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub scopes: BTreeMap<String, String>,
}

/// Serde of a `oneof`: an object with one of these members. The first that is there counts, as no card can mean two.
macro_rules! oneof {
    ($name:ident { $($variant:ident($content:ty) = $member:literal | $snake:literal),+ $(,)? }) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(content) => serializer.collect_map([($member, content)]),)+
                    Self::Missing => serializer.collect_map(std::iter::empty::<((), ())>()),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Default, Deserialize)]
                #[serde(default)]
                #[expect(non_snake_case, reason = "members are named after the variants that they make")]
                struct Loose {
                    $(#[serde(rename = $member, alias = $snake)] $variant: Option<$content>,)+
                }
                let loose: Loose = object(deserializer)?.unwrap_or_default();
                $(if let Some(content) = loose.$variant {
                    return Ok(Self::$variant(content));
                })+
                Ok(Self::Missing)
            }
        }
    };
}

oneof!(SecurityScheme {
    ApiKey(ApiKeySecurityScheme) = "apiKeySecurityScheme" | "api_key_security_scheme",
    Http(HttpAuthSecurityScheme) = "httpAuthSecurityScheme" | "http_auth_security_scheme",
    OAuth2(OAuth2SecurityScheme) = "oauth2SecurityScheme" | "oauth2_security_scheme",
    OpenIdConnect(OpenIdConnectSecurityScheme)
        = "openIdConnectSecurityScheme" | "open_id_connect_security_scheme",
    MutualTls(MutualTlsSecurityScheme) = "mtlsSecurityScheme" | "mtls_security_scheme",
});

oneof!(OAuthFlows {
    AuthorizationCode(AuthorizationCodeOAuthFlow) = "authorizationCode" | "authorization_code",
    ClientCredentials(TokenOAuthFlow) = "clientCredentials" | "client_credentials",
    Implicit(ImplicitOAuthFlow) = "implicit" | "implicit_flow",
    Password(TokenOAuthFlow) = "password" | "password_flow",
    DeviceCode(DeviceCodeOAuthFlow) = "deviceCode" | "device_code",
});
