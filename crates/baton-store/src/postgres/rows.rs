//! Rows to tasks, and values to columns and back.

use std::borrow::Cow;
use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::task::{Snapshot, Task};
use baton_core::time::Timestamp;
use serde::Deserialize;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::failure::Failure;
use crate::stored::task::Found;
use crate::stored::{Unreadable, event};

/// The parameters of a statement.
pub type Bind<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The columns of [`task`], in its order. The last is the row of the log that holds the message of the status.
pub const TASK: &str = "task.id, task.agent, grant_id, subject, context_id, phase, status_at, created_at, deadline, seq, attempt, counted,
    cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder, attempt_started_at,
    lease_until, reason, dead_letter, policy, request, artifacts, usage, status_message, task.key, task.scope, priority,
    (SELECT events FROM event WHERE event.key >= (task.key << 14) + status_message
        AND event.key <= (task.key << 14) + 16383 ORDER BY event.key LIMIT 1)";

/// How many columns [`TASK`] has.
pub const TASK_COLUMNS: usize = 33;

/// Everything that was said and written, as one column after [`TASK`].
pub const CONTENT: &str = "(SELECT array_agg(events ORDER BY event.key) FROM event
    WHERE event.key > task.key << 14 AND event.key <= (task.key << 14) + 16383 AND (holds & 3) <> 0)";

/// A task with the numbers of its row and of its scope, without its content.
#[derive(Clone, Debug)]
pub struct Kept {
    pub key: i64,
    pub scope: i64,
    pub task: Arc<Task>,
}

/// A task from a row of [`TASK`].
pub fn task(row: &Row) -> Result<Kept, Failure> {
    let (grant, subject, context) = (text(row, 2)?, text(row, 3)?, text(row, 4)?);
    let holder = optional_text(row, 19)?;
    let found = Found {
        id: id(row, 0)?,
        agent: row.try_get(1)?,
        grant: &grant,
        subject: &subject,
        context_id: &context,
        phase: row.try_get(5)?,
        status_at: row.try_get(6)?,
        created_at: row.try_get(7)?,
        deadline: row.try_get(8)?,
        priority: number(row, 31)?,
        seq: count(row, 9)?,
        attempt: number(row, 10)?,
        counted: number(row, 11)?,
        cancel_requested: row.try_get(12)?,
        shown: row.try_get(13)?,
        not_before: row.try_get(14)?,
        begun: row.try_get(15)?,
        interruption: row.try_get(16)?,
        answer_until: row.try_get(17)?,
        holder_kind: row.try_get(18)?,
        holder: holder.as_deref(),
        attempt_started_at: row.try_get(20)?,
        lease_until: row.try_get(21)?,
        reason: row.try_get(22)?,
        dead_letter: row.try_get(23)?,
        policy: row.try_get(24)?,
        request: row.try_get(25)?,
        artifacts: row.try_get(26)?,
        usage: row.try_get(27)?,
        status_message: row.try_get::<_, Option<i64>>(28)?.map(unsigned).transpose()?,
    };
    let mut task = found.task()?;
    let seq = task.status.message_seq;
    if seq > 0 {
        let events: Option<&str> = row.try_get(32)?;
        let said = events.map(event::said).transpose()?.unwrap_or_default();
        task.status.message = said.into_iter().find(|(at, _)| *at == seq).map(|(_, message)| message);
    }
    Ok(Kept { key: row.try_get(29)?, scope: row.try_get(30)?, task: Arc::new(task) })
}

/// A task with its content from a row of [`TASK`] and [`CONTENT`].
pub fn snapshot(row: &Row) -> Result<Snapshot, Failure> {
    let Kept { task, .. } = task(row)?;
    let mut snapshot = Snapshot::new(Arc::unwrap_or_clone(task));
    fill(&mut snapshot, row, TASK_COLUMNS)?;
    Ok(snapshot)
}

