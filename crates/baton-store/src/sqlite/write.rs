//! The rows of one operation.

use baton_core::ident::TaskId;
use baton_core::task::{Attempt, Body, Event, HolderKind, Interruption, Outcome, State, Task};
use baton_core::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::rows::{event_body, holder_kind_text, phase, policy, request, to_json};

const INSERT_TASK: &str = "-- store.insert_task
INSERT INTO task (status_at, status_message, seq, attempt, counted, cancel_requested, shown, not_before, begun,
    interruption, answer_until, holder_kind, holder, attempt_started_at, lease_until, reason, dead_letter, due_at,
    artifacts, usage, phase, shown_state, id, agent, grant_id, subject, context_id, created_at, deadline, policy,
    request)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
    ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)";

const UPDATE_TASK: &str = "-- store.update_task
UPDATE task SET status_at = ?1, status_message = ?2, seq = ?3, attempt = ?4, counted = ?5, cancel_requested = ?6,
    shown = ?7, not_before = ?8, begun = ?9, interruption = ?10, answer_until = ?11, holder_kind = ?12, holder = ?13,
    attempt_started_at = ?14, lease_until = ?15, reason = ?16, dead_letter = ?17, due_at = ?18, artifacts = ?19,
    usage = ?20, phase = ?21, shown_state = ?22
WHERE id = ?23";

const INSERT_EVENT: &str = "-- store.insert_event
INSERT INTO event (task_id, seq, kind, at, body, op) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

const INSERT_MESSAGE: &str = "-- store.insert_message
INSERT INTO message (task_id, seq, body) VALUES (?1, ?2, ?3)";

const INSERT_ARTIFACT: &str = "-- store.insert_artifact
INSERT INTO artifact (task_id, seq, append, last_chunk, body) VALUES (?1, ?2, ?3, ?4, ?5)";

const INSERT_ATTEMPT: &str = "-- store.insert_attempt
INSERT INTO attempt (task_id, number, holder_kind, holder, started_at, ended_at, outcome)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const END_ATTEMPT: &str = "-- store.end_attempt
UPDATE attempt SET ended_at = ?3, outcome = ?4 WHERE task_id = ?1 AND number = ?2";

/// What a task's row says of its state, column by column.
#[derive(Default)]
struct Columns<'a> {
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
    fn of(task: &'a Task) -> Self {
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

/// Writes the task's row.
pub fn task(db: &Connection, task: &Task, insert: bool) -> rusqlite::Result<()> {
    let columns = Columns::of(task);
    let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millis);
    let attempt = columns.attempt;
    let status_message = task.status.message.is_some().then_some(task.status.message_seq);
    let artifacts = (!task.artifacts.is_empty()).then(|| to_json(&task.artifacts));
    let mut statement = db.prepare_cached(if insert { INSERT_TASK } else { UPDATE_TASK })?;
    let bind = params![
        task.status.at.as_millis(),
        status_message,
        task.seq,
        task.attempt,
        task.counted,
        task.cancel_requested,
        task.shown,
        millis(columns.not_before),
        columns.begun,
        columns.interruption,
        millis(columns.answer_until),
        attempt.map(|attempt| holder_kind_text(attempt.holder.kind)),
        attempt.map(|attempt| &*attempt.holder.name),
        attempt.map(|attempt| attempt.started_at.as_millis()),
        attempt.and_then(|attempt| millis(attempt.lease_until)),
        columns.reason,
        columns.dead_letter,
        millis(columns.due_at),
        artifacts,
        task.usage.as_ref().map(baton_core::json::Object::as_str),
        phase(&task.state),
        task.state.shown().number(),
        task.id.as_bytes(),
    ];
    if !insert {
        statement.execute(bind)?;
        return Ok(());
    }
    for (at, value) in (1..).zip(bind) {
        statement.raw_bind_parameter(at, value)?;
    }
    statement.raw_bind_parameter(24, task.agent.as_str())?;
    statement.raw_bind_parameter(25, &*task.owner.grant)?;
    statement.raw_bind_parameter(26, &*task.owner.subject)?;
    statement.raw_bind_parameter(27, task.context_id.as_str())?;
    statement.raw_bind_parameter(28, task.created_at.as_millis())?;
    statement.raw_bind_parameter(29, millis(task.deadline))?;
    statement.raw_bind_parameter(30, policy(&task.policy))?;
    statement.raw_bind_parameter(31, request(&task.request))?;
    statement.raw_execute()?;
    Ok(())
}

