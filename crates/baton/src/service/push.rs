//! Push notification configurations: where a task's owner wants its updates to be posted.
//!
//! What is secret of one is sealed before it is stored and answered to nobody; only the sender opens it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::delivery::State;
use baton_core::ident::TaskId;
use baton_core::limits::{CREDENTIAL_BYTES, ID_BYTES, PUSH_CONFIGS};
use baton_core::model::{AuthenticationInfo, TaskPushNotificationConfig};
use baton_store::{Edition, NewPush, PushConfig, Verb};
use serde::{Deserialize, Serialize};

use super::list::wrong_token;
use super::{Error, Scope, Service, parse_id};
use crate::access::{Broken, Seal};
use crate::clock::new_id;

/// Bytes of an HTTP authentication scheme; the longest registered one has 13.
const SCHEME: usize = 64;

/// A configuration that came with a message, and the version that its receiver reads.
pub type Inline = (TaskPushNotificationConfig, Edition);

/// What of a configuration is sealed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Secret {
    /// Sealed for one configuration of one task.
    fn seal(&self, seal: &Seal, task: TaskId, id: &str) -> Option<Vec<u8>> {
        let plain = serde_json::to_vec(self).expect("two texts serialise");
        (*self != Self::default()).then(|| seal.seal(&plain, &place(task, id)))
    }

    pub fn unseal(seal: &Seal, sealed: Option<&[u8]>, task: TaskId, id: &str) -> Result<Self, Broken> {
        let Some(sealed) = sealed else { return Ok(Self::default()) };
        let plain = seal.unseal(sealed, &place(task, id))?;
        serde_json::from_slice(&plain).map_err(|_| Broken)
    }
}

/// What a secret belongs to.
fn place(task: TaskId, id: &str) -> Vec<u8> {
    [&b"push"[..], task.as_bytes(), id.as_bytes()].concat()
}

impl Scope {
    /// Refuses where this agent pushes nothing, or the grant does not say that it may be asked to.
    pub fn allow_push(&self) -> Result<(), Error> {
        if !self.agent.settings.push {
            return Err(Error::PushNotSupported);
        }
        self.allow(Verb::Push)
    }
}

impl Service {
    /// CreateTaskPushNotificationConfig. One of the same id is replaced.
    pub async fn create_push(
        &self,
        scope: &Scope,
        config: TaskPushNotificationConfig,
        edition: Edition,
    ) -> Result<TaskPushNotificationConfig, Error> {
        scope.allow_push()?;
        let (by, task) = (scope.by(), config.task_id.clone().unwrap_or_default());
        let snapshot = self.shown(&by, self.load_by(&by, &task).await?).await?;
        let task = snapshot.task.id;
        let new = self.new_push(task, (config, edition)).await?;
        let stored = self.store.put_push_config(&by, task, new, self.now()).await?;
        self.hub.owed().notify_one();
        Ok(shown(&stored))
    }

    /// GetTaskPushNotificationConfig.
    pub async fn load_push(
        &self,
        scope: &Scope,
        task: &str,
        id: &str,
    ) -> Result<TaskPushNotificationConfig, Error> {
        scope.allow_push()?;
        let task = self.load_head(&scope.by(), task).await?.id;
        let found = self.store.find_push_config(task, id).await?.filter(is_seen);
        found.as_ref().map(shown).ok_or(Error::TaskNotFound)
    }

    /// ListTaskPushNotificationConfigs: a page, and the token of the next; empty on the last.
    pub async fn list_push(
        &self,
        scope: &Scope,
        task: &str,
        (size, token): (Option<usize>, Option<&str>),
    ) -> Result<(Vec<TaskPushNotificationConfig>, String), Error> {
        scope.allow_push()?;
        let after = token.map(read_token).transpose()?.unwrap_or_default();
        let task = self.load_head(&scope.by(), task).await?.id;
        let all = self.store.list_push_configs(task, &after, PUSH_CONFIGS).await?;
        let mut seen: Vec<_> = all.iter().filter(|config| is_seen(config)).map(shown).collect();
        let size = size.unwrap_or(PUSH_CONFIGS);
        let more = seen.len() > size;
        seen.truncate(size);
        let last = seen.last().and_then(|config| config.id.as_deref()).filter(|_| more);
        let next = last.map(|id| BASE64_URL_SAFE_NO_PAD.encode(id)).unwrap_or_default();
        Ok((seen, next))
    }

    /// DeleteTaskPushNotificationConfig. One that is not there is deleted already.
    pub async fn delete_push(&self, scope: &Scope, task: &str, id: &str) -> Result<(), Error> {
        scope.allow_push()?;
        self.store.delete_push_config((&scope.by(), self.now()), parse_id(task)?, id).await?;
        Ok(())
    }

    /// What is to be stored of a configuration, after everything that could be refused of it.
    pub(super) async fn new_push(&self, task: TaskId, (config, edition): Inline) -> Result<NewPush, Error> {
        config.check().map_err(Error::Invalid)?;
        let id = config.id.unwrap_or_else(|| new_id().to_string());
        if id.len() > ID_BYTES || id.chars().any(char::is_control) {
            return Err(Error::invalid("id", format!("has 1 to {ID_BYTES} bytes and no control characters")));
        }
        check_value("token", config.token.as_deref())?;
        let (scheme, credentials) = match config.authentication {
            Some(AuthenticationInfo { scheme, credentials }) => (Some(scheme), credentials),
            None => (None, None),
        };
        if scheme.as_deref().is_some_and(|scheme| scheme.len() > SCHEME || !scheme.bytes().all(is_token)) {
            return Err(Error::invalid("authentication.scheme", "is an HTTP scheme such as Bearer"));
        }
        check_value("authentication.credentials", credentials.as_deref())?;
        let url = config.url.unwrap_or_default();
        let target = self.dialer.look(&url).await.map_err(|why| Error::invalid("url", why.to_string()))?;
        let secret = Secret { credentials, token: config.token }.seal(&self.seal, task, &id);
        Ok(NewPush { id, url, target: target.origin(), scheme, secret, edition })
    }
}

/// What is told of a configuration: everything but its secrets.
fn shown(config: &PushConfig) -> TaskPushNotificationConfig {
    let authentication = config.scheme.clone().map(|scheme| AuthenticationInfo { scheme, credentials: None });
    TaskPushNotificationConfig {
        tenant: None,
        id: Some(config.id.clone()),
        task_id: Some(config.task.to_string()),
        url: Some(config.url.clone()),
        token: None,
        authentication,
    }
}

/// One whose receiver wants no more is gone for its owner, and kept for the operator's log.
const fn is_seen(config: &PushConfig) -> bool {
    !matches!(config.state, State::Ended(_))
}

/// A header has to carry it, whatever it is.
fn check_value(field: &str, value: Option<&str>) -> Result<(), Error> {
    let Some(value) = value else { return Ok(()) };
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if plain && value.len() <= CREDENTIAL_BYTES && value.trim() == value {
        return Ok(());
    }
    let what = format!("has at most {CREDENTIAL_BYTES} printable ASCII characters and no space at its ends");
    Err(Error::invalid(field, what))
}

/// RFC 9110 §5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

fn read_token(token: &str) -> Result<String, Error> {
    let id = BASE64_URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    id.ok_or_else(wrong_token)
}