/// Fills in what a column of [`CONTENT`] holds.
pub fn fill(snapshot: &mut Snapshot, row: &Row, at: usize) -> Result<(), Failure> {
    for text in row.try_get::<_, Option<Vec<&str>>>(at)?.unwrap_or_default() {
        event::read(text)?.iter().for_each(|event| snapshot.fill(event));
    }
    Ok(())
}

pub fn id(row: &Row, at: usize) -> Result<TaskId, Failure> {
    Ok(TaskId::from_bytes(row.try_get::<_, Uuid>(at)?.into_bytes()))
}

/// A task's id as the database has it.
pub const fn uuid(id: TaskId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// A text that somebody else chose.
pub fn text(row: &Row, at: usize) -> Result<String, Failure> {
    Ok(unescaped(row.try_get(at)?).into_owned())
}

pub fn optional_text(row: &Row, at: usize) -> Result<Option<String>, Failure> {
    Ok(row.try_get::<_, Option<&str>>(at)?.map(|text| unescaped(text).into_owned()))
}

pub fn time(row: &Row, at: usize) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_millis(row.try_get(at)?))
}

pub fn optional_time(row: &Row, at: usize) -> Result<Option<Timestamp>, Failure> {
    Ok(row.try_get::<_, Option<i64>>(at)?.map(Timestamp::from_millis))
}

pub fn count(row: &Row, at: usize) -> Result<u64, Failure> {
    unsigned(row.try_get(at)?)
}

pub fn number<T: TryFrom<i64>>(row: &Row, at: usize) -> Result<T, Failure> {
    narrow(row.try_get(at)?)
}

pub fn optional_number<T: TryFrom<i64>>(row: &Row, at: usize) -> Result<Option<T>, Failure> {
    row.try_get::<_, Option<i64>>(at)?.map(narrow).transpose()
}

fn unsigned(value: i64) -> Result<u64, Failure> {
    narrow(value)
}

fn narrow<T: TryFrom<i64>>(value: i64) -> Result<T, Failure> {
    T::try_from(value).map_err(|_| unreadable(&format!("{value} is out of bounds")))
}

/// 32 bytes.
pub fn digest(row: &Row, at: usize) -> Result<[u8; 32], Failure> {
    let bytes: &[u8] = row.try_get(at)?;
    bytes.try_into().map_err(|_| unreadable("a digest is 32 bytes long"))
}

pub fn json<T: for<'de> Deserialize<'de>>(row: &Row, at: usize) -> Result<T, Failure> {
    Ok(serde_json::from_str(row.try_get(at)?).map_err(Unreadable::from)?)
}

pub fn optional_json<T: for<'de> Deserialize<'de>>(row: &Row, at: usize) -> Result<Option<T>, Failure> {
    let text: Option<&str> = row.try_get(at)?;
    Ok(text.map(serde_json::from_str).transpose().map_err(Unreadable::from)?)
}

pub fn unreadable(why: &str) -> Failure {
    Unreadable::new(why).into()
}

/// A count as the database has it.
pub fn int(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

pub fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millis)
}

/// What stands for NUL, which a text of PostgreSQL cannot hold; itself is written twice over.
const ESCAPE: char = '\u{1a}';

/// A text that somebody else chose, as it is stored: any other text is stored as it is.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\0' => out.extend([ESCAPE, '0']),
            ESCAPE => out.extend([ESCAPE, ESCAPE]),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ESCAPE => out.push(match letters.next() {
                Some('0') => '\0',
                Some(other) => other,
                None => ESCAPE,
            }),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{escaped, unescaped};

    #[test]
    fn any_text_is_stored_and_read_back() {
        for text in ["", "plain", "\0", "\u{1a}", "\u{1a}0", "a\0\u{1a}\0b", "\u{1a}\u{1a}0"] {
            assert!(!escaped(text).contains('\0'));
            assert_eq!(unescaped(&escaped(text)), text);
        }
        assert_ne!(escaped("\0"), escaped("\u{1a}0"));
    }
}
