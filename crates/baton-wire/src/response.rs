//! The answers that are not an object of the data model by themselves (§3.1), and how any answer is written.

use std::sync::Arc;

use baton_core::model::{Message, TaskObject, TaskPushNotificationConfig, default_on_null, integer, object};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, de};

/// What SendMessage answers: `{"task": …}` or `{"message": …}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendMessageResponse {
    Task(TaskObject),
    Message(Arc<Message>),
}

/// One page of tasks. All four members are always written (§3.1.4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListTasksResponse {
    #[serde(deserialize_with = "default_on_null")]
    pub tasks: Vec<TaskObject>,
    /// Empty on the last page.
    #[serde(alias = "next_page_token", deserialize_with = "default_on_null")]
    pub next_page_token: String,
    #[serde(alias = "page_size", deserialize_with = "integer")]
    pub page_size: i32,
    /// Of all pages together.
    #[serde(alias = "total_size", deserialize_with = "integer")]
    pub total_size: i32,
}

/// The push notification configurations of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListTaskPushNotificationConfigsResponse {
    #[serde(deserialize_with = "default_on_null")]
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Empty on the last page.
    #[serde(alias = "next_page_token", deserialize_with = "default_on_null")]
    pub next_page_token: String,
}

/// What deleting answers: `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Empty {}

/// Any answer as JSON on one line.
pub fn encode(value: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    write(&mut out, value);
    out.into()
}

pub(crate) fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("our types have text keys only, and a Vec takes every byte");
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Loose {
    #[serde(deserialize_with = "object")]
    task: Option<TaskObject>,
    #[serde(deserialize_with = "object")]
    message: Option<Message>,
}

impl<'de> Deserialize<'de> for SendMessageResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match object(deserializer)?.unwrap_or_default() {
            Loose { task: Some(task), message: None } => Ok(Self::Task(task)),
            Loose { task: None, message: Some(message) } => Ok(Self::Message(Arc::new(message))),
            Loose { .. } => Err(de::Error::custom("expected exactly one of 'task' and 'message'")),
        }
    }
}

/// Deleting is answered with an empty object, with `null` or with nothing at all.
impl<'de> Deserialize<'de> for Empty {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}
