//! Rows to tasks, and columns to values.

use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::task::{
    Attempt, Holder, HolderKind, Interruption, Policy, Reason, Request, State, Status, Task,
};
use baton_core::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::{Deserialize, Serialize};

use super::log;
use crate::Error;

/// The columns of a task, in the order of [`task`].
const FIND_TASK: &str = "-- store.find_task
SELECT id, task.agent, grant_id, subject, context_id, phase, status_at, created_at, deadline, seq, attempt, counted,
    cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder, attempt_started_at,
    lease_until, reason, dead_letter, policy, request, artifacts, usage, status_message, task.key
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
    Ok(Task {
        id: id(row, 0)?,
        agent: parsed(row, 1, AgentName::parse)?,
        owner: Owner { grant: text(row, 2)?.into(), subject: text(row, 3)?.into() },
        context_id: parsed(row, 4, ContextId::parse)?,
        policy: optional_json(row, 24)?.unwrap_or_default(),
        request: optional_json(row, 25)?.unwrap_or_default(),
        created_at: time(row, 7)?,
        deadline: optional_time(row, 8)?,
        state: state(row)?,
        status: Status {
            message: None,
            message_seq: row.get::<_, Option<u64>>(28)?.unwrap_or(0),
            at: time(row, 6)?,
        },
        seq: row.get(9)?,
        attempt: row.get(10)?,
        counted: row.get(11)?,
        cancel_requested: row.get(12)?,
        shown: row.get(13)?,
        artifacts: optional_json(row, 26)?.unwrap_or_default(),
        usage: optional_json(row, 27)?,
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<State> {
    Ok(match text(row, 5)? {
        "ready" => State::Ready { not_before: optional_time(row, 14)?, begun: row.get(15)? },
        "running" => State::Running {
            attempt: attempt(row)?.ok_or_else(|| unreadable(19, "a running task has no holder"))?,
        },
        "interrupted" => State::Interrupted {
            kind: if text(row, 16)? == "auth" { Interruption::Auth } else { Interruption::Input },
            attempt: attempt(row)?,
            until: time(row, 17)?,
        },
        "completed" => State::Completed,
        "failed" => State::Failed {
            reason: Reason::parse(text(row, 22)?).ok_or_else(|| unreadable(22, "unknown reason"))?,
            dead_letter: row.get(23)?,
        },
        "canceled" => State::Canceled,
        "rejected" => State::Rejected,
        "answered" => State::Answered,
        _ => return Err(unreadable(5, "unknown phase")),
    })
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Option<Attempt>> {
    let Some(name) = row.get::<_, Option<String>>(19)? else { return Ok(None) };
    Ok(Some(Attempt {
        number: row.get(10)?,
        holder: Holder { kind: holder_kind(text(row, 18)?), name: name.into() },
        started_at: time(row, 20)?,
        lease_until: optional_time(row, 21)?,
    }))
}

fn holder_kind(text: &str) -> HolderKind {
    if text == "worker" { HolderKind::Worker } else { HolderKind::Node }
}

pub const fn holder_kind_text(kind: HolderKind) -> &'static str {
    match kind {
        HolderKind::Node => "node",
        HolderKind::Worker => "worker",
    }
}

pub const fn phase(state: &State) -> &'static str {
    match state {
        State::Ready { .. } => "ready",
        State::Running { .. } => "running",
        State::Interrupted { .. } => "interrupted",
        State::Completed => "completed",
        State::Failed { .. } => "failed",
        State::Canceled => "canceled",
        State::Rejected => "rejected",
        State::Answered => "answered",
    }
}

pub fn id(row: &Row<'_>, at: usize) -> rusqlite::Result<TaskId> {
    row.get::<_, [u8; 16]>(at).map(TaskId::from_bytes)
}

pub fn text<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<&'r str> {
    row.get_ref(at)?
        .as_str()
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

/// JSON that borrows from its row.
pub fn borrowed_json<'r, T: Deserialize<'r>>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<T> {
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

/// JSON of a value that cannot fail to serialise.
pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these types serialise")
}

/// The policy column: nothing where it is the default.
pub fn policy(policy: &Policy) -> Option<String> {
    (*policy != Policy::default()).then(|| to_json(policy))
}

/// The request column: nothing where nothing was said.
pub fn request(request: &Request) -> Option<String> {
    (*request != Request::default()).then(|| to_json(request))
}

/// The writer answers each question in kind.
pub fn other_answer() -> Error {
    Error::Corrupt("the writer answered another question".to_owned())
}
