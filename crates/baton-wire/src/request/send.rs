//! The request of SendMessage and SendStreamingMessage (§3.2.1, §3.2.2).

use baton_core::json::Object;
use baton_core::model::{
    Message, TaskPushNotificationConfig, Violation, boolean, default_on_null, nonempty, object,
    optional_integer,
};
use serde::{Deserialize, Deserializer, Serialize};

use super::history_length;

/// A message, and how it is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SendMessageRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(deserialize_with = "object_or_default")]
    pub message: Message,
    #[serde(deserialize_with = "object_or_default", skip_serializing_if = "is_default")]
    pub configuration: SendMessageConfiguration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SendMessageConfiguration {
    /// Media types; empty where the client takes any.
    #[serde(
        alias = "accepted_output_modes",
        deserialize_with = "default_on_null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    #[serde(
        alias = "task_push_notification_config",
        deserialize_with = "object",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_push_notification_config: Option<TaskPushNotificationConfig>,
    /// Zero or more.
    #[serde(
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
    /// Answer when the task is made, not when it settles.
    #[serde(
        alias = "return_immediately",
        deserialize_with = "boolean",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub return_immediately: bool,
}

impl SendMessageRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        if self.message == Message::default() {
            return Err(Violation::new("message", "is required: messageId, role and parts"));
        }
        self.message.check().map_err(|violation| violation.within("message"))?;
        self.configuration.check().map_err(|violation| violation.within("configuration"))
    }
}

impl SendMessageConfiguration {
    fn check(&self) -> Result<(), Violation> {
        history_length(self.history_length)?;
        self.task_push_notification_config.as_ref().map_or(Ok(()), |config| {
            config.check().map_err(|violation| violation.within("taskPushNotificationConfig"))
        })
    }
}

fn object_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(object(deserializer)?.unwrap_or_default())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
