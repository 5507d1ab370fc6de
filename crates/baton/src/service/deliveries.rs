//! What became of push notifications, for the operator.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::delivery::{End, State};
use baton_core::ident::TaskId;
use baton_store::{Actor, DeliveriesQuery, DeliveryAttempt, PushConfig};
use tracing::info;

use super::list::{page_size, wrong_token};
use super::{Error, Service, parse_id};

/// What to list; everything optional.
#[derive(Clone, Debug, Default)]
pub struct ListDeliveries {
    /// `active`, `suspended` or `ended`.
    pub state: Option<String>,
    pub task: Option<String>,
    /// 1..=100.
    pub size: Option<usize>,
    pub page_token: Option<String>,
}

const STATES: [&str; 3] = ["active", "suspended", "ended"];

impl Service {
    /// Everybody's push configurations, those of the newest tasks first; and the token of the next page, empty on the
    /// last.
    pub async fn list_deliveries(&self, list: ListDeliveries) -> Result<(Vec<PushConfig>, String), Error> {
        let state = match &list.state {
            Some(state) => Some(
                STATES
                    .into_iter()
                    .find(|known| known == state)
                    .ok_or_else(|| Error::invalid("state", format!("is one of {}", STATES.join(", "))))?,
            ),
            None => None,
        };
        let size = page_size(list.size)?;
        let task = list.task.as_deref().map(parse_id).transpose()?;
        let after = list.page_token.as_deref().map(read_token).transpose()?;
        let query = DeliveriesQuery { state, task, after, size: size + 1 };
        let mut found = self.store.list_deliveries(query).await?;
        let more = found.len() > size;
        found.truncate(size);
        let next = found.last().filter(|_| more).map(write_token).unwrap_or_default();
        Ok((found, next))
    }

    /// One configuration and its newest tries, those before number `before`.
    pub async fn load_delivery(
        &self,
        task: &str,
        id: &str,
        (size, before): (Option<usize>, Option<u64>),
    ) -> Result<(PushConfig, Vec<DeliveryAttempt>), Error> {
        let (task, size) = (parse_id(task)?, page_size(size)?);
        let config = self.store.find_push_config(task, id).await?.ok_or(Error::TaskNotFound)?;
        let attempts = self.store.delivery_attempts(task, id, before, size).await?;
        Ok((config, attempts))
    }

    /// Tries again what is owed, whatever was given up.
    pub async fn replay_delivery(&self, task: &str, id: &str, by: &Actor) -> Result<PushConfig, Error> {
        let task = parse_id(task)?;
        let config = self.store.replay(task, id, (by, self.now())).await?;
        if config.state == State::Ended(End::Revoked) {
            return Err(Error::Unsupported("its grant is revoked: nothing more is sent for it"));
        }
        info!(task.id = %task, push.id = id, "a webhook is replayed");
        self.hub.owed().notify_one();
        Ok(config)
    }
}

fn write_token(last: &PushConfig) -> String {
    BASE64_URL_SAFE_NO_PAD.encode([&last.task.as_bytes()[..], last.id.as_bytes()].concat())
}

fn read_token(text: &str) -> Result<(TaskId, String), Error> {
    let read = || {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (task, id) = bytes.split_first_chunk::<16>()?;
        Some((TaskId::from_bytes(*task), String::from_utf8(id.to_vec()).ok()?))
    };
    read().ok_or_else(wrong_token)
}
