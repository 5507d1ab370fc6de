//! Tasks, their updates, and the answers that hold them.

use baton_core::model::{ArtifactUpdate, StatusUpdate, StreamResponse, TaskObject, TaskState, TaskStatus};
use serde::{Serialize, Serializer};

use super::super::{Spelling, names};
use super::{Members, Spell, Spelled};
use crate::response::{ListTasksResponse, SendMessageResponse};

impl Spell for TaskObject {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.kind("task")?;
        members.plain("id", &self.id)?;
        // Required in 0.3, and every task of ours has one.
        members.plain("contextId", self.context_id.as_deref().unwrap_or_default())?;
        members.spelled("status", &self.status)?;
        if let Some(artifacts) = &self.artifacts {
            members.spelled("artifacts", &**artifacts)?;
        }
        if !self.history.is_empty() {
            members.spelled("history", &*self.history)?;
        }
        members.some("metadata", self.metadata.as_ref())?;
        members.end()
    }
}

impl Spell for TaskStatus {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.plain("state", names::state(self.state, spelling))?;
        if let Some(message) = &self.message {
            members.spelled("message", message)?;
        }
        members.some("timestamp", self.timestamp.as_ref())?;
        members.end()
    }
}

/// A status update, and whether the stream ends with it.
struct Status<'a> {
    update: &'a StatusUpdate,
    is_final: bool,
}

impl Spell for Status<'_> {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.kind("status-update")?;
        members.plain("taskId", &self.update.task_id)?;
        members.plain("contextId", &self.update.context_id)?;
        members.spelled("status", &self.update.status)?;
        members.plain("final", &self.is_final)?;
        members.some("metadata", self.update.metadata.as_ref())?;
        members.end()
    }
}

impl Spell for ArtifactUpdate {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.kind("artifact-update")?;
        members.plain("taskId", &self.task_id)?;
        members.plain("contextId", &self.context_id)?;
        members.spelled("artifact", &self.artifact)?;
        members.plain("append", &self.append)?;
        members.plain("lastChunk", &self.last_chunk)?;
        members.some("metadata", self.metadata.as_ref())?;
        members.end()
    }
}

/// One item of a stream: in JSON-RPC the object itself, in REST the one member that says what it is.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    pub spelling: Spelling,
    pub item: &'a StreamResponse,
    /// The stream ends where the task waits for input, so that this is its last event too.
    pub until_input: bool,
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { spelling, item, until_input } = *self;
        match item {
            StreamResponse::Task(task) => one(spelling, serializer, "task", task),
            StreamResponse::Message(message) => one(spelling, serializer, "message", message),
            StreamResponse::StatusUpdate(update) => {
                let state = update.status.state;
                let is_final = state.is_terminal() || (until_input && state == TaskState::InputRequired);
                one(spelling, serializer, "statusUpdate", &Status { update, is_final })
            }
            StreamResponse::ArtifactUpdate(update) => one(spelling, serializer, "artifactUpdate", update),
        }
    }
}

impl Spell for SendMessageResponse {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Task(task) => one(spelling, to, "task", task),
            Self::Message(message) => one(spelling, to, "message", message),
        }
    }
}

fn one<S: Serializer>(spelling: Spelling, to: S, name: &str, value: &impl Spell) -> Result<S::Ok, S::Error> {
    match spelling {
        Spelling::JsonRpc => value.spell(spelling, to),
        Spelling::Rest | Spelling::RestSnakeCase => {
            to.collect_map([(spelling.member(name), Spelled(spelling, value))])
        }
    }
}

impl Spell for ListTasksResponse {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        let mut members = Members::new(spelling, to)?;
        members.spelled("tasks", &*self.tasks)?;
        members.plain("nextPageToken", &self.next_page_token)?;
        members.plain("pageSize", &self.page_size)?;
        members.plain("totalSize", &self.total_size)?;
        members.end()
    }
}
