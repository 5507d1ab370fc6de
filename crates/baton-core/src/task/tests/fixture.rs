//! A task and its life so far, driven one input at a time.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::ident::{AgentName, ContextId, Owner, TaskId};
use crate::json::Object;
use crate::model::{Artifact, Message, Part, Role};
use crate::task::{
    Body, Chunk, Event, Holder, HolderKind, Input, Interruption, LeaseLoss, New, Policy, Reason, Refusal,
    Request, Snapshot, State, Step, Task, create, step,
};
use crate::time::Timestamp;

pub const SECOND: i64 = 1_000;
pub const HOUR: i64 = 3_600 * SECOND;
pub const DAY: i64 = 24 * HOUR;

/// Milliseconds from the creation of every task here.
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_761_648_000_000 + millis)
}

pub fn new() -> New {
    New {
        id: TaskId::new(Uuid::from_u128(0x0199_f0a2_7c1e_7d3a_8f00_0a0b_0c0d_0e0f)),
        agent: AgentName::parse("reviewer").unwrap(),
        owner: Owner::new("local", ""),
        context_id: ContextId::parse("talk").unwrap(),
        policy: Policy::default(),
        request: Request::default(),
        message: said(Role::User, "u1", "Please review"),
        deadline: None,
        not_before: None,
        priority: 0,
        shown: false,
    }
}

pub fn said(role: Role, id: &str, text: &str) -> Arc<Message> {
    Arc::new(Message::text(role, id, text))
}

pub fn agent_says(text: &str) -> Arc<Message> {
    said(Role::Agent, "a", text)
}

pub fn chunk(id: &str, text: &str, append: bool) -> Arc<Chunk> {
    let artifact = Artifact { artifact_id: id.into(), parts: vec![Part::text(text)], ..Artifact::default() };
    Arc::new(Chunk { artifact: Arc::new(artifact), append, last_chunk: false })
}

pub fn node() -> Input {
    let holder = Holder { kind: HolderKind::Node, name: "boot-1".into() };
    Input::Claimed { holder, lease: None }
}

/// A worker's claim, with a lease of so many milliseconds.
pub fn worker(lease: i64) -> Input {
    let holder = Holder { kind: HolderKind::Worker, name: "w".into() };
    Input::Claimed { holder, lease: Some(Duration::from_millis(lease.unsigned_abs())) }
}

pub fn failed(attempt: u32, retryable: bool) -> Input {
    Input::Failed { attempt, reason: Reason::Failed, message: Some(agent_says("It failed")), retryable }
}

pub const fn released(attempt: u32) -> Input {
    Input::Released { attempt, message: None }
}

pub fn asked(attempt: u32) -> Input {
    Input::Asked { attempt, kind: Interruption::Input, message: Some(agent_says("Which branch?")) }
}

pub fn answer() -> Input {
    Input::Messaged { message: said(Role::User, "u2", "main") }
}

pub fn completed(attempt: u32) -> Input {
    Input::Completed { attempt, message: Some(agent_says("Done")) }
}

pub fn wrote(attempt: u32, id: &str, text: &str, append: bool) -> Input {
    Input::Wrote { attempt, chunk: chunk(id, text, append) }
}

pub fn progressed(attempt: u32, text: &str) -> Input {
    Input::Progressed { attempt, message: agent_says(text) }
}

pub fn replied(attempt: u32) -> Input {
    Input::Replied { attempt, message: agent_says("Hello yourself") }
}

pub fn used(attempt: u32) -> Input {
    Input::Used { attempt, usage: Object::parse(r#"{"tokens":9007199254740993}"#).unwrap() }
}

pub fn lapsed(attempt: u32, loss: LeaseLoss) -> Input {
    Input::LeaseLapsed { attempt, loss }
}

pub fn gone(attempt: u32) -> Input {
    Input::HolderGone { attempt, message: Some(agent_says("Killed by signal 9")) }
}

/// A task, everything that happened to it, and the time it is.
#[derive(Clone, Debug)]
pub struct Life {
    pub now: i64,
    pub snapshot: Snapshot,
    pub events: Vec<Event>,
}

impl Life {
    pub fn of(new: &New) -> Self {
        let Step { task, events, .. } = create(new, at(0));
        let mut snapshot = Snapshot::new(task);
        for event in &events {
            snapshot.fill(event);
        }
        Self { now: 0, snapshot, events }
    }

    /// A default task after these inputs.
    pub fn after(inputs: impl IntoIterator<Item = Input>) -> Self {
        Self::of(&new()).then(inputs)
    }

    /// With another policy.
    pub fn with(policy: Policy, inputs: impl IntoIterator<Item = Input>) -> Self {
        Self::of(&New { policy, ..new() }).then(inputs)
    }

    #[must_use]
    pub fn then(mut self, inputs: impl IntoIterator<Item = Input>) -> Self {
        for input in inputs {
            self.does(&input);
        }
        self
    }

    #[must_use]
    pub const fn at(mut self, millis: i64) -> Self {
        self.now = millis;
        self
    }

    pub fn try_step(&self, input: &Input) -> Result<Step, Refusal> {
        step(&self.snapshot.task, input, at(self.now))
    }

    /// Takes the input and gives the kinds of the events that it brought about.
    pub fn does(&mut self, input: &Input) -> Vec<&'static str> {
        let done = self.try_step(input).unwrap_or_else(|no| panic!("{input:?}: {no} in {:?}", self.task()));
        self.snapshot.task = done.task;
        done.events.iter().for_each(|event| self.snapshot.fill(event));
        let kinds = done.events.iter().map(|event| event.body.kind()).collect();
        self.events.extend(done.events);
        kinds
    }

    pub fn refusal(&self, input: &Input) -> Refusal {
        match self.try_step(input) {
            Err(refusal) => refusal,
            Ok(step) => panic!("{input:?} was taken: {:?}", step.events),
        }
    }

    pub const fn task(&self) -> &Task {
        &self.snapshot.task
    }

    pub const fn state(&self) -> &State {
        &self.snapshot.task.state
    }

    pub fn last(&self) -> &Body {
        &self.events.last().expect("a task has events").body
    }

    pub fn status_text(&self) -> Option<String> {
        self.task().status.message.as_ref().map(|message| message.joined_text())
    }
}
