//! What the owner, the operator and the clock do to a task.

use std::sync::Arc;
use std::time::Duration;

use super::holder::system_message;
use super::{Refusal, confirms_its_end, out_of_events};
use crate::limits::CANCEL_GRACE;
use crate::model::Message;
use crate::task::event::Body;
use crate::task::input::Input;
use crate::task::state::{Reason, State, Task};
use crate::time::Timestamp;

pub(super) fn messaged(task: &Task, message: &Arc<Message>) -> Result<Vec<Body>, Refusal> {
    let message = message.clone();
    if task.cancel_requested && !task.state.is_terminal() {
        return Err(Refusal::CancelRequested);
    }
    if out_of_events(task) && !task.state.is_terminal() {
        return Err(Refusal::TooManyEvents);
    }
    match &task.state {
        State::Ready { .. } => Ok(vec![Body::Messaged { message }]),
        State::Running { .. } if task.policy.takes_messages => Ok(vec![Body::Messaged { message }]),
        State::Running { .. } => Err(Refusal::NotWhileWorking),
        State::Interrupted { .. } => Ok(vec![Body::Resumed { message }]),
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected => {
            Err(Refusal::Terminal(task.state.shown()))
        }
        State::Answered => Err(Refusal::Answered),
    }
}

pub(super) fn cancel_requested(task: &Task, input: &Input) -> Result<Vec<Body>, Refusal> {
    let revoked = matches!(input, Input::GrantRevoked);
    let message =
        revoked.then(|| Arc::new(system_message(task, "The grant that this task came in by was revoked.")));
    match &task.state {
        State::Ready { .. } | State::Interrupted { attempt: None, .. } => {
            Ok(vec![Body::Canceled { message }])
        }
        State::Running { attempt } | State::Interrupted { attempt: Some(attempt), .. } => {
            if !confirms_its_end(attempt) {
                Ok(vec![Body::Canceled { message }])
            } else if task.cancel_requested {
                Ok(Vec::new())
            } else {
                Ok(vec![Body::CancelRequested])
            }
        }
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected if revoked => {
            Ok(Vec::new())
        }
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected => {
            Err(Refusal::Terminal(task.state.shown()))
        }
        State::Answered if revoked => Ok(Vec::new()),
        State::Answered => Err(Refusal::Answered),
    }
}

/// The task's own deadline, or a question's. A runner of this node ends its child first and reports that itself; the
/// reaper's call is for what nobody holds, and for holders that missed it.
pub(super) fn deadline_passed(task: &Task, now: Timestamp) -> Result<Vec<Body>, Refusal> {
    // Only a node is asked to cancel and waited for; its child must be gone before the task may be CANCELED.
    let grace = if task.cancel_requested { CANCEL_GRACE } else { Duration::ZERO };
    let passed = |at: Timestamp| at.after(grace) <= now;
    let failed = |reason, text| {
        let message = Some(Arc::new(system_message(task, text)));
        if task.cancel_requested {
            Ok(vec![Body::Canceled { message }])
        } else {
            Ok(vec![Body::Failed { reason, message, dead_letter: false }])
        }
    };
    match &task.state {
        State::Interrupted { until, .. } if passed(*until) => {
            failed(Reason::Unanswered, "Nobody answered the agent's question in time.")
        }
        State::Ready { .. } | State::Running { .. } | State::Interrupted { .. }
            if task.deadline.is_some_and(passed) =>
        {
            failed(Reason::Deadline, "The task was not done by its deadline.")
        }
        State::Ready { .. } | State::Running { .. } | State::Interrupted { .. } => Err(Refusal::NotYet),
        State::Completed | State::Failed { .. } | State::Canceled | State::Rejected => {
            Err(Refusal::Terminal(task.state.shown()))
        }
        State::Answered => Err(Refusal::Answered),
    }
}

pub(super) fn shown(task: &mut Task) -> Result<Vec<Body>, Refusal> {
    if task.state == State::Answered {
        return Err(Refusal::Answered);
    }
    task.shown = true;
    Ok(Vec::new())
}
