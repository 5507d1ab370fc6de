//! The rows of new tasks and of their events, many at a time: a statement of several rows opens its tables once, and tasks
//! that are made one after the other stand side by side in them.

use std::sync::{Arc, LazyLock};

use baton_core::task::{Event, Task};
use baton_core::time::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use uuid::Uuid;

use super::write;
use crate::Known;
use crate::stored::event;
use crate::stored::task::{policy, request};

/// Rows of one statement, the largest first.
const SIZES: [usize; 3] = [32, 8, 1];

/// The statements of one table, by [`SIZES`]. `OR FAIL`: a row that is refused undoes the transaction, so that SQLite need
/// not keep what would undo the statement alone.
type Texts = LazyLock<[String; SIZES.len()]>;

static TASKS: Texts = LazyLock::new(|| texts(INSERT_TASKS, 33));
static EVENTS: Texts = LazyLock::new(|| texts(INSERT_EVENTS, 4));

const INSERT_TASKS: &str = "-- store.insert_tasks
INSERT OR FAIL INTO task (status_at, status_message, seq, attempt, counted, cancel_requested, shown, not_before, begun,
    interruption, answer_until, holder_kind, holder, attempt_started_at, lease_until, reason, dead_letter, due_at,
    artifacts, usage, phase, shown_state, queued, key, id, scope, agent, context_id, created_at, deadline, priority, policy, request)
VALUES";

const INSERT_EVENTS: &str = "-- store.insert_events
INSERT OR FAIL INTO event (key, holds, op, events) VALUES";

/// A task that was created, not yet written.
pub struct Created {
    pub key: i64,
    pub scope: i64,
    pub known: Known,
}

/// What one operation changed of one task.
pub struct Change {
    pub task: i64,
    pub op: Uuid,
    pub events: Vec<Arc<Event>>,
    /// The events as the row has them.
    pub text: Arc<Vec<u8>>,
}

/// Writes the rows of new tasks.
pub fn insert_tasks(db: &Connection, created: &[Created]) -> rusqlite::Result<()> {
    insert_rows(db, &TASKS, created)
}

/// Writes a row of events for each operation.
pub fn insert_events(db: &Connection, changes: &[Change]) -> rusqlite::Result<()> {
    insert_rows(db, &EVENTS, changes)
}

trait Row {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()>;
}

/// Binds one value after the other.
struct Binder<'s, 'c> {
    statement: &'s mut Statement<'c>,
    next: usize,
}

impl Binder<'_, '_> {
    fn add(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.statement.raw_bind_parameter(self.next, value)?;
        self.next += 1;
        Ok(())
    }
}

fn insert_rows(db: &Connection, texts: &Texts, rows: &[impl Row]) -> rusqlite::Result<()> {
    let mut rest = rows;
    for (size, text) in SIZES.into_iter().zip(texts.iter()) {
        while rest.len() >= size {
            let (now, later) = rest.split_at(size);
            let mut statement = db.prepare_cached(text)?;
            let mut binder = Binder { statement: &mut statement, next: 1 };
            now.iter().try_for_each(|row| row.bind(&mut binder))?;
            statement.raw_execute()?;
            rest = later;
        }
    }
    Ok(())
}

fn texts(head: &str, columns: usize) -> [String; SIZES.len()] {
    let row = format!("({})", vec!["?"; columns].join(","));
    SIZES.map(|rows| format!("{head} {}", vec![row.as_str(); rows].join(",")))
}

impl Row for Created {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()> {
        let task: &Task = self.known.task();
        write::values(task).into_iter().try_for_each(|value| to.add(value))?;
        to.add(self.key)?;
        to.add(task.id.as_bytes())?;
        to.add(self.scope)?;
        to.add(task.agent.as_str())?;
        to.add(task.context_id.as_str())?;
        to.add(task.created_at.as_millis())?;
        to.add(task.deadline.map(Timestamp::as_millis))?;
        to.add(task.priority)?;
        to.add(policy(&task.policy))?;
        to.add(request(&task.request))
    }
}

impl Row for Change {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()> {
        let last = self.events.last().map_or(0, |event| event.seq);
        to.add(event::key(self.task, last))?;
        to.add(event::holds(&self.events))?;
        to.add(self.op.as_bytes())?;
        to.add(ToSqlOutput::Borrowed(ValueRef::Text(&self.text)))
    }
}
