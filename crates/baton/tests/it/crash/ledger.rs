//! What clients were told: what must still be true when everything is over.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use super::client::{Frame, Send};

/// The books of all clients of a trial.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
pub struct Books {
    /// By message id.
    pub sent: BTreeMap<String, Sent>,
    /// By task id.
    pub tasks: BTreeMap<String, Record>,
}

/// A message that was put on its way.
#[derive(Debug)]
pub struct Sent {
    pub send: Send,
    /// The task that it was acknowledged with.
    pub task: Option<String>,
}

/// What was seen of a task.
#[derive(Debug)]
pub struct Record {
    pub agent: &'static str,
    /// The whole task, once it was seen in a terminal state.
    pub ended: Option<Value>,
    pub segments: Vec<Segment>,
    pub cancelled: bool,
}

/// The events of one stream: all that it carried after `from`.
#[derive(Clone, Debug)]
pub struct Segment {
    pub from: u64,
    pub events: Vec<Frame>,
}

impl Ledger {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }

    /// A message goes out, perhaps again.
    pub fn sends(&self, send: &Send) {
        let new = || Sent { send: send.clone(), task: None };
        self.books().sent.entry(send.id().to_owned()).or_insert_with(new);
    }

    /// The message's task was answered, in whatever state: it is acknowledged.
    pub fn acknowledged(&self, send: &Send, task: &Value) {
        let id = task["id"].as_str().unwrap_or_else(|| panic!("{send:?} was answered with {task}"));
        let mut books = self.books();
        let before = books.sent.get_mut(send.id()).unwrap().task.replace(id.to_owned());
        assert!(before.is_none_or(|before| before == id), "{send:?} is two tasks, one of them {id}");
        books.record(send.agent, id);
    }

    /// A whole task was answered. What is over stays as it is.
    pub fn saw(&self, agent: &'static str, task: &Value) {
        let mut books = self.books();
        let record = books.record(agent, task["id"].as_str().unwrap());
        match &record.ended {
            Some(ended) => assert_eq!(ended, task, "a task changed after its end"),
            None => record.ended = is_terminal(task).then(|| task.clone()),
        }
    }

    pub fn streamed(&self, agent: &'static str, task: &str, segment: Segment) {
        self.books().record(agent, task).segments.push(segment);
    }

    pub fn cancels(&self, agent: &'static str, task: &str) {
        self.books().record(agent, task).cancelled = true;
    }
}

impl Books {
    fn record(&mut self, agent: &'static str, task: &str) -> &mut Record {
        let new = || Record { agent, ended: None, segments: Vec::new(), cancelled: false };
        self.tasks.entry(task.to_owned()).or_insert_with(new)
    }
}

pub fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

pub fn is_terminal(task: &Value) -> bool {
    is_over(state(task))
}

pub fn is_over(state: &str) -> bool {
    ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"]
        .contains(&state)
}
