//! A task with its content, and the A2A Task object that is its projection.

use std::sync::Arc;

use serde::Serialize;

use super::event::{Body, Event};
use super::evolve::evolve;
use super::input::Chunk;
use super::state::{Reason, State, Task};
use crate::json::Object;
use crate::limits::HISTORY_RETURNED;
use crate::model::{Artifact, Message, TaskObject, TaskState, TaskStatus};

/// A task, its messages and its artifacts, as of [`Task::seq`].
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub task: Task,
    /// Every message of either side, oldest first, with the sequence number of its event.
    pub messages: Vec<(u64, Arc<Message>)>,
    /// In the order of [`Task::artifacts`].
    pub artifacts: Vec<Arc<Artifact>>,
}

/// What is shown of a task's own facts, beside what A2A has members for.
#[derive(Serialize)]
struct Facts<'a> {
    #[serde(rename = "baton/reason", skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(rename = "baton/usage", skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Object>,
}

impl Snapshot {
    /// A task without any content yet.
    pub const fn new(task: Task) -> Self {
        Self { task, messages: Vec::new(), artifacts: Vec::new() }
    }

    /// Takes the next event in, content included.
    pub fn evolve(&mut self, event: &Event) {
        evolve(&mut self.task, event);
        self.fill(event);
    }

    /// Takes the content of an event in, whose change of the task itself is already made.
    pub fn fill(&mut self, event: &Event) {
        if let Some(message) = event.body.message() {
            self.messages.push((event.seq, Arc::clone(message)));
        }
        if let Body::Wrote { chunk } = &event.body {
            self.write(chunk);
        }
    }

    /// Takes a piece of an artifact in.
    pub fn write(&mut self, chunk: &Chunk) {
        let at = self.artifacts.iter().position(|known| known.artifact_id == chunk.artifact.artifact_id);
        match at {
            Some(at) if chunk.append => Arc::make_mut(&mut self.artifacts[at]).append(&chunk.artifact),
            Some(at) => self.artifacts[at] = Arc::clone(&chunk.artifact),
            None => self.artifacts.push(Arc::clone(&chunk.artifact)),
        }
    }

    /// About how many bytes the content takes.
    pub fn weight(&self) -> usize {
        let messages: usize = self.messages.iter().map(|(_, message)| message.weight()).sum();
        let artifacts: usize = self.artifacts.iter().map(|artifact| artifact.weight()).sum();
        messages + artifacts + 1024
    }

    /// The Task object: the newest `history` messages (all up to the limit where `None`), artifacts where asked for.
    pub fn object(&self, history: Option<usize>, artifacts: bool) -> TaskObject {
        TaskObject {
            id: self.task.id.to_string(),
            context_id: Some(self.task.context_id.to_string()),
            status: TaskStatus {
                state: self.task.state.shown(),
                message: self.task.status.message.clone(),
                timestamp: Some(self.task.status.at),
            },
            artifacts: artifacts.then(|| self.artifacts.clone()),
            history: self.history(history.unwrap_or(HISTORY_RETURNED)),
            metadata: self.facts(),
        }
    }

    /// The task as it stood at its first event: what a new stream begins with.
    pub fn at_submission(&self) -> TaskObject {
        let first = self.messages.first().map(|(_, message)| Arc::clone(message));
        TaskObject {
            id: self.task.id.to_string(),
            context_id: Some(self.task.context_id.to_string()),
            status: TaskStatus {
                state: TaskState::Submitted,
                message: None,
                timestamp: Some(self.task.created_at),
            },
            artifacts: None,
            history: first.into_iter().collect(),
            metadata: None,
        }
    }

    /// Messages of the past: the one that the status carries now is not among them.
    fn history(&self, most: usize) -> Vec<Arc<Message>> {
        let current = self.task.status.message_seq;
        let mut past: Vec<_> = self
            .messages
            .iter()
            .rev()
            .filter(|(seq, _)| *seq != current)
            .take(most.min(HISTORY_RETURNED))
            .map(|(_, message)| Arc::clone(message))
            .collect();
        past.reverse();
        past
    }

    fn facts(&self) -> Option<Object> {
        let reason = match &self.task.state {
            State::Failed { reason, .. } => Some(Reason::as_str(*reason)),
            State::Ready { .. }
            | State::Running { .. }
            | State::Interrupted { .. }
            | State::Completed
            | State::Canceled
            | State::Rejected
            | State::Answered => None,
        };
        let usage = self.task.usage.as_ref();
        if reason.is_none() && usage.is_none() {
            return None;
        }
        Object::from_serialize(&Facts { reason, usage }).ok()
    }
}
