//! The columns of a task: what its row says of it, and the task that a row stands for.

use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::json::Object;
use baton_core::task::{
    Attempt, Holder, HolderKind, Interruption, Policy, Reason, Request, State, Status, Task,
};
use baton_core::time::Timestamp;
use serde::Deserialize;

use super::{Unreadable, to_json};

/// What a step can change of a task's row, column by column. Times are milliseconds.
#[derive(Debug, Default)]
pub struct Columns<'a> {
    pub status_at: i64,
    /// Sequence number of the message that the status carries.
    pub status_message: Option<i64>,
    pub seq: i64,
    pub attempt: i64,
    pub counted: i64,
    pub cancel_requested: bool,
    pub shown: bool,
    pub not_before: Option<i64>,
    /// It can be claimed; what is put off is marked when its time has come.
    pub queued: bool,
    pub begun: bool,
    pub interruption: Option<&'static str>,
    pub answer_until: Option<i64>,
    pub holder_kind: Option<&'static str>,
    pub holder: Option<&'a str>,
    pub attempt_started_at: Option<i64>,
    pub lease_until: Option<i64>,
    pub reason: Option<&'static str>,
    pub dead_letter: bool,
    pub due_at: Option<i64>,
    pub artifacts: Option<String>,
    pub usage: Option<&'a str>,
    pub phase: &'static str,
    /// The number of the state that clients see; 0 for a direct message.
    pub shown_state: i64,
}

impl<'a> Columns<'a> {
    pub fn of(task: &'a Task) -> Self {
        let attempt = task.state.open_attempt();
        let status_message = task.status.message.is_some().then_some(task.status.message_seq);
        let mut columns = Self {
            status_at: task.status.at.as_millis(),
            status_message: status_message.map(number),
            seq: number(task.seq),
            attempt: i64::from(task.attempt),
            counted: i64::from(task.counted),
            cancel_requested: task.cancel_requested,
            shown: task.shown,
            holder_kind: attempt.map(|attempt| holder_kind_text(attempt.holder.kind)),
            holder: attempt.map(|attempt| &*attempt.holder.name),
            attempt_started_at: attempt.map(|attempt| attempt.started_at.as_millis()),
            lease_until: millis(attempt.and_then(|attempt| attempt.lease_until)),
            due_at: millis(due_at(task)),
            artifacts: (!task.artifacts.is_empty()).then(|| to_json(&task.artifacts)),
            usage: task.usage.as_ref().map(Object::as_str),
            phase: phase(&task.state),
            shown_state: i64::from(task.state.shown().number()),
            ..Self::default()
        };
        match &task.state {
            State::Ready { not_before, begun } => {
                (columns.not_before, columns.begun) = (millis(*not_before), *begun);
                columns.queued = not_before.is_none();
            }
            State::Interrupted { kind, until, .. } => {
                columns.interruption = Some(match kind {
                    Interruption::Input => "input",
                    Interruption::Auth => "auth",
                });
                columns.answer_until = Some(until.as_millis());
            }
            State::Failed { reason, dead_letter } => {
                (columns.reason, columns.dead_letter) = (Some(reason.as_str()), *dead_letter);
            }
            State::Running { .. }
            | State::Completed
            | State::Canceled
            | State::Rejected
            | State::Answered => {}
        }
        columns
    }
}

fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millis)
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// A task's row as it was found, in plain values.
#[derive(Debug)]
pub struct Found<'r> {
    pub id: TaskId,
    pub agent: &'r str,
    pub grant: &'r str,
    pub subject: &'r str,
    pub context_id: &'r str,
    pub phase: &'r str,
    pub status_at: i64,
    pub created_at: i64,
    pub deadline: Option<i64>,
    pub priority: i16,
    pub seq: u64,
    pub attempt: u32,
    pub counted: u32,
    pub cancel_requested: bool,
    pub shown: bool,
    pub not_before: Option<i64>,
    pub begun: bool,
    pub interruption: Option<&'r str>,
    pub answer_until: Option<i64>,
    pub holder_kind: Option<&'r str>,
    pub holder: Option<&'r str>,
    pub attempt_started_at: Option<i64>,
    pub lease_until: Option<i64>,
    pub reason: Option<&'r str>,
    pub dead_letter: bool,
    pub policy: Option<&'r str>,
    pub request: Option<&'r str>,
    pub artifacts: Option<&'r str>,
    pub usage: Option<&'r str>,
    pub status_message: Option<u64>,
}

