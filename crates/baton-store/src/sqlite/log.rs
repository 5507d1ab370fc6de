//! The log: one row for each operation, read back.

use std::sync::Arc;

use baton_core::limits::ATTEMPTS_KEPT;
use baton_core::model::Message;
use baton_core::task::{Event, Snapshot};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::rows;
use crate::stored::event::{self, EVENT_BYTES, Said, after, key};
use crate::{AttemptRecord, Error};

pub const LIST_EVENTS: &str = "-- store.list_events
SELECT events FROM event WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3";

pub const LIST_CONTENT: &str = "-- store.list_content
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 3) <> 0 ORDER BY key";

pub const LIST_NEWEST_MESSAGES: &str = "-- store.list_newest_messages
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 1) <> 0 ORDER BY key DESC";

pub const FIRST_MESSAGE: &str = "-- store.first_message
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 1) <> 0 ORDER BY key LIMIT 1";

pub const LIST_ATTEMPTS: &str = "-- store.list_attempts
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 4) <> 0 ORDER BY key DESC LIMIT ?3";

pub const FIND_OP: &str = "-- store.find_op
SELECT 1 FROM event WHERE key > ?1 AND key <= ?2 AND op = ?3";

/// The row that brought a message: the first that ends at its sequence number or later.
pub const FIND_STATUS: &str = "-- store.find_status
SELECT events FROM event WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT 1";

pub const PRUNE_EVENTS: &str = "-- store.prune_events
DELETE FROM event WHERE key > ?1 AND key <= ?2 AND holds = 0";

/// Up to `most` events after `seq`.
pub fn events(db: &Connection, task: i64, seq: u64, most: usize) -> Result<Vec<Arc<Event>>, Error> {
    let (low, high) = after(task, seq);
    let mut statement = db.prepare_cached(LIST_EVENTS)?;
    let mut found = statement.query(params![low, high, most])?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while events.len() < most
        && bytes < EVENT_BYTES
        && let Some(row) = found.next()?
    {
        for event in read(row)?.into_iter().filter(|event| event.seq > seq) {
            bytes += event.body.weight();
            events.push(Arc::new(event));
        }
    }
    events.truncate(most);
    Ok(events)
}

/// Fills in everything that was said and written.
pub fn fill(db: &Connection, task: i64, snapshot: &mut Snapshot) -> Result<(), Error> {
    let (low, high) = after(task, 0);
    let mut statement = db.prepare_cached(LIST_CONTENT)?;
    let mut found = statement.query([low, high])?;
    while let Some(row) = found.next()? {
        read(row)?.iter().for_each(|event| snapshot.fill(event));
    }
    Ok(())
}

/// The newest `most` messages, oldest first.
pub fn newest_messages(db: &Connection, task: i64, most: usize) -> Result<Vec<Said>, Error> {
    let (low, high) = after(task, 0);
    let mut statement = db.prepare_cached(LIST_NEWEST_MESSAGES)?;
    let mut found = statement.query([low, high])?;
    let mut messages = Vec::new();
    while messages.len() < most
        && let Some(row) = found.next()?
    {
        messages.extend(said(row)?.into_iter().rev());
    }
    messages.truncate(most);
    messages.reverse();
    Ok(messages)
}

/// What the task was handed in with.
pub fn first_message(db: &Connection, task: i64) -> Result<Option<Said>, Error> {
    let (low, high) = after(task, 0);
    let found = db.prepare_cached(FIRST_MESSAGE)?.query_row([low, high], said).optional()?;
    Ok(found.and_then(|messages| messages.into_iter().next()))
}

/// The message that event `seq` brought.
pub fn status_message(db: &Connection, task: i64, seq: u64) -> rusqlite::Result<Option<Arc<Message>>> {
    let bind = [key(task, seq), after(task, seq).1];
    let found = db.prepare_cached(FIND_STATUS)?.query_row(bind, said)?;
    Ok(found.into_iter().find(|(at, _)| *at == seq).map(|(_, message)| message))
}

/// Who worked on a task last, oldest first.
pub fn attempts(db: &Connection, task: i64) -> Result<Vec<AttemptRecord>, Error> {
    let (low, high) = after(task, 0);
    let mut statement = db.prepare_cached(LIST_ATTEMPTS)?;
    // Each has two rows at most: where it begins, and where it ends. The first one's begin may be missing.
    let rows = statement.query_map(params![low, high, 2 * ATTEMPTS_KEPT + 1], read)?;
    let newest = rows.collect::<Result<Vec<_>, _>>()?;
    let mut attempts: Vec<AttemptRecord> = Vec::new();
    newest.into_iter().rev().flatten().for_each(|event| event::record(&mut attempts, event));
    attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_KEPT));
    Ok(attempts)
}

pub fn was_applied(db: &Connection, task: i64, op: &[u8; 16]) -> rusqlite::Result<bool> {
    let (low, high) = after(task, 0);
    db.prepare_cached(FIND_OP)?.exists(params![low, high, op])
}

/// Deletes the rows of which nothing is shown any more.
pub fn prune(db: &Connection, task: i64) -> rusqlite::Result<()> {
    let (low, high) = after(task, 0);
    db.prepare_cached(PRUNE_EVENTS)?.execute([low, high])?;
    Ok(())
}

const DELETE_EVENTS: &str = "-- store.delete_events
DELETE FROM event WHERE key > ?1 AND key <= ?2";

/// Deletes all rows of a task.
pub fn delete(db: &Connection, task: i64) -> rusqlite::Result<()> {
    let (low, high) = after(task, 0);
    db.prepare_cached(DELETE_EVENTS)?.execute([low, high])?;
    Ok(())
}

/// The events of a row whose first column is their text.
fn read(row: &Row<'_>) -> rusqlite::Result<Vec<Event>> {
    Ok(event::read(rows::text(row, 0)?)?)
}

/// The messages of such a row.
fn said(row: &Row<'_>) -> rusqlite::Result<Vec<Said>> {
    Ok(event::said(rows::text(row, 0)?)?)
}