/// Writes events with their content; the first carries the operation's id.
pub fn events<'e>(
    db: &Connection,
    id: TaskId,
    op: Uuid,
    events: impl Iterator<Item = &'e Event>,
) -> rusqlite::Result<()> {
    let task = id.as_bytes();
    let mut op = Some(op);
    for event in events {
        let first = op.take();
        db.prepare_cached(INSERT_EVENT)?.execute(params![
            task,
            event.seq,
            event.body.kind(),
            event.at.as_millis(),
            event_body(&event.body),
            first.as_ref().map(Uuid::as_bytes),
        ])?;
        if let Some(message) = event.body.message() {
            db.prepare_cached(INSERT_MESSAGE)?.execute(params![task, event.seq, to_json(message)])?;
        }
        if let Body::Wrote { chunk } = &event.body {
            db.prepare_cached(INSERT_ARTIFACT)?.execute(params![
                task,
                event.seq,
                chunk.append,
                chunk.last_chunk,
                to_json(&chunk.artifact)
            ])?;
        }
    }
    Ok(())
}

/// Keeps the attempt history in step with the events of one operation. An attempt that began and ended in it is one row
/// written once.
pub fn attempts<'e>(
    db: &Connection,
    before: Option<&Task>,
    id: TaskId,
    events: impl Iterator<Item = &'e Event>,
) -> rusqlite::Result<()> {
    let mut open = before.and_then(|task| task.state.open_attempt()).cloned();
    let mut unwritten = false;
    for event in events {
        if let Body::Claimed { attempt } = &event.body {
            open = Some(attempt.clone());
            unwritten = true;
        } else if let Some(outcome) = outcome(&event.body)
            && let Some(attempt) = open.take()
        {
            let ended = event.at.as_millis();
            if unwritten {
                insert_attempt(db, id, &attempt, Some((ended, outcome.as_str())))?;
                unwritten = false;
            } else {
                db.prepare_cached(END_ATTEMPT)?.execute(params![
                    id.as_bytes(),
                    attempt.number,
                    ended,
                    outcome.as_str()
                ])?;
            }
        }
    }
    match open {
        Some(attempt) if unwritten => insert_attempt(db, id, &attempt, None),
        Some(_) | None => Ok(()),
    }
}

fn insert_attempt(
    db: &Connection,
    id: TaskId,
    attempt: &Attempt,
    end: Option<(i64, &str)>,
) -> rusqlite::Result<()> {
    db.prepare_cached(INSERT_ATTEMPT)?.execute(params![
        id.as_bytes(),
        attempt.number,
        holder_kind_text(attempt.holder.kind),
        &*attempt.holder.name,
        attempt.started_at.as_millis(),
        end.map(|(at, _)| at),
        end.map(|(_, outcome)| outcome),
    ])?;
    Ok(())
}

/// How an attempt that is open ends with this event, if it does.
const fn outcome(body: &Body) -> Option<Outcome> {
    match body {
        Body::Completed { .. } => Some(Outcome::Completed),
        Body::Failed { reason, .. } => Some(Outcome::Failed(*reason)),
        Body::Canceled { .. } => Some(Outcome::Canceled),
        Body::Rejected { .. } => Some(Outcome::Rejected),
        Body::Answered { .. } => Some(Outcome::Replied),
        Body::Requeued { outcome, .. } => Some(*outcome),
        Body::HolderGone => Some(Outcome::HolderGone),
        Body::Submitted { .. }
        | Body::Claimed { .. }
        | Body::Progressed { .. }
        | Body::Wrote { .. }
        | Body::Used { .. }
        | Body::Interrupted { .. }
        | Body::Messaged { .. }
        | Body::Resumed { .. }
        | Body::CancelRequested => None,
    }
}
