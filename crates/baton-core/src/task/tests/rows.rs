//! The rows and columns of the transition matrix.

use std::time::Duration;

use super::fixture::*;
use crate::limits::{RESERVED_EVENTS, TASK_EVENTS};
use crate::task::{Input, Interruption, LeaseLoss, New, Policy, Reason};

/// When every row stands, before any input of a column.
pub const NOW: i64 = HOUR;
/// When the deadline of every row's task is over.
pub const DEADLINE: i64 = 10 * DAY;

fn row(policy: Policy, inputs: impl IntoIterator<Item = Input>) -> Life {
    let new = New { policy, deadline: Some(at(DEADLINE)), ..new() };
    Life::of(&new).at(NOW).then(inputs)
}

fn plain(inputs: impl IntoIterator<Item = Input>) -> Life {
    row(Policy::default(), inputs)
}

fn leased() -> Input {
    worker(300 * SECOND)
}

fn ask(kind: Interruption) -> Input {
    Input::Asked { attempt: 1, kind, message: Some(agent_says("?")) }
}

/// Every state that decides differently, by the inputs that lead to it.
pub fn rows() -> Vec<(&'static str, Life)> {
    let input = || ask(Interruption::Input);
    let replies = || Policy { replies: true, ..Policy::default() };
    let last = Policy { max_attempts: 1, ..Policy::default() };
    let never = Policy { retry: false, ..Policy::default() };
    let takes = Policy { takes_messages: true, ..Policy::default() };
    let mut full = plain([node()]);
    full.snapshot.task.seq = TASK_EVENTS - RESERVED_EVENTS;
    vec![
        ("ready, fresh", plain([])),
        ("ready, put off", {
            Life::of(&New { not_before: Some(at(NOW + HOUR)), deadline: Some(at(DEADLINE)), ..new() }).at(NOW)
        }),
        ("ready, begun, due", plain([node(), released(1)])),
        ("ready, begun, not due", plain([node(), failed(1, true)])),
        ("running by a node", plain([node()])),
        ("running by a worker", plain([leased()])),
        ("running, artifact of this attempt", plain([node(), wrote(1, "a", "x", false)])),
        ("running, artifact of an earlier attempt", {
            plain([node(), wrote(1, "a", "x", false), released(1), node()])
        }),
        ("running, replies, not shown", row(replies(), [node()])),
        ("running, replies, shown", row(replies(), [Input::Shown, node()])),
        ("running, takes messages", row(takes, [node()])),
        ("running, last attempt", row(last, [node()])),
        ("running, never retried", row(never, [node()])),
        ("running, out of events", full),
        ("running, cancel requested", plain([node(), Input::CancelRequested])),
        ("interrupted for input, node lives", plain([node(), input()])),
        ("interrupted for input, worker lives", plain([leased(), input()])),
        ("interrupted for auth, node lives", plain([node(), ask(Interruption::Auth)])),
        ("interrupted for input, holder gone", plain([node(), input(), gone(1)])),
        ("interrupted for auth, holder gone", plain([node(), ask(Interruption::Auth), gone(1)])),
        ("interrupted, cancel requested", plain([node(), input(), Input::CancelRequested])),
        ("completed", plain([node(), completed(1)])),
        ("failed", plain([node(), failed(1, false)])),
        ("failed, dead letter", {
            row(Policy { max_attempts: 1, ..Policy::default() }, [node(), failed(1, true)])
        }),
        ("canceled", plain([Input::CancelRequested])),
        ("rejected", plain([node(), Input::Rejected { attempt: 1, message: None }])),
        ("answered", row(replies(), [node(), replied(1)])),
    ]
}

/// What the holder of `attempt` reports, or what is reported of it, and when.
pub fn holder_columns(attempt: u32) -> Vec<(&'static str, Input, i64)> {
    let failure = |retryable| Input::Failed { attempt, reason: Reason::Crashed, message: None, retryable };
    let ask = |kind| Input::Asked { attempt, kind, message: Some(agent_says("?")) };
    let now = |name, input| (name, input, NOW);
    vec![
        now("renewed", Input::Renewed { attempt, lease: Some(Duration::from_hours(1)) }),
        now("progressed", progressed(attempt, "half")),
        now("wrote a", wrote(attempt, "a", "y", false)),
        now("wrote a, append", wrote(attempt, "a", "y", true)),
        now("used", used(attempt)),
        now("replied", replied(attempt)),
        now("asked for input", ask(Interruption::Input)),
        now("asked for auth", ask(Interruption::Auth)),
        now("completed", completed(attempt)),
        now("failed, retryable", failure(true)),
        now("failed, not retryable", failure(false)),
        now("released", released(attempt)),
        now("rejected", Input::Rejected { attempt, message: None }),
        now("cancel confirmed", Input::CancelConfirmed { attempt }),
        now("lease lapsed, too early", lapsed(attempt, LeaseLoss::Expired)),
        ("lease lapsed, in time", lapsed(attempt, LeaseLoss::Expired), NOW + 300 * SECOND),
        now("node died", lapsed(attempt, LeaseLoss::NodeDied)),
        now("holder gone", gone(attempt)),
    ]
}

/// What everybody else does, and when.
pub fn other_columns() -> Vec<(&'static str, Input, i64)> {
    let now = |name, input| (name, input, NOW);
    vec![
        now("claimed", node()),
        ("claimed, an hour later", node(), NOW + HOUR),
        ("claimed after the deadline", node(), DEADLINE),
        now("messaged", answer()),
        now("cancel requested", Input::CancelRequested),
        now("grant revoked", Input::GrantRevoked),
        now("deadline passed, nothing due", Input::DeadlinePassed),
        ("deadline passed, the question's", Input::DeadlinePassed, NOW + DAY),
        ("deadline passed, the task's", Input::DeadlinePassed, DEADLINE),
        now("shown", Input::Shown),
    ]
}
