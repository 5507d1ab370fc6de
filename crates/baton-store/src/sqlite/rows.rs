//! Rows to tasks and events, and back.

use std::borrow::Cow;
use std::sync::Arc;

use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::json::Object;
use baton_core::model::{Artifact, Message};
use baton_core::task::{
    Attempt, Body, Chunk, Event, Holder, HolderKind, Interruption, Outcome, Policy, Reason, Request, State,
    Status, Task,
};
use baton_core::time::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;
use serde::{Deserialize, Serialize};

use crate::{AttemptEnd, AttemptRecord};

/// The columns of [`task`], in its order.
pub const TASK: &str = "id, agent, grant_id, subject, context_id, phase, status_at, created_at, deadline, seq, \
     attempt, counted, cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder, \
     attempt_started_at, lease_until, reason, dead_letter, policy, request, artifacts, usage, \
     status_message, (SELECT message FROM event WHERE event.task_id = task.id AND event.seq = task.status_message)";

/// A task from a row of [`TASK`].
pub fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
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
            message: optional_json::<Message>(row, 29)?.map(Arc::new),
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

/// An attempt from a row of the attempt table: number, holder_kind, holder, started_at, ended_at, outcome.
pub fn attempt_record(row: &Row<'_>) -> rusqlite::Result<AttemptRecord> {
    let end = match optional_time(row, 4)? {
        Some(at) => {
            let outcome = outcome(text(row, 5)?).ok_or_else(|| unreadable(5, "unknown outcome"))?;
            Some(AttemptEnd { at, outcome })
        }
        None => None,
    };
    Ok(AttemptRecord {
        number: row.get(0)?,
        holder: Holder { kind: holder_kind(text(row, 1)?), name: text(row, 2)?.into() },
        started_at: time(row, 3)?,
        end,
    })
}

/// What [`Outcome::as_str`] spells.
fn outcome(text: &str) -> Option<Outcome> {
    let plain = [
        Outcome::Completed,
        Outcome::Replied,
        Outcome::Rejected,
        Outcome::Canceled,
        Outcome::Released,
        Outcome::HolderGone,
    ];
    let failed = || Reason::parse(text).map(Outcome::Failed);
    plain.into_iter().find(|outcome| outcome.as_str() == text).or_else(failed)
}

/// An attempt as an event stores it: times as milliseconds.
#[derive(Serialize, Deserialize)]
struct StoredAttempt<'a> {
    number: u32,
    kind: HolderKind,
    #[serde(borrow)]
    holder: Cow<'a, str>,
    started_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<i64>,
}

impl<'a> StoredAttempt<'a> {
    fn of(attempt: &'a Attempt) -> Self {
        Self {
            number: attempt.number,
            kind: attempt.holder.kind,
            holder: Cow::Borrowed(&attempt.holder.name),
            started_at: attempt.started_at.as_millis(),
            lease_until: attempt.lease_until.map(Timestamp::as_millis),
        }
    }

    fn attempt(self) -> Attempt {
        Attempt {
            number: self.number,
            holder: Holder { kind: self.kind, name: self.holder.into() },
            started_at: Timestamp::from_millis(self.started_at),
            lease_until: self.lease_until.map(Timestamp::from_millis),
        }
    }
}

/// What an event carries beside its message or chunk.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    attempt: Option<StoredAttempt<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<Interruption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter: Option<bool>,
}

