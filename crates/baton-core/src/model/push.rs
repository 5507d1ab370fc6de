//! Where the updates of a task are pushed to (§4.3.1, §4.3.2).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Violation;
use super::lenient::{nonempty, object};

/// One webhook of one task.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskPushNotificationConfig {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Given by the server where the client gives none.
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Unset inside a SendMessage request: the task is only being made.
    #[serde(alias = "task_id", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Goes with every notification, for the receiver to compare.
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(deserialize_with = "object", skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// What goes into the `Authorization` header of a notification.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthenticationInfo {
    /// An HTTP authentication scheme, in any case.
    #[serde(deserialize_with = "super::default_on_null")]
    pub scheme: String,
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

impl TaskPushNotificationConfig {
    /// What the definition requires: a URL, and a scheme where there is authentication.
    pub fn check(&self) -> Result<(), Violation> {
        if self.url.is_none() {
            return Err(Violation::new("url", "is required: where the notifications are to be posted"));
        }
        if self.authentication.as_ref().is_some_and(|authentication| authentication.scheme.is_empty()) {
            return Err(Violation::new(
                "authentication.scheme",
                "is required: an HTTP scheme such as Bearer",
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for TaskPushNotificationConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPushNotificationConfig")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .field("url", &self.url)
            .field("token", &self.token.as_ref().map(|_| "[redacted]"))
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticationInfo")
            .field("scheme", &self.scheme)
            .field("credentials", &self.credentials.as_ref().map(|_| "[redacted]"))
            .finish()
    }
}