impl Found<'_> {
    /// The task, without the message of its status.
    pub fn task(&self) -> Result<Task, Unreadable> {
        let named = |why: &dyn std::fmt::Display| Unreadable::new(format!("task {}: {why}", self.id));
        Ok(Task {
            id: self.id,
            agent: AgentName::parse(self.agent).map_err(|why| named(&why))?,
            owner: Owner { grant: self.grant.into(), subject: self.subject.into() },
            context_id: ContextId::parse(self.context_id).map_err(|why| named(&why))?,
            policy: optional_json(self.policy)?.unwrap_or_default(),
            request: optional_json(self.request)?.unwrap_or_default(),
            created_at: Timestamp::from_millis(self.created_at),
            deadline: time(self.deadline),
            priority: self.priority,
            state: self.state()?,
            status: Status {
                message: None,
                message_seq: self.status_message.unwrap_or(0),
                at: Timestamp::from_millis(self.status_at),
            },
            seq: self.seq,
            attempt: self.attempt,
            counted: self.counted,
            cancel_requested: self.cancel_requested,
            shown: self.shown,
            artifacts: optional_json(self.artifacts)?.unwrap_or_default(),
            usage: optional_json(self.usage)?,
        })
    }

    fn state(&self) -> Result<State, Unreadable> {
        let lacks =
            |what: &str| Unreadable::new(format!("the {} task {} has no {what}", self.phase, self.id));
        Ok(match self.phase {
            "ready" => State::Ready { not_before: time(self.not_before), begun: self.begun },
            "running" => State::Running { attempt: self.attempt().ok_or_else(|| lacks("holder"))? },
            "interrupted" => State::Interrupted {
                kind: match self.interruption {
                    Some("auth") => Interruption::Auth,
                    Some(_) | None => Interruption::Input,
                },
                attempt: self.attempt(),
                until: time(self.answer_until).ok_or_else(|| lacks("time for an answer"))?,
            },
            "completed" => State::Completed,
            "failed" => State::Failed {
                reason: self.reason.and_then(Reason::parse).ok_or_else(|| lacks("known reason"))?,
                dead_letter: self.dead_letter,
            },
            "canceled" => State::Canceled,
            "rejected" => State::Rejected,
            "answered" => State::Answered,
            phase => {
                return Err(Unreadable::new(format!("task {} is in the unknown phase '{phase}'", self.id)));
            }
        })
    }

    fn attempt(&self) -> Option<Attempt> {
        let (name, started_at) = self.holder.zip(self.attempt_started_at)?;
        Some(Attempt {
            number: self.attempt,
            holder: Holder { kind: holder_kind(self.holder_kind), name: name.into() },
            started_at: Timestamp::from_millis(started_at),
            lease_until: time(self.lease_until),
        })
    }
}

fn time(millis: Option<i64>) -> Option<Timestamp> {
    millis.map(Timestamp::from_millis)
}

fn optional_json<T: for<'de> Deserialize<'de>>(text: Option<&str>) -> Result<Option<T>, Unreadable> {
    Ok(text.map(serde_json::from_str).transpose()?)
}

fn holder_kind(text: Option<&str>) -> HolderKind {
    if text == Some("worker") { HolderKind::Worker } else { HolderKind::Node }
}

const fn holder_kind_text(kind: HolderKind) -> &'static str {
    match kind {
        HolderKind::Node => "node",
        HolderKind::Worker => "worker",
    }
}

const fn phase(state: &State) -> &'static str {
    match state {
        State::Ready { .. } => "ready",
        State::Running { .. } => "running",
        State::Interrupted { .. } => "interrupted",
        State::Completed => "completed",
        State::Failed { .. } => "failed",
        State::Canceled => "canceled",
        State::Rejected => "rejected",
        State::Answered => "answered",
    }
}

/// How long after its deadline a task is ended whose own node works on it: the runner ends its child first.
pub const NODE_GRACE_MS: i64 = 15_000;

/// When the clock does something to this task next.
fn due_at(task: &Task) -> Option<Timestamp> {
    let lease = task.state.open_attempt().and_then(|attempt| attempt.lease_until);
    let by_node = task.state.open_attempt().is_some_and(|attempt| attempt.holder.kind == HolderKind::Node);
    let grace = if by_node { NODE_GRACE_MS } else { 0 };
    let deadline = task.deadline.map(|at| Timestamp::from_millis(at.as_millis().saturating_add(grace)));
    match &task.state {
        State::Ready { .. } => task.deadline,
        State::Running { .. } => [lease, deadline].into_iter().flatten().min(),
        State::Interrupted { until, .. } => [Some(*until), lease, deadline].into_iter().flatten().min(),
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected | State::Answered => None,
    }
}

/// The policy column: nothing where it is the default.
pub fn policy(policy: &Policy) -> Option<String> {
    (*policy != Policy::default()).then(|| to_json(policy))
}

/// The request column: nothing where nothing was said.
pub fn request(request: &Request) -> Option<String> {
    (*request != Request::default()).then(|| to_json(request))
}
