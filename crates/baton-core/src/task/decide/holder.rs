//! What the holder of an attempt reports, and what is reported of it.

use std::sync::Arc;
use std::time::Duration;

use super::{Refusal, ended_without_result, held, writable};
use crate::json::Object;
use crate::limits::{ARTIFACT_BYTES, RESERVED_EVENTS, TASK_EVENTS};
use crate::model::{Message, Role};
use crate::task::event::Body;
use crate::task::input::{Chunk, LeaseLoss};
use crate::task::state::{Attempt, Holder, Interruption, Reason, State, Task};
use crate::time::Timestamp;

pub(super) fn claimed(
    task: &Task,
    holder: &Holder,
    lease: Option<Duration>,
    now: Timestamp,
) -> Result<Vec<Body>, Refusal> {
    match &task.state {
        State::Ready { not_before, .. } => {
            let due = not_before.is_none_or(|at| at <= now) && task.deadline.is_none_or(|at| now < at);
            if !due {
                return Err(Refusal::NotYet);
            }
            let number = task.attempt + 1;
            let lease_until = lease.map(|lease| now.after(lease));
            let attempt = Attempt { number, holder: holder.clone(), started_at: now, lease_until };
            Ok(vec![Body::Claimed { attempt }])
        }
        State::Running { .. } => Err(Refusal::AlreadyClaimed),
        State::Interrupted { .. } => Err(Refusal::Waiting),
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected => {
            Err(Refusal::Terminal(task.state.shown()))
        }
        State::Answered => Err(Refusal::Answered),
    }
}

pub(super) fn renewed(
    task: &mut Task,
    attempt: u32,
    lease: Option<Duration>,
    now: Timestamp,
) -> Result<Vec<Body>, Refusal> {
    held(task, attempt)?;
    if let State::Running { attempt } | State::Interrupted { attempt: Some(attempt), .. } = &mut task.state {
        attempt.lease_until = lease.map(|lease| now.after(lease));
    }
    Ok(Vec::new())
}

pub(super) fn progressed(task: &Task, attempt: u32, message: &Arc<Message>) -> Result<Vec<Body>, Refusal> {
    writable(task, attempt)?;
    Ok(vec![Body::Progressed { message: Some(message.clone()) }])
}

pub(super) fn wrote(task: &Task, attempt: u32, chunk: &Arc<Chunk>) -> Result<Vec<Body>, Refusal> {
    writable(task, attempt)?;
    let head = task.artifacts.iter().find(|head| *head.id == *chunk.artifact.artifact_id);
    if chunk.append && head.is_none() {
        return Err(Refusal::UnknownArtifact);
    }
    // The first write of a new attempt replaces what an earlier one left behind.
    let append = chunk.append && head.is_some_and(|head| head.attempt == attempt);
    let replaced = if append { 0 } else { head.map_or(0, |head| head.bytes) };
    let before: u64 = task.artifacts.iter().map(|head| head.bytes).sum();
    if before - replaced + chunk.artifact.weight() as u64 > ARTIFACT_BYTES {
        return Err(Refusal::ArtifactsTooLarge);
    }
    let chunk = if append == chunk.append {
        Arc::clone(chunk)
    } else {
        Arc::new(Chunk { append, ..Chunk::clone(chunk) })
    };
    let mut bodies = Vec::with_capacity(2);
    if matches!(task.state, State::Interrupted { .. }) {
        bodies.push(Body::Progressed { message: None });
    }
    bodies.push(Body::Wrote { chunk });
    Ok(bodies)
}

pub(super) fn used(task: &Task, attempt: u32, usage: &Object) -> Result<Vec<Body>, Refusal> {
    held(task, attempt)?;
    if task.seq + RESERVED_EVENTS >= TASK_EVENTS {
        return Err(Refusal::TooManyEvents);
    }
    Ok(vec![Body::Used { usage: usage.clone() }])
}

/// A direct Message where nothing was shown before it; else the task's last word.
pub(super) fn replied(task: &Task, attempt: u32, message: &Arc<Message>) -> Result<Vec<Body>, Refusal> {
    held(task, attempt)?;
    let message = message.clone();
    Ok(vec![if task.policy.replies && !task.shown {
        Body::Answered { message }
    } else {
        Body::Completed { message: Some(message) }
    }])
}

pub(super) fn asked(
    task: &Task,
    attempt: u32,
    kind: Interruption,
    message: Option<&Arc<Message>>,
    now: Timestamp,
) -> Result<Vec<Body>, Refusal> {
    writable(task, attempt)?;
    let until = now.after(Duration::from_millis(task.policy.answer_within_ms));
    Ok(vec![Body::Interrupted { kind, message: message.cloned(), until }])
}

pub(super) fn lease_lapsed(
    task: &Task,
    attempt: u32,
    loss: LeaseLoss,
    now: Timestamp,
) -> Result<Vec<Body>, Refusal> {
    let open = held(task, attempt)?;
    let reason = match loss {
        LeaseLoss::NodeDied => Reason::NodeDied,
        LeaseLoss::Expired if open.lease_until.is_none_or(|until| until > now) => {
            return Err(Refusal::NotYet);
        }
        LeaseLoss::Expired => Reason::LeaseLapsed,
    };
    Ok(vec![lost(task, reason, Some(&lost_words(task, reason)), now)])
}

pub(super) fn gone(
    task: &Task,
    attempt: u32,
    message: Option<&Arc<Message>>,
    now: Timestamp,
) -> Result<Vec<Body>, Refusal> {
    held(task, attempt)?;
    Ok(vec![lost(task, Reason::Crashed, message, now)])
}

/// The holder is no more. A question outlives the one who asked it.
fn lost(task: &Task, reason: Reason, message: Option<&Arc<Message>>, now: Timestamp) -> Body {
    match &task.state {
        State::Interrupted { .. } if !task.cancel_requested => Body::HolderGone,
        State::Interrupted { .. }
        | State::Running { .. }
        | State::Ready { .. }
        | State::Completed
        | State::Failed { .. }
        | State::Canceled
        | State::Rejected
        | State::Answered => ended_without_result(task, reason, message, true, now),
    }
}

/// What a client is told where nobody is left to say it.
fn lost_words(task: &Task, reason: Reason) -> Arc<Message> {
    let text = match reason {
        Reason::NodeDied => "The node stopped while the agent was at work.",
        Reason::LeaseLapsed => "The worker was not heard of in time.",
        Reason::Failed
        | Reason::Crashed
        | Reason::Transient
        | Reason::Deadline
        | Reason::Stalled
        | Reason::ExhaustedSteps
        | Reason::ExhaustedTokens
        | Reason::LoopDetected
        | Reason::InvalidAgentResponse
        | Reason::Unanswered
        | Reason::AgentGone => "The agent stopped without a result.",
    };
    Arc::new(system_message(task, text))
}

/// A message in the agent's name that the node writes. Its id is made from the task's, the next event and nothing else.
pub(super) fn system_message(task: &Task, text: &str) -> Message {
    let mut message = Message::text(Role::Agent, format!("{}-{}", task.id, task.seq + 1), text);
    message.task_id = Some(task.id.to_string());
    message.context_id = Some(task.context_id.to_string());
    message
}
