//! The requests about push notification configurations (§3.1.7 to §3.1.10). Creating one takes the configuration
//! itself.

use baton_core::model::{TaskPushNotificationConfig, Violation, default_on_null, nonempty, optional_integer};
use serde::{Deserialize, Serialize};

use super::{page_size, required};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetTaskPushNotificationConfigRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    pub task_id: String,
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteTaskPushNotificationConfigRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    pub task_id: String,
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListTaskPushNotificationConfigsRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "default_on_null")]
    pub task_id: String,
    /// Zero is unset: the definition has no presence here.
    #[serde(
        alias = "page_size",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<i32>,
    #[serde(alias = "page_token", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

impl GetTaskPushNotificationConfigRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("taskId", &self.task_id)?;
        required("id", &self.id)
    }
}

impl DeleteTaskPushNotificationConfigRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("taskId", &self.task_id)?;
        required("id", &self.id)
    }
}

impl ListTaskPushNotificationConfigsRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("taskId", &self.task_id)?;
        page_size(self.page_size.filter(|size| *size != 0))
    }
}

/// A configuration that is sent by itself names its task.
pub(super) fn check_create(config: &TaskPushNotificationConfig) -> Result<(), Violation> {
    required("taskId", config.task_id.as_deref().unwrap_or_default())?;
    config.check()
}
