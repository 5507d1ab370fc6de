//! Pages of a caller's tasks with one agent.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::ident::{AgentName, ContextId, TaskId};
use baton_core::limits::{HISTORY_RETURNED, PAGE_SIZE, PAGE_SIZE_MAX};
use baton_core::model::TaskState;
use baton_core::task::Snapshot;
use baton_core::time::Timestamp;
use baton_store::{Content, ListAllQuery, ListQuery, Position, Verb};

use super::{Error, Scope, Service};

/// What to list; everything optional.
#[derive(Clone, Debug, Default)]
pub struct List {
    pub context: Option<String>,
    pub state: Option<TaskState>,
    pub since: Option<Timestamp>,
    /// 1..=100.
    pub size: Option<usize>,
    pub page_token: Option<String>,
    /// Newest messages of each task; all up to the limit where `None`.
    pub history: Option<usize>,
    pub artifacts: bool,
}

/// A page and what is needed to go on.
#[derive(Clone, Debug)]
pub struct Listed {
    pub tasks: Vec<Arc<Snapshot>>,
    /// Empty on the last page.
    pub next_page_token: String,
    pub size: usize,
    pub total: u64,
}

impl Service {
    pub async fn list(&self, scope: &Scope, list: List) -> Result<Listed, Error> {
        scope.allow(Verb::Read)?;
        let size = list.size.unwrap_or(PAGE_SIZE);
        let after = list.page_token.as_deref().map(read_token).transpose()?;
        // A text that can be no context of ours matches nothing.
        let context = match list.context.as_deref().map(ContextId::parse) {
            Some(Err(_)) => {
                return Ok(Listed { tasks: Vec::new(), next_page_token: String::new(), size, total: 0 });
            }
            Some(Ok(context)) => Some(context),
            None => None,
        };
        let query = ListQuery {
            agent: scope.agent.name().clone(),
            owner: scope.owner().clone(),
            context,
            state: list.state.filter(|state| *state != TaskState::Unspecified),
            since: list.since,
            after,
            size,
            content: Content {
                messages: list.history.unwrap_or(HISTORY_RETURNED).min(HISTORY_RETURNED),
                artifacts: list.artifacts,
            },
        };
        let page = self.store.list(query).await?;
        let next_page_token = page.next.map(write_token).unwrap_or_default();
        let (by, mut tasks, mut total) = (scope.by(), Vec::with_capacity(page.tasks.len()), page.total);
        for task in page.tasks {
            match self.shown(&by, task).await {
                // It became a direct Message between the two looks.
                Err(Error::TaskNotFound) => total -= 1,
                shown => tasks.push(shown?),
            }
        }
        Ok(Listed { tasks, next_page_token, size, total })
    }
}

/// What of all tasks to list, for the operator; everything optional.
#[derive(Clone, Debug, Default)]
pub struct ListAll {
    pub agent: Option<AgentName>,
    pub state: Option<TaskState>,
    /// 1..=100.
    pub size: Option<usize>,
    pub page_token: Option<String>,
}

impl Service {
    /// Tasks of every owner.
    pub async fn list_all(&self, list: ListAll) -> Result<Listed, Error> {
        let size = page_size(list.size)?;
        let after = list.page_token.as_deref().map(read_token).transpose()?;
        let query = ListAllQuery {
            agent: list.agent,
            state: list.state,
            after,
            size,
            content: Content { messages: 1, artifacts: false },
        };
        let page = self.store.list_all(query).await?;
        let next_page_token = page.next.map(write_token).unwrap_or_default();
        Ok(Listed { tasks: page.tasks, next_page_token, size, total: page.total })
    }
}

/// The size of a page that the operator asks for.
pub(super) fn page_size(asked: Option<usize>) -> Result<usize, Error> {
    let size = asked.unwrap_or(PAGE_SIZE);
    if (1..=PAGE_SIZE_MAX).contains(&size) {
        return Ok(size);
    }
    Err(Error::invalid("pageSize", format!("is a number from 1 to {PAGE_SIZE_MAX}")))
}

/// The refusal of a token that no page of ours gave out.
pub(super) fn wrong_token() -> Error {
    Error::invalid("pageToken", "is not one that this server gave out; begin again without it")
}

/// A position as an opaque text. It opens nothing: what a page shows is scoped anew each time.
fn write_token(position: Position) -> String {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&position.at.as_millis().to_be_bytes());
    bytes[8..].copy_from_slice(position.id.as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn read_token(text: &str) -> Result<Position, Error> {
    let bytes: [u8; 24] = BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(wrong_token)?;
    let (at, id) = bytes.split_at(8);
    Ok(Position {
        at: Timestamp::from_millis(i64::from_be_bytes(at.try_into().map_err(|_| wrong_token())?)),
        id: TaskId::from_bytes(id.try_into().map_err(|_| wrong_token())?),
    })
}
