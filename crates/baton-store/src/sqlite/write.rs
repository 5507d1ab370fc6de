//! A task's row.

use baton_core::task::Task;
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::stored::task::Columns;

const UPDATE_TASK: &str = "-- store.update_task
UPDATE task SET status_at = ?1, status_message = ?2, seq = ?3, attempt = ?4, counted = ?5, cancel_requested = ?6,
    shown = ?7, not_before = ?8, begun = ?9, interruption = ?10, answer_until = ?11, holder_kind = ?12, holder = ?13,
    attempt_started_at = ?14, lease_until = ?15, reason = ?16, dead_letter = ?17, due_at = ?18, artifacts = ?19,
    usage = ?20, phase = ?21, shown_state = ?22, queued = ?23
WHERE key = ?24";

/// The values of the columns that a step changes, in the order of the statements.
pub fn values(task: &Task) -> [ToSqlOutput<'_>; 23] {
    let columns = Columns::of(task);
    [
        int(columns.status_at),
        optional(columns.status_message),
        int(columns.seq),
        int(columns.attempt),
        int(columns.counted),
        int(i64::from(columns.cancel_requested)),
        int(i64::from(columns.shown)),
        optional(columns.not_before),
        int(i64::from(columns.begun)),
        text(columns.interruption),
        optional(columns.answer_until),
        text(columns.holder_kind),
        text(columns.holder),
        optional(columns.attempt_started_at),
        optional(columns.lease_until),
        text(columns.reason),
        int(i64::from(columns.dead_letter)),
        optional(columns.due_at),
        columns.artifacts.map_or(NULL, |json| ToSqlOutput::Owned(Value::Text(json))),
        text(columns.usage),
        text(Some(columns.phase)),
        int(columns.shown_state),
        int(i64::from(columns.queued)),
    ]
}

const NULL: ToSqlOutput<'static> = ToSqlOutput::Owned(Value::Null);

const fn int(value: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(Value::Integer(value))
}

fn optional(value: Option<i64>) -> ToSqlOutput<'static> {
    value.map_or(NULL, int)
}

fn text(value: Option<&str>) -> ToSqlOutput<'_> {
    value.map_or(NULL, |value| ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())))
}

/// Writes a task's row anew.
pub fn task(db: &Connection, key: i64, task: &Task) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(UPDATE_TASK)?;
    for (at, value) in (1..).zip(values(task)) {
        statement.raw_bind_parameter(at, value)?;
    }
    statement.raw_bind_parameter(24, key)?;
    statement.raw_execute()?;
    Ok(())
}
