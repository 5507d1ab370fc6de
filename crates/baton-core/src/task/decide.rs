//! Which events an input brings about. Nothing is performed here: loops find their work in committed state, and a
//! nudge only wakes them.

mod holder;
mod owner;

use std::sync::Arc;
use std::time::Duration;

use super::event::{Body, Event};
use super::evolve::{blank, evolve};
use super::input::Input;
use super::state::{Attempt, HolderKind, New, Outcome, Reason, State, Task};
use crate::ident::AgentName;
use crate::limits::{self, BACKOFF_MAX, RESERVED_EVENTS, SUMMARY_BYTES, TASK_EVENTS};
use crate::model::{Message, TaskState};
use crate::time::Timestamp;

/// What an input did.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub task: Task,
    pub events: Vec<Event>,
    pub nudges: Vec<Nudge>,
}

/// Something to look at after the commit. Never stored, safe to lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nudge {
    /// An agent has a task to be claimed.
    Ready(AgentName),
}

/// The domain says no. The task is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the task is over ({0:?})")]
    Terminal(TaskState),
    #[error("the record is a direct message, not a task")]
    Answered,
    #[error("the attempt is not the one that holds the task")]
    StaleAttempt,
    #[error("somebody holds the task already")]
    AlreadyClaimed,
    #[error("the task is not due yet")]
    NotYet,
    #[error("the task waits for its owner")]
    Waiting,
    #[error("the agent takes no message while it works")]
    NotWhileWorking,
    #[error("the task is being cancelled")]
    CancelRequested,
    #[error("no artifact of this id was begun")]
    UnknownArtifact,
    #[error("the task's artifacts have more than {} bytes", limits::ARTIFACT_BYTES)]
    ArtifactsTooLarge,
    #[error("the task has {TASK_EVENTS} events")]
    TooManyEvents,
    #[error("the task has {} push notification configurations", limits::PUSH_CONFIGS)]
    TooManyPushConfigs,
}

/// A new task, with its first event.
pub fn create(new: &New, now: Timestamp) -> Step {
    finish(blank(new, now), vec![Body::Submitted { message: new.message.clone() }], now)
}

/// What `input` does to `task` at `now`.
pub fn step(task: &Task, input: &Input, now: Timestamp) -> Result<Step, Refusal> {
    let mut next = task.clone();
    let bodies = decide(&mut next, input, now)?;
    if task.seq + bodies.len() as u64 > TASK_EVENTS {
        return Err(Refusal::TooManyEvents);
    }
    Ok(finish(next, bodies, now))
}

fn finish(mut task: Task, bodies: Vec<Body>, now: Timestamp) -> Step {
    // A clock that was set back must not put a task's changes out of order.
    let now = now.max(task.status.at);
    let mut events = Vec::with_capacity(bodies.len());
    for body in bodies {
        let event = Event { seq: task.seq + 1, at: now, body };
        evolve(&mut task, &event);
        events.push(event);
    }
    let ready = !events.is_empty() && matches!(task.state, State::Ready { .. });
    let nudges = if ready { vec![Nudge::Ready(task.agent.clone())] } else { Vec::new() };
    Step { task, events, nudges }
}

/// The total function of (state, input). What changes a task without an event (a renewed lease, a task that was
/// shown) is changed in `task` here; everything else is returned.
fn decide(task: &mut Task, input: &Input, now: Timestamp) -> Result<Vec<Body>, Refusal> {
    match input {
        Input::Claimed { holder, lease } => holder::claimed(task, holder, *lease, now),
        Input::Renewed { attempt, lease } => holder::renewed(task, *attempt, *lease, now),
        Input::Progressed { attempt, message } => holder::progressed(task, *attempt, message),
        Input::Wrote { attempt, chunk } => holder::wrote(task, *attempt, chunk),
        Input::Used { attempt, usage } => holder::used(task, *attempt, usage),
        Input::Replied { attempt, message } => holder::replied(task, *attempt, message),
        Input::Asked { attempt, kind, message } => {
            holder::asked(task, *attempt, *kind, message.as_ref(), now)
        }
        Input::Completed { attempt, message } => {
            held(task, *attempt)?;
            Ok(vec![Body::Completed { message: message.clone() }])
        }
        Input::Failed { attempt, reason, message, retryable } => {
            held(task, *attempt)?;
            let end = ended_without_result(task, *reason, message.as_ref(), *retryable, now);
            Ok(withdrawing_question(task, end))
        }
        Input::Released { attempt, message } => {
            held(task, *attempt)?;
            Ok(vec![given_back(task, message.as_ref())])
        }
        Input::Rejected { attempt, message } => {
            held(task, *attempt)?;
            Ok(vec![Body::Rejected { message: message.clone() }])
        }
        Input::CancelConfirmed { attempt } => {
            held(task, *attempt)?;
            Ok(vec![Body::Canceled { message: None }])
        }
        Input::LeaseLapsed { attempt, loss } => holder::lease_lapsed(task, *attempt, *loss, now),
        Input::HolderGone { attempt, message } => holder::gone(task, *attempt, message.as_ref(), now),
        Input::Messaged { message } => owner::messaged(task, message),
        Input::CancelRequested | Input::GrantRevoked => owner::cancel_requested(task, input),
        Input::DeadlinePassed => owner::deadline_passed(task, now),
        Input::Shown => owner::shown(task),
    }
}