/// The body column of an event.
pub fn event_body(body: &Body) -> Option<String> {
    let extra = match body {
        Body::Claimed { attempt } => Extra { attempt: Some(StoredAttempt::of(attempt)), ..Extra::default() },
        Body::Used { usage } => Extra { usage: Some(usage.clone()), ..Extra::default() },
        Body::Interrupted { kind, until, .. } => {
            Extra { interruption: Some(*kind), until: Some(*until), ..Extra::default() }
        }
        Body::Requeued { outcome, not_before, counted } => Extra {
            outcome: Some(*outcome),
            not_before: *not_before,
            counted: Some(*counted),
            ..Extra::default()
        },
        Body::Failed { reason, dead_letter, .. } => {
            Extra { reason: Some(*reason), dead_letter: Some(*dead_letter), ..Extra::default() }
        }
        Body::Submitted { .. }
        | Body::Progressed { .. }
        | Body::Wrote { .. }
        | Body::Messaged { .. }
        | Body::Resumed { .. }
        | Body::HolderGone
        | Body::CancelRequested
        | Body::Completed { .. }
        | Body::Canceled { .. }
        | Body::Rejected { .. }
        | Body::Answered { .. } => return None,
    };
    Some(to_json(&extra))
}

/// The columns of [`event`], in its order.
pub const EVENT: &str = "seq, kind, at, body, message, artifact, append, last_chunk";

/// An event from a row of [`EVENT`].
pub fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let extra: Extra<'_> = borrowed_json(row, 3)?.unwrap_or_default();
    let message: Option<Arc<Message>> = optional_json::<Message>(row, 4)?.map(Arc::new);
    let lacks = |what| move || unreadable(3, what);
    let said = || message.clone().ok_or_else(lacks("the event's message is missing"));
    let body = match text(row, 1)? {
        "submitted" => Body::Submitted { message: said()? },
        "claimed" => Body::Claimed {
            attempt: extra.attempt.map(StoredAttempt::attempt).ok_or_else(lacks("no attempt"))?,
        },
        "progressed" => Body::Progressed { message },
        "wrote" => Body::Wrote { chunk: Arc::new(chunk(row, 5)?) },
        "used" => Body::Used { usage: extra.usage.ok_or_else(lacks("no usage"))? },
        "interrupted" => Body::Interrupted {
            kind: extra.interruption.ok_or_else(lacks("no kind"))?,
            message,
            until: extra.until.ok_or_else(lacks("no time"))?,
        },
        "messaged" => Body::Messaged { message: said()? },
        "resumed" => Body::Resumed { message: said()? },
        "holder_gone" => Body::HolderGone,
        "requeued" => Body::Requeued {
            outcome: extra.outcome.ok_or_else(lacks("no outcome"))?,
            not_before: extra.not_before,
            counted: extra.counted.unwrap_or(true),
        },
        "cancel_requested" => Body::CancelRequested,
        "completed" => Body::Completed { message },
        "failed" => Body::Failed {
            reason: extra.reason.ok_or_else(lacks("no reason"))?,
            message,
            dead_letter: extra.dead_letter.unwrap_or(false),
        },
        "canceled" => Body::Canceled { message },
        "rejected" => Body::Rejected { message },
        "answered" => Body::Answered { message: said()? },
        _ => return Err(unreadable(1, "unknown kind of event")),
    };
    Ok(Event { seq: row.get(0)?, at: time(row, 2)?, body })
}

/// A chunk from three columns: body, append, last_chunk.
pub fn chunk(row: &Row<'_>, at: usize) -> rusqlite::Result<Chunk> {
    Ok(Chunk { artifact: json::<Artifact>(row, at)?, append: row.get(at + 1)?, last_chunk: row.get(at + 2)? })
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
fn borrowed_json<'r, T: Deserialize<'r>>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    if row.get_ref(at)?.data_type() == Type::Null {
        return Ok(None);
    }
    let read = serde_json::from_str(text(row, at)?);
    read.map(Some).map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

fn optional_json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    if row.get_ref(at)?.data_type() == Type::Null { Ok(None) } else { json(row, at).map(Some) }
}

fn parsed<T, E>(row: &Row<'_>, at: usize, parse: impl Fn(&str) -> Result<T, E>) -> rusqlite::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    parse(text(row, at)?)
        .map_err(|why| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(why)))
}

fn unreadable(at: usize, why: &'static str) -> rusqlite::Error {
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
