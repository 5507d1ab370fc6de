//! The log: one row for each operation, read back.

use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::limits::ATTEMPTS_KEPT;
use baton_core::task::Event;

use super::failure::Failure;
use super::pool::Ask;
use super::rows::{int, uuid};
use crate::AttemptRecord;
use crate::stored::event::{self, EVENT_BYTES};

/// Ends where the rows before hold enough: their size is known without reading them.
pub const LIST_EVENTS: &str = "-- store.list_events
SELECT events FROM (
    SELECT event.key, events, sum(octet_length(events)) OVER (ORDER BY event.key) - octet_length(events) AS before
    FROM task JOIN event ON event.key > (task.key << 14) + $2 AND event.key <= (task.key << 14) + 16383
    WHERE id = $1 AND NOT pruned ORDER BY event.key LIMIT $3
) AS log WHERE before < $4 ORDER BY key";

pub const LIST_ATTEMPTS: &str = "-- store.list_attempts
SELECT events FROM task JOIN event ON event.key > task.key << 14 AND event.key <= (task.key << 14) + 16383
WHERE id = $1 AND (holds & 4) <> 0 ORDER BY event.key";

/// Which of these operations were done to these tasks.
pub const FIND_OPS: &str = "-- store.find_ops
SELECT asked.op FROM unnest($1::uuid[], $2::uuid[]) AS asked (task_id, op) JOIN task ON task.id = asked.task_id
    JOIN event ON event.key > task.key << 14 AND event.key <= (task.key << 14) + 16383 AND event.op = asked.op";

pub const PRUNE_EVENTS: &str = "-- store.prune_events
DELETE FROM event USING task
WHERE task.id = ANY ($1) AND event.key > task.key << 14 AND event.key <= (task.key << 14) + 16383 AND holds = 0";

pub const DELETE_EVENTS: &str = "-- store.delete_events
DELETE FROM event USING unnest($1::bigint[]) AS gone (task)
WHERE event.key > gone.task << 14 AND event.key <= (gone.task << 14) + 16383";

/// Up to `most` events after `seq`; none of a task that is pruned.
pub async fn events(db: &impl Ask, id: TaskId, seq: u64, most: usize) -> Result<Vec<Arc<Event>>, Failure> {
    let (seq_column, most_rows, bytes) = (int(seq), int(most), int(EVENT_BYTES));
    let rows = db.query(LIST_EVENTS, &[&uuid(id), &seq_column, &most_rows, &bytes]).await?;
    let mut events = Vec::new();
    for row in rows {
        let read = event::read(row.try_get(0)?)?;
        events.extend(read.into_iter().filter(|event| event.seq > seq).map(Arc::new));
    }
    events.truncate(most);
    Ok(events)
}

/// Who worked on a task last, oldest first.
pub async fn attempts(db: &impl Ask, id: TaskId) -> Result<Vec<AttemptRecord>, Failure> {
    let mut attempts = Vec::new();
    for row in db.query(LIST_ATTEMPTS, &[&uuid(id)]).await? {
        event::read(row.try_get(0)?)?.into_iter().for_each(|event| event::record(&mut attempts, event));
    }
    attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_KEPT));
    Ok(attempts)
}
