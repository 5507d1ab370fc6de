//! The rows that a group writes, many at a time: a column is an array, so that a statement is the same for any number of
//! rows.

use std::sync::Arc;

use baton_core::task::{Event, Task};
use baton_core::time::Timestamp;
use uuid::Uuid;

use super::pipeline::{Asked, Spelled, Value};
use super::rows::{Kept, escaped, uuid};
use crate::stored::event;
use crate::stored::task::{Columns, policy, request};

const INSERT_TASKS: &str = "-- store.insert_tasks
INSERT INTO task (status_at, status_message, seq, attempt, counted, cancel_requested, shown, not_before, begun,
    interruption, answer_until, holder_kind, holder, attempt_started_at, lease_until, reason, dead_letter, due_at,
    artifacts, usage, phase, shown_state, queued, key, id, scope, agent, context_id, created_at, deadline, priority,
    policy, request)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[],
    $8::bigint[], $9::boolean[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
    $16::text[], $17::boolean[], $18::bigint[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::boolean[],
    $24::bigint[], $25::uuid[], $26::bigint[], $27::text[], $28::text[], $29::bigint[], $30::bigint[], $31::bigint[],
    $32::text[], $33::text[])";

const UPDATE_TASKS: &str = "-- store.update_tasks
UPDATE task SET status_at = new.status_at, status_message = new.status_message, seq = new.seq, attempt = new.attempt,
    counted = new.counted, cancel_requested = new.cancel_requested, shown = new.shown, not_before = new.not_before,
    begun = new.begun, interruption = new.interruption, answer_until = new.answer_until, holder_kind = new.holder_kind,
    holder = new.holder, attempt_started_at = new.attempt_started_at, lease_until = new.lease_until, reason = new.reason,
    dead_letter = new.dead_letter, due_at = new.due_at, artifacts = new.artifacts, usage = new.usage, phase = new.phase,
    shown_state = new.shown_state, queued = new.queued
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[],
    $8::bigint[], $9::boolean[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
    $16::text[], $17::boolean[], $18::bigint[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::boolean[],
    $24::bigint[])
    AS new (status_at, status_message, seq, attempt, counted, cancel_requested, shown, not_before, begun, interruption,
        answer_until, holder_kind, holder, attempt_started_at, lease_until, reason, dead_letter, due_at, artifacts, usage,
        phase, shown_state, queued, key)
WHERE task.key = new.key";

const INSERT_EVENTS: &str = "-- store.insert_events
INSERT INTO event (key, holds, op, events) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[])";

const ADD_COUNTS: &str = "-- store.add_count
INSERT INTO task_count_delta (scope, shown_state, n) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])";

/// What one operation changed of one task.
pub struct Change {
    pub task: i64,
    pub op: Uuid,
    pub events: Vec<Arc<Event>>,
    /// The events as the row has them.
    pub text: Arc<Vec<u8>>,
}

/// Writes the rows of new tasks.
pub fn insert_tasks(created: &[Kept]) -> Option<Asked> {
    if created.is_empty() {
        return None;
    }
    let tasks: Vec<_> = created.iter().map(|kept| Arc::clone(&kept.task)).collect();
    let mut bind = Vec::with_capacity(33);
    columns(&tasks, &mut bind);
    bind.push(all(created, |kept| kept.key));
    bind.push(all(&tasks, |task| uuid(task.id)));
    bind.push(all(created, |kept| kept.scope));
    bind.push(all(&tasks, |task| task.agent.as_str().to_owned()));
    bind.push(all(&tasks, |task| escaped(task.context_id.as_str()).into_owned()));
    bind.push(all(&tasks, |task| task.created_at.as_millis()));
    bind.push(all(&tasks, |task| task.deadline.map(Timestamp::as_millis)));
    bind.push(all(&tasks, |task| i64::from(task.priority)));
    bind.push(all(&tasks, |task| policy(&task.policy)));
    bind.push(all(&tasks, |task| request(&task.request)));
    Some(Asked::new(INSERT_TASKS, bind))
}

/// Writes the rows of tasks anew.
pub fn update_tasks(changed: &[Kept]) -> Option<Asked> {
    if changed.is_empty() {
        return None;
    }
    let tasks: Vec<_> = changed.iter().map(|kept| Arc::clone(&kept.task)).collect();
    let mut bind = Vec::with_capacity(24);
    columns(&tasks, &mut bind);
    bind.push(all(changed, |kept| kept.key));
    Some(Asked::new(UPDATE_TASKS, bind))
}

/// Writes a row of events for each operation.
pub fn insert_events(changes: &[Change]) -> Option<Asked> {
    if changes.is_empty() {
        return None;
    }
    let last = |change: &Change| change.events.last().map_or(0, |event| event.seq);
    let bind = vec![
        all(changes, |change| event::key(change.task, last(change))),
        all(changes, |change| i64::from(event::holds(&change.events))),
        all(changes, |change| change.op),
        all(changes, |change| Spelled(Arc::clone(&change.text))),
    ];
    Some(Asked::new(INSERT_EVENTS, bind))
}

/// Writes down by how much counts have changed, where they have.
pub fn add_counts(counts: impl Iterator<Item = ((i64, i64), i64)>) -> Option<Asked> {
    let changed: Vec<_> = counts.filter(|(_, n)| *n != 0).collect();
    if changed.is_empty() {
        return None;
    }
    let bind = vec![
        all(&changed, |((scope, _), _)| *scope),
        all(&changed, |((_, state), _)| *state),
        all(&changed, |(_, n)| *n),
    ];
    Some(Asked::new(ADD_COUNTS, bind))
}

/// One column of many rows.
pub fn all<R, T>(rows: &[R], value: impl Fn(&R) -> T) -> Value
where
    Vec<T>: tokio_postgres::types::ToSql + Sync + Send + 'static,
{
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

/// The columns that a step changes, in the order of the statements.
fn columns(tasks: &[Arc<Task>], bind: &mut Vec<Value>) {
    let rows: Vec<Columns<'_>> = tasks.iter().map(|task| Columns::of(task)).collect();
    let word = |word: Option<&str>| word.map(str::to_owned);
    bind.push(all(&rows, |row| row.status_at));
    bind.push(all(&rows, |row| row.status_message));
    bind.push(all(&rows, |row| row.seq));
    bind.push(all(&rows, |row| row.attempt));
    bind.push(all(&rows, |row| row.counted));
    bind.push(all(&rows, |row| row.cancel_requested));
    bind.push(all(&rows, |row| row.shown));
    bind.push(all(&rows, |row| row.not_before));
    bind.push(all(&rows, |row| row.begun));
    bind.push(all(&rows, |row| word(row.interruption)));
    bind.push(all(&rows, |row| row.answer_until));
    bind.push(all(&rows, |row| word(row.holder_kind)));
    bind.push(all(&rows, |row| row.holder.map(|name| escaped(name).into_owned())));
    bind.push(all(&rows, |row| row.attempt_started_at));
    bind.push(all(&rows, |row| row.lease_until));
    bind.push(all(&rows, |row| word(row.reason)));
    bind.push(all(&rows, |row| row.dead_letter));
    bind.push(all(&rows, |row| row.due_at));
    bind.push(all(&rows, |row| row.artifacts.clone()));
    bind.push(all(&rows, |row| word(row.usage)));
    bind.push(all(&rows, |row| row.phase.to_owned()));
    bind.push(all(&rows, |row| row.shown_state));
    bind.push(all(&rows, |row| row.queued));
}
