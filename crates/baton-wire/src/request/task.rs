//! The requests about tasks that are there (§3.1.3 to §3.1.6), and the one for the extended card.

use baton_core::json::Object;
use baton_core::model::{TaskState, Violation, boolean, default_on_null, nonempty, optional_integer};
use baton_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::{history_length, page_size, required};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetTaskRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
    /// Zero or more.
    #[serde(
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListTasksRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(alias = "context_id", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Never the unspecified state: that is no filter.
    #[serde(deserialize_with = "specified", skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// 1 to [`baton_core::limits::PAGE_SIZE_MAX`].
    #[serde(
        alias = "page_size",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<i32>,
    #[serde(alias = "page_token", deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// Zero or more.
    #[serde(
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i32>,
    /// Only tasks whose status is of this time or later.
    #[serde(alias = "status_timestamp_after", skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    #[serde(
        alias = "include_artifacts",
        deserialize_with = "boolean",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub include_artifacts: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CancelTaskRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(deserialize_with = "default_on_null", skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscribeToTaskRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(deserialize_with = "default_on_null")]
    pub id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetExtendedAgentCardRequest {
    #[serde(deserialize_with = "nonempty", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

impl GetTaskRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("id", &self.id)?;
        history_length(self.history_length)
    }
}

impl ListTasksRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        page_size(self.page_size)?;
        history_length(self.history_length)
    }
}

impl CancelTaskRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("id", &self.id)
    }
}

impl SubscribeToTaskRequest {
    pub(super) fn check(&self) -> Result<(), Violation> {
        required("id", &self.id)
    }
}

fn specified<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskState>, D::Error> {
    TaskState::deserialize(deserializer)
        .map(|state| Some(state).filter(|state| *state != TaskState::Unspecified))
}
