//! The rows of new tasks, many at a time: a statement of several rows opens its tables once, and tasks that are made one
//! after the other stand side by side in them.

use std::sync::{Arc, LazyLock};

use baton_core::ident::TaskId;
use baton_core::task::{Attempt, Body, Event, Task};
use rusqlite::{Connection, Statement, ToSql};
use uuid::Uuid;

use super::rows::{event_body, holder_kind_text, policy, request, to_json};
use super::write::{Columns, outcome};
use crate::Known;

/// Rows of one statement, the largest first.
const SIZES: [usize; 3] = [32, 8, 1];

/// The statements of one table, by [`SIZES`]. `OR FAIL`: a row that is refused undoes the transaction, so that SQLite need
/// not keep what would undo the statement alone.
type Texts = LazyLock<[String; SIZES.len()]>;

/// A task that was created, not yet written.
pub struct Created {
    pub known: Known,
    pub events: Vec<Arc<Event>>,
    pub op: Uuid,
}

/// Writes everything that belongs to new tasks.
pub fn insert(db: &Connection, created: &[Created]) -> rusqlite::Result<()> {
    let tasks: Vec<&Task> = created.iter().map(|created| created.known.task()).collect();
    insert_rows(db, &TASKS, &tasks)?;
    let events =
        created.iter().flat_map(|created| rows_of(created.known.task().id, created.op, &created.events));
    insert_rows(db, &EVENTS, &events.collect::<Vec<_>>())?;
    let attempts: Vec<_> = created
        .iter()
        .flat_map(|created| {
            let task = created.known.task().id;
            attempts(created.events.iter().map(|event| &**event))
                .into_iter()
                .map(move |(attempt, end)| AttemptRow { task, attempt, end })
        })
        .collect();
    insert_rows(db, &ATTEMPTS, &attempts)
}

/// Writes events with their content; the first carries the operation's id.
pub fn insert_events(db: &Connection, task: TaskId, op: Uuid, events: &[Arc<Event>]) -> rusqlite::Result<()> {
    insert_rows(db, &EVENTS, &rows_of(task, op, events).collect::<Vec<_>>())
}

static TASKS: Texts = LazyLock::new(|| texts(INSERT_TASKS, 31));
static EVENTS: Texts = LazyLock::new(|| texts(INSERT_EVENTS, 10));
static ATTEMPTS: Texts = LazyLock::new(|| texts(INSERT_ATTEMPTS, 7));

const INSERT_TASKS: &str = "-- store.insert_tasks
INSERT OR FAIL INTO task (status_at, status_message, seq, attempt, counted, cancel_requested, shown, not_before, begun,
    interruption, answer_until, holder_kind, holder, attempt_started_at, lease_until, reason, dead_letter, due_at,
    artifacts, usage, phase, shown_state, id, agent, grant_id, subject, context_id, created_at, deadline, policy,
    request) VALUES";

const INSERT_EVENTS: &str = "-- store.insert_events
INSERT OR FAIL INTO event (task_id, seq, kind, at, body, message, artifact, append, last_chunk, op) VALUES";

const INSERT_ATTEMPTS: &str = "-- store.insert_attempts
INSERT OR FAIL INTO attempt (task_id, number, holder_kind, holder, started_at, ended_at, outcome) VALUES";

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

impl Row for &Task {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()> {
        let columns = Columns::of(self);
        columns.values(self).into_iter().try_for_each(|value| to.add(value))?;
        to.add(self.id.as_bytes())?;
        to.add(self.agent.as_str())?;
        to.add(&*self.owner.grant)?;
        to.add(&*self.owner.subject)?;
        to.add(self.context_id.as_str())?;
        to.add(self.created_at.as_millis())?;
        to.add(self.deadline.map(baton_core::time::Timestamp::as_millis))?;
        to.add(policy(&self.policy))?;
        to.add(request(&self.request))
    }
}

struct EventRow<'e> {
    task: TaskId,
    op: Option<Uuid>,
    event: &'e Event,
}

fn rows_of(task: TaskId, op: Uuid, events: &[Arc<Event>]) -> impl Iterator<Item = EventRow<'_>> {
    let mut op = Some(op);
    events.iter().map(move |event| EventRow { task, op: op.take(), event })
}

impl Row for EventRow<'_> {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()> {
        let event = self.event;
        let chunk = if let Body::Wrote { chunk } = &event.body { Some(chunk) } else { None };
        to.add(self.task.as_bytes())?;
        to.add(event.seq)?;
        to.add(event.body.kind())?;
        to.add(event.at.as_millis())?;
        to.add(event_body(&event.body))?;
        to.add(event.body.message().map(to_json))?;
        to.add(chunk.map(|chunk| to_json(&chunk.artifact)))?;
        to.add(chunk.map(|chunk| chunk.append))?;
        to.add(chunk.map(|chunk| chunk.last_chunk))?;
        to.add(self.op.as_ref().map(Uuid::as_bytes))
    }
}

/// When an attempt ended, and how.
pub type End = (i64, &'static str);

/// An attempt's row.
pub struct AttemptRow<'e> {
    pub task: TaskId,
    pub attempt: &'e Attempt,
    pub end: Option<End>,
}

impl Row for AttemptRow<'_> {
    fn bind(&self, to: &mut Binder<'_, '_>) -> rusqlite::Result<()> {
        to.add(self.task.as_bytes())?;
        to.add(self.attempt.number)?;
        to.add(holder_kind_text(self.attempt.holder.kind))?;
        to.add(&*self.attempt.holder.name)?;
        to.add(self.attempt.started_at.as_millis())?;
        to.add(self.end.map(|(at, _)| at))?;
        to.add(self.end.map(|(_, outcome)| outcome))
    }
}

/// Writes the attempts that one operation began.
pub fn insert_attempts(db: &Connection, rows: &[AttemptRow<'_>]) -> rusqlite::Result<()> {
    insert_rows(db, &ATTEMPTS, rows)
}

/// The attempts that began in these events. One that also ended in them is one row, written once.
pub fn attempts<'e>(events: impl Iterator<Item = &'e Event>) -> Vec<(&'e Attempt, Option<End>)> {
    let mut began: Vec<(&Attempt, Option<End>)> = Vec::new();
    for event in events {
        if let Body::Claimed { attempt } = &event.body {
            began.push((attempt, None));
        } else if let Some(outcome) = outcome(&event.body)
            && let Some((_, end @ None)) = began.last_mut()
        {
            *end = Some((event.at.as_millis(), outcome.as_str()));
        }
    }
    began
}
