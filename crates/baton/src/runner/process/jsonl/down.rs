//! What the node says to a `jsonl` child.

use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::Message;
use baton_core::time::Timestamp;
use serde::Serialize;

/// One line to a child.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Down<'a> {
    /// A task to work on. A child has one at a time.
    Task(Task<'a>),
    /// A follow-up to the task at hand: the answer to what the child asked, or more to consider.
    Message { task_id: &'a str, message: &'a Message },
    /// End the task. Whoever does not within five seconds is sent SIGTERM.
    Cancel { task_id: &'a str, reason: &'a str },
    /// Are you there? Answer with a pong of the same id.
    Ping { id: u64 },
}

/// What a child needs to know of a task.
#[derive(Debug, Serialize)]
pub struct Task<'a> {
    pub task_id: &'a str,
    pub context_id: &'a str,
    /// From 1; above that this is another try, and the first write to an artifact replaces what an earlier one wrote.
    pub attempt: u32,
    /// The whole history of the task, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The newest message of the user, once more.
    pub message: &'a Message,
    pub accepted_output_modes: &'a [String],
    /// Extensions that the caller activated.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub extensions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'a Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Down<'_> {
    /// Adds this line, its newline included, to what is to be written.
    pub fn write(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(&mut *out, self).expect("these shapes are JSON, and a Vec takes every write");
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests;
