//! Rows to tasks, and columns to values.

use baton_core::ident::TaskId;
use baton_core::task::Task;
use baton_core::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::Deserialize;

use super::log;
use crate::Error;
use crate::stored::Unreadable;
use crate::stored::task::Found;

/// The columns of a task, in the order of [`task`].
const FIND_TASK: &str = "-- store.find_task
SELECT id, task.agent, grant_id, subject, context_id, phase, status_at, created_at, deadline, seq, attempt, counted,
    cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder, attempt_started_at,
    lease_until, reason, dead_letter, policy, request, artifacts, usage, status_message, task.key,
    priority
FROM task JOIN scope ON scope.key = task.scope WHERE id = ?1";

/// A task with the number of its row, without its content.
pub fn find_task(db: &Connection, id: TaskId) -> Result<Option<(i64, Task)>, Error> {
    let mut statement = db.prepare_cached(FIND_TASK)?;
    let found =
        statement.query_row([id.as_bytes()], |row| Ok((row.get::<_, i64>(29)?, task(row)?))).optional()?;
    let Some((key, mut task)) = found else { return Ok(None) };
    if task.status.message_seq > 0 {
        task.status.message = log::status_message(db, key, task.status.message_seq)?;
    }
    Ok(Some((key, task)))
}

/// A task from a row of [`FIND_TASK`], without the message of its status.
fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let found = Found {
        id: id(row, 0)?,
        agent: text(row, 1)?,
        grant: text(row, 2)?,
        subject: text(row, 3)?,
        context_id: text(row, 4)?,
        phase: text(row, 5)?,
        status_at: row.get(6)?,
        created_at: row.get(7)?,
        deadline: row.get(8)?,
        priority: row.get(30)?,
        seq: row.get(9)?,
        attempt: row.get(10)?,
        counted: row.get(11)?,
        cancel_requested: row.get(12)?,
        shown: row.get(13)?,
        not_before: row.get(14)?,
        begun: row.get(15)?,
        interruption: optional_text(row, 16)?,
        answer_until: row.get(17)?,
        holder_kind: optional_text(row, 18)?,
        holder: optional_text(row, 19)?,
        attempt_started_at: row.get(20)?,
        lease_until: row.get(21)?,
        reason: optional_text(row, 22)?,
        dead_letter: row.get(23)?,
        policy: optional_text(row, 24)?,
        request: optional_text(row, 25)?,
        artifacts: optional_text(row, 26)?,
        usage: optional_text(row, 27)?,
        status_message: row.get(28)?,
    };
    Ok(found.task()?)
}

pub fn id(row: &Row<'_>, at: usize) -> rusqlite::Result<TaskId> {
    row.get::<_, [u8; 16]>(at).map(TaskId::from_bytes)
}

pub fn text<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<&'r str> {
    row.get_ref(at)?
        .as_str()
        .map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

pub fn optional_text<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<Option<&'r str>> {
    row.get_ref(at)?
        .as_str_or_null()
        .map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

pub fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    row.get(at).map(Timestamp::from_millis)
}

pub fn optional_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Timestamp::from_millis))
}

pub fn json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text(row, at)?)
        .map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

pub fn optional_json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    if row.get_ref(at)?.data_type() == Type::Null { Ok(None) } else { json(row, at).map(Some) }
}

pub fn parsed<T, E>(row: &Row<'_>, at: usize, parse: impl Fn(&str) -> Result<T, E>) -> rusqlite::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    parse(text(row, at)?)
        .map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

pub fn unreadable(at: usize, why: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, why.into())
}

/// The writer answers each question in kind.
pub fn other_answer() -> Error {
    Error::Corrupt("the writer answered another question".to_owned())
}

impl From<Unreadable> for rusqlite::Error {
    fn from(why: Unreadable) -> Self {
        Self::FromSqlConversionFailure(0, Type::Text, Box::new(why))
    }
}
