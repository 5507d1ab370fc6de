//! Push notification configurations, in the three shapes in which they come.

use baton_core::model::{
    AuthenticationInfo, TaskPushNotificationConfig, Violation, default_on_null, nonempty, object,
};
use serde::Deserialize;

/// The id of a configuration that was set without one. 0.3 has one such configuration for each task, which setting it
/// again replaces and which is got without an id.
pub const DEFAULT_ID: &str = "default";

/// The configuration itself: alone in SendMessage, inside of another object elsewhere.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct LooseConfig {
    #[serde(deserialize_with = "nonempty")]
    id: Option<String>,
    #[serde(deserialize_with = "nonempty")]
    url: Option<String>,
    #[serde(deserialize_with = "nonempty")]
    token: Option<String>,
    #[serde(deserialize_with = "object")]
    authentication: Option<LooseAuthentication>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LooseAuthentication {
    #[serde(deserialize_with = "default_on_null")]
    schemes: Vec<String>,
    #[serde(deserialize_with = "nonempty")]
    credentials: Option<String>,
}

/// `{taskId, pushNotificationConfig}` of JSON-RPC, `{name, pushNotificationConfig}` of the JavaScript library, and
/// `{parent, configId, config: {name, pushNotificationConfig}}` of the Python library. Names repeat what the path and the
/// configuration say (and the Python library writes `None` into them): they are not looked at.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LooseCreate {
    #[serde(alias = "task_id", deserialize_with = "nonempty")]
    pub task_id: Option<String>,
    #[serde(alias = "config_id", deserialize_with = "nonempty")]
    config_id: Option<String>,
    #[serde(alias = "push_notification_config", deserialize_with = "object")]
    push_notification_config: Option<LooseConfig>,
    #[serde(deserialize_with = "object")]
    config: Option<Inner>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Inner {
    #[serde(alias = "push_notification_config", deserialize_with = "object")]
    push_notification_config: Option<LooseConfig>,
}

impl LooseCreate {
    pub fn read(self) -> Result<TaskPushNotificationConfig, Violation> {
        const FIELD: &str = "pushNotificationConfig";
        let inner = self.config.and_then(|config| config.push_notification_config);
        let config = self.push_notification_config.or(inner);
        let config = config.ok_or_else(|| Violation::new(FIELD, "is required: where notifications go"))?;
        let mut read = config.read().map_err(|violation| violation.within(FIELD))?;
        let id = read.id.take().or(self.config_id).unwrap_or_else(|| DEFAULT_ID.to_owned());
        Ok(TaskPushNotificationConfig { id: Some(id), task_id: self.task_id, ..read })
    }
}

impl LooseConfig {
    pub fn read(self) -> Result<TaskPushNotificationConfig, Violation> {
        let authentication = match self.authentication {
            Some(LooseAuthentication { schemes, credentials }) => read_authentication(schemes, credentials)?,
            None => None,
        };
        let config = TaskPushNotificationConfig {
            tenant: None,
            id: self.id,
            task_id: None,
            url: self.url,
            token: self.token,
            authentication,
        };
        config.check()?;
        Ok(config)
    }

    /// In a SendMessage request, where the task is only being made.
    pub fn read_inline(self) -> Result<TaskPushNotificationConfig, Violation> {
        let mut read = self.read()?;
        let id = read.id.take().unwrap_or_else(|| DEFAULT_ID.to_owned());
        Ok(TaskPushNotificationConfig { id: Some(id), ..read })
    }
}

/// Of several schemes the first: the sender chooses one. An object with nothing in it is none.
pub fn read_authentication(
    schemes: Vec<String>,
    credentials: Option<String>,
) -> Result<Option<AuthenticationInfo>, Violation> {
    match (schemes.into_iter().find(|scheme| !scheme.is_empty()), credentials) {
        (Some(scheme), credentials) => Ok(Some(AuthenticationInfo { scheme, credentials })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Violation::new(
            "authentication.schemes",
            "at least one is required beside credentials: an HTTP scheme such as Bearer",
        )),
    }
}
