//! Push notification configurations.

use baton_core::model::{AuthenticationInfo, TaskPushNotificationConfig};
use serde::{Serialize, Serializer};

use super::super::Spelling;
use super::{Members, Spell};
use crate::response::{Empty, ListTaskPushNotificationConfigsResponse};

/// JSON-RPC: `{taskId, pushNotificationConfig}`; REST: `{name, pushNotificationConfig}`.
impl Spell for TaskPushNotificationConfig {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        let task = self.task_id.as_deref().unwrap_or_default();
        match spelling {
            Spelling::JsonRpc => members.plain("taskId", task)?,
            Spelling::Rest | Spelling::RestSnakeCase => {
                let id = self.id.as_deref().unwrap_or_default();
                members.plain("name", &format!("tasks/{task}/pushNotificationConfigs/{id}"))?;
            }
        }
        members.plain("pushNotificationConfig", &Inner(self))?;
        members.end()
    }
}

struct Inner<'a>(&'a TaskPushNotificationConfig);

impl Serialize for Inner<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(config) = self;
        let mut members = Members::new(Spelling::Rest, serializer)?;
        members.some("id", config.id.as_ref())?;
        members.plain("url", config.url.as_deref().unwrap_or_default())?;
        members.some("token", config.token.as_ref())?;
        members.some("authentication", config.authentication.as_ref().map(Schemes::from).as_ref())?;
        members.end()
    }
}

/// 0.3 takes a list of schemes of which the sender chooses one; 1.0 names that one.
#[derive(Serialize)]
struct Schemes<'a> {
    schemes: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a str>,
}

impl<'a> From<&'a AuthenticationInfo> for Schemes<'a> {
    fn from(info: &'a AuthenticationInfo) -> Self {
        Self { schemes: [&info.scheme], credentials: info.credentials.as_deref() }
    }
}

/// JSON-RPC has no pages: a list.
impl Spell for ListTaskPushNotificationConfigsResponse {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        if spelling == Spelling::JsonRpc {
            return self.configs.spell(spelling, to);
        }
        let mut members = Members::new(spelling, to)?;
        members.spelled("configs", &*self.configs)?;
        members.plain("nextPageToken", &self.next_page_token)?;
        members.end()
    }
}

/// `null` for JSON-RPC, `{}` for REST.
impl Spell for Empty {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        match spelling {
            Spelling::JsonRpc => to.serialize_unit(),
            Spelling::Rest | Spelling::RestSnakeCase => self.serialize(to),
        }
    }
}
