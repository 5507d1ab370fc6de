//! How one event changes a task. `step` and `replay` share this function.

use std::sync::Arc;
use std::time::Duration;

use super::event::{Body, Event};
use super::state::{ArtifactHead, HolderKind, New, State, Status, Task};
use crate::model::Message;
use crate::time::Timestamp;

/// The task as `new` describes it, before its first event.
pub(super) fn blank(new: &New, now: Timestamp) -> Task {
    Task {
        id: new.id,
        agent: new.agent.clone(),
        owner: new.owner.clone(),
        context_id: new.context_id.clone(),
        policy: new.policy.clone(),
        request: new.request.clone(),
        created_at: now,
        deadline: new.deadline,
        priority: new.priority,
        state: State::Ready { not_before: new.not_before, begun: false },
        status: Status { message: None, message_seq: 0, at: now },
        seq: 0,
        attempt: 0,
        counted: 0,
        cancel_requested: false,
        shown: new.shown,
        artifacts: Vec::new(),
        usage: None,
    }
}

/// The task that a whole log describes.
pub fn replay(new: &New, events: &[Event]) -> Option<Task> {
    let mut task = blank(new, events.first()?.at);
    for event in events {
        evolve(&mut task, event);
    }
    Some(task)
}

/// Takes the next event into the task.
pub fn evolve(task: &mut Task, event: &Event) {
    debug_assert_eq!(event.seq, task.seq + 1, "sequence numbers are dense");
    task.seq = event.seq;
    match &event.body {
        Body::Submitted { .. } => set_status(task, event.at, None),
        Body::Claimed { attempt } => {
            task.attempt = attempt.number;
            task.counted += 1;
            if attempt.number == 1 {
                set_status(task, event.at, None);
            }
            task.state = State::Running { attempt: attempt.clone() };
        }
        Body::Progressed { message } => {
            task.shown = true;
            set_status(task, event.at, message.clone());
            go_on(task);
            refresh_lease(task, event.at);
        }
        Body::Wrote { chunk } => {
            task.shown = true;
            let bytes = chunk.artifact.weight() as u64;
            write_head(task, &chunk.artifact.artifact_id, bytes, chunk.append);
            refresh_lease(task, event.at);
        }
        Body::Used { usage } => task.usage = Some(usage.clone()),
        Body::Interrupted { kind, message, until } => {
            task.shown = true;
            set_status(task, event.at, message.clone());
            let attempt = task.state.open_attempt().cloned();
            task.state = State::Interrupted { kind: *kind, attempt, until: *until };
            refresh_lease(task, event.at);
        }
        // Whoever names a task was shown it.
        Body::Messaged { .. } => task.shown = true,
        Body::Resumed { .. } => {
            set_status(task, event.at, None);
            go_on(task);
            refresh_lease(task, event.at);
        }
        Body::HolderGone => {
            task.counted = task.counted.saturating_sub(1);
            if let State::Interrupted { attempt, .. } = &mut task.state {
                *attempt = None;
            }
        }
        Body::Requeued { not_before, counted, .. } => {
            if !counted {
                task.counted = task.counted.saturating_sub(1);
            }
            task.state = State::Ready { not_before: *not_before, begun: true };
        }
        Body::CancelRequested => (task.cancel_requested, task.shown) = (true, true),
        Body::Completed { message } => end(task, event.at, message.as_ref(), State::Completed),
        Body::Failed { reason, message, dead_letter } => {
            end(
                task,
                event.at,
                message.as_ref(),
                State::Failed { reason: *reason, dead_letter: *dead_letter },
            );
        }
        Body::Canceled { message } => end(task, event.at, message.as_ref(), State::Canceled),
        Body::Rejected { message } => end(task, event.at, message.as_ref(), State::Rejected),
        Body::Answered { message } => end(task, event.at, Some(message), State::Answered),
    }
}

fn set_status(task: &mut Task, at: Timestamp, message: Option<Arc<Message>>) {
    let message_seq = if message.is_some() { task.seq } else { 0 };
    task.status = Status { message, message_seq, at };
}

fn end(task: &mut Task, at: Timestamp, message: Option<&Arc<Message>>, state: State) {
    set_status(task, at, message.cloned());
    task.state = state;
}

/// From a question back to work: with the holder where it lives, else with whoever claims next.
fn go_on(task: &mut Task) {
    if let State::Interrupted { attempt, .. } = &task.state {
        task.state = match attempt.clone() {
            Some(attempt) => State::Running { attempt },
            None => State::Ready { not_before: None, begun: true },
        };
    }
}

/// A worker that is heard of has its lease anew, and one that waited for an answer has the time to fetch it; a longer lease
/// stays as it is. A node renews its own.
fn refresh_lease(task: &mut Task, now: Timestamp) {
    let lease = Duration::from_millis(task.policy.lease_ms);
    let (State::Running { attempt } | State::Interrupted { attempt: Some(attempt), .. }) = &mut task.state
    else {
        return;
    };
    if attempt.holder.kind == HolderKind::Worker
        && let Some(until) = &mut attempt.lease_until
    {
        *until = (*until).max(now.after(lease));
    }
}

fn write_head(task: &mut Task, id: &str, bytes: u64, append: bool) {
    let attempt = task.attempt;
    match task.artifacts.iter_mut().find(|head| &*head.id == id) {
        Some(head) => {
            head.attempt = attempt;
            head.bytes = if append { head.bytes + bytes } else { bytes };
        }
        None => task.artifacts.push(ArtifactHead { id: id.into(), attempt, bytes }),
    }
}