/// The open attempt, where it is the one that reports. A late write of a holder that lost its task ends here.
fn held(task: &Task, attempt: u32) -> Result<&Attempt, Refusal> {
    match &task.state {
        State::Running { attempt: open } | State::Interrupted { attempt: Some(open), .. } => {
            if open.number == attempt { Ok(open) } else { Err(Refusal::StaleAttempt) }
        }
        State::Ready { .. } | State::Interrupted { attempt: None, .. } => Err(Refusal::StaleAttempt),
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected => {
            Err(Refusal::Terminal(task.state.shown()))
        }
        State::Answered => Err(Refusal::Answered),
    }
}

/// As [`held`], for what is refused once the end was asked for, and where room is left for what must still come.
fn writable(task: &Task, attempt: u32) -> Result<&Attempt, Refusal> {
    let open = held(task, attempt)?;
    if task.cancel_requested {
        return Err(Refusal::CancelRequested);
    }
    if out_of_events(task) {
        return Err(Refusal::TooManyEvents);
    }
    Ok(open)
}

/// The attempt is over and there is no result: another try, or the end.
fn ended_without_result(
    task: &Task,
    reason: Reason,
    message: Option<&Arc<Message>>,
    retryable: bool,
    now: Timestamp,
) -> Body {
    let message = message.cloned();
    if task.cancel_requested {
        return Body::Canceled { message };
    }
    if !retryable || !task.policy.retry {
        return Body::Failed { reason, message, dead_letter: false };
    }
    if task.counted >= task.policy.max_attempts || out_of_events(task) {
        return Body::Failed { reason, message, dead_letter: true };
    }
    let not_before = Some(now.after(backoff(task, reason)));
    let summary = message.as_deref().and_then(summary);
    Body::Requeued { outcome: Outcome::Failed(reason), not_before, counted: true, summary }
}

/// The holder gives the task back; a question that it asked stays, as when a node stops. Where giving back is all that
/// ever happens, the task ends before the events that are reserved for an end are used up.
fn given_back(task: &Task, said: Option<&Arc<Message>>) -> Body {
    if task.cancel_requested {
        Body::Canceled { message: None }
    } else if matches!(task.state, State::Interrupted { .. }) {
        Body::HolderGone
    } else if out_of_events(task) {
        let text = "The task was taken and given back too often.";
        let message = Some(Arc::new(holder::system_message(task, text)));
        Body::Failed { reason: Reason::LoopDetected, message, dead_letter: true }
    } else {
        let summary = said.and_then(|message| summary(message));
        Body::Requeued { outcome: Outcome::Released, not_before: None, counted: false, summary }
    }
}

/// What is kept of an attempt's last word: its text, up to [`SUMMARY_BYTES`]; none where it has no text.
pub fn summary(message: &Message) -> Option<Arc<str>> {
    let text = message.joined_text();
    let text = text.trim();
    let end = text.floor_char_boundary(SUMMARY_BYTES);
    (!text.is_empty()).then(|| text[..end].into())
}

/// Only what ends the task has room left.
const fn out_of_events(task: &Task) -> bool {
    task.seq + RESERVED_EVENTS >= TASK_EVENTS
}

/// A retry is shown to nobody; where a question was shown before it, clients are told first that it stands no more.
fn withdrawing_question(task: &Task, end: Body) -> Vec<Body> {
    let asked = matches!(task.state, State::Interrupted { .. });
    if asked && matches!(end, Body::Requeued { .. }) {
        vec![Body::Progressed { message: None }, end]
    } else {
        vec![end]
    }
}

/// The wait before the next attempt: doubling, bounded, and spread by up to a quarter either way. The spread comes from
/// the task's own random identifier, so that the same task and attempt always give the same wait.
fn backoff(task: &Task, reason: Reason) -> Duration {
    let first = Duration::from_millis(task.policy.backoff_ms);
    let first = if reason == Reason::NodeDied { first.min(limits::BACKOFF_NODE_DIED) } else { first };
    let doubled = first.saturating_mul(1_u32 << task.counted.saturating_sub(1).min(16)).min(BACKOFF_MAX);
    let random = task.id.as_bytes()[8..]
        .iter()
        .fold(task.counted, |sum, byte| sum.wrapping_mul(0x0100_0193) ^ u32::from(*byte));
    doubled.mul_f64(0.75 + f64::from(random % 1024) / 2048.0)
}

/// Whether the holder is told to stop and waited for, or simply fenced.
const fn confirms_its_end(attempt: &Attempt) -> bool {
    matches!(attempt.holder.kind, HolderKind::Node)
}
