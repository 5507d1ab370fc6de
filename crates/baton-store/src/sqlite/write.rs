//! A task's row.

use baton_core::json::Object;
use baton_core::task::{Attempt, HolderKind, Interruption, State, Task};
use baton_core::time::Timestamp;
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use super::rows::{holder_kind_text, phase, to_json};

const UPDATE_TASK: &str = "-- store.update_task
UPDATE task SET status_at = ?1, status_message = ?2, seq = ?3, attempt = ?4, counted = ?5, cancel_requested = ?6,
    shown = ?7, not_before = ?8, begun = ?9, interruption = ?10, answer_until = ?11, holder_kind = ?12, holder = ?13,
    attempt_started_at = ?14, lease_until = ?15, reason = ?16, dead_letter = ?17, due_at = ?18, artifacts = ?19,
    usage = ?20, phase = ?21, shown_state = ?22
WHERE key = ?23";

/// What a task's row says of its state, column by column.
#[derive(Default)]
pub struct Columns<'a> {
    not_before: Option<Timestamp>,
    begun: bool,
    interruption: Option<&'static str>,
    answer_until: Option<Timestamp>,
    attempt: Option<&'a Attempt>,
    reason: Option<&'static str>,
    dead_letter: bool,
    due_at: Option<Timestamp>,
}

impl<'a> Columns<'a> {
    pub fn of(task: &'a Task) -> Self {
        let mut columns = Self { due_at: due_at(task), ..Self::default() };
        match &task.state {
            State::Ready { not_before, begun } => (columns.not_before, columns.begun) = (*not_before, *begun),
            State::Running { attempt } => columns.attempt = Some(attempt),
            State::Interrupted { kind, attempt, until } => {
                columns.interruption = Some(match kind {
                    Interruption::Input => "input",
                    Interruption::Auth => "auth",
                });
                columns.answer_until = Some(*until);
                columns.attempt = attempt.as_ref();
            }
            State::Failed { reason, dead_letter } => {
                (columns.reason, columns.dead_letter) = (Some(reason.as_str()), *dead_letter);
            }
            State::Completed | State::Canceled | State::Rejected | State::Answered => {}
        }
        columns
    }

    /// The values of the columns that a step changes, in the order of the statements.
    pub fn values(self, task: &'a Task) -> [ToSqlOutput<'a>; 22] {
        let Self { not_before, begun, interruption, answer_until, attempt, reason, dead_letter, due_at } =
            self;
        let status_message = task.status.message.is_some().then_some(task.status.message_seq);
        let artifacts = (!task.artifacts.is_empty()).then(|| to_json(&task.artifacts));
        [
            int(task.status.at.as_millis()),
            status_message.map_or(NULL, |seq| int(i64::try_from(seq).unwrap_or(i64::MAX))),
            int(i64::try_from(task.seq).unwrap_or(i64::MAX)),
            int(i64::from(task.attempt)),
            int(i64::from(task.counted)),
            int(i64::from(task.cancel_requested)),
            int(i64::from(task.shown)),
            time(not_before),
            int(i64::from(begun)),
            text(interruption),
            time(answer_until),
            text(attempt.map(|attempt| holder_kind_text(attempt.holder.kind))),
            text(attempt.map(|attempt| &*attempt.holder.name)),
            time(attempt.map(|attempt| attempt.started_at)),
            time(attempt.and_then(|attempt| attempt.lease_until)),
            text(reason),
            int(i64::from(dead_letter)),
            time(due_at),
            artifacts.map_or(NULL, |json| ToSqlOutput::Owned(Value::Text(json))),
            text(task.usage.as_ref().map(Object::as_str)),
            text(Some(phase(&task.state))),
            int(i64::from(task.state.shown().number())),
        ]
    }
}

const NULL: ToSqlOutput<'static> = ToSqlOutput::Owned(Value::Null);

const fn int(value: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(Value::Integer(value))
}

fn time(at: Option<Timestamp>) -> ToSqlOutput<'static> {
    at.map_or(NULL, |at| int(at.as_millis()))
}

fn text(value: Option<&str>) -> ToSqlOutput<'_> {
    value.map_or(NULL, |value| ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())))
}

/// How long after its deadline a task is ended whose own node works on it: the runner ends its child first.
const NODE_GRACE_MS: i64 = 15_000;

/// When the clock does something to this task next.
pub fn due_at(task: &Task) -> Option<Timestamp> {
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

/// Writes a task's row anew.
pub fn task(db: &Connection, key: i64, task: &Task) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(UPDATE_TASK)?;
    for (at, value) in (1..).zip(Columns::of(task).values(task)) {
        statement.raw_bind_parameter(at, value)?;
    }
    statement.raw_bind_parameter(23, key)?;
    statement.raw_execute()?;
    Ok(())
}
