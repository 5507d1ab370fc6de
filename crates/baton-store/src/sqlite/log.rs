//! The log: one row for each operation, its events spelled as JSON. Messages, artifacts and attempts are read from it.

use std::borrow::Cow;
use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::{Artifact, Message};
use baton_core::task::{
    Attempt, Body, Chunk, Event, Holder, HolderKind, Interruption, Outcome, Reason, Snapshot,
};
use baton_core::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::rows;
use crate::{AttemptEnd, AttemptRecord, Error};

/// Bits of a row's key that are a sequence number; the others are its task's key.
const SEQ_BITS: u32 = 14;

/// Bytes of content after which a read of events ends early: a reader that is behind comes again.
const EVENT_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that most rows need.
const SPELLED: usize = 1_024;

/// What a row may hold, as bits: what is looked for is found without reading the rest.
const MESSAGE: u8 = 1;
const CHUNK: u8 = 2;
const ATTEMPT: u8 = 4;

pub const LIST_EVENTS: &str = "-- store.list_events
SELECT events FROM event WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3";

pub const LIST_CONTENT: &str = "-- store.list_content
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 3) <> 0 ORDER BY key";

pub const LIST_NEWEST_MESSAGES: &str = "-- store.list_newest_messages
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 1) <> 0 ORDER BY key DESC";

pub const FIRST_MESSAGE: &str = "-- store.first_message
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 1) <> 0 ORDER BY key LIMIT 1";

pub const LIST_ATTEMPTS: &str = "-- store.list_attempts
SELECT events FROM event WHERE key > ?1 AND key <= ?2 AND (holds & 4) <> 0 ORDER BY key";

pub const FIND_OP: &str = "-- store.find_op
SELECT 1 FROM event WHERE key > ?1 AND key <= ?2 AND op = ?3";

/// The row that brought a message: the first that ends at its sequence number or later.
pub const FIND_STATUS: &str = "-- store.find_status
SELECT events FROM event WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT 1";

pub const PRUNE_EVENTS: &str = "-- store.prune_events
DELETE FROM event WHERE key > ?1 AND key <= ?2 AND holds = 0";

/// The key of the row of `task` that ends with event `seq`.
pub const fn key(task: i64, seq: u64) -> i64 {
    (task << SEQ_BITS) | seq.cast_signed()
}

/// The keys of a task's rows after event `seq`: above the first, up to the second.
const fn after(task: i64, seq: u64) -> (i64, i64) {
    (key(task, seq), key(task, (1 << SEQ_BITS) - 1))
}

/// What the events of one row hold.
pub fn holds(events: &[Arc<Event>]) -> u8 {
    events.iter().fold(0, |bits, event| {
        let body = &event.body;
        let message = if body.message().is_some() { MESSAGE } else { 0 };
        let chunk = if matches!(body, Body::Wrote { .. }) { CHUNK } else { 0 };
        let attempt =
            if matches!(body, Body::Claimed { .. }) || outcome(body).is_some() { ATTEMPT } else { 0 };
        bits | message | chunk | attempt
    })
}

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

/// A message with the sequence number of its event.
type Said = (u64, Arc<Message>);

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

/// Who worked on a task, oldest first.
pub fn attempts(db: &Connection, task: i64) -> Result<Vec<AttemptRecord>, Error> {
    let (low, high) = after(task, 0);
    let mut statement = db.prepare_cached(LIST_ATTEMPTS)?;
    let mut found = statement.query([low, high])?;
    let mut attempts: Vec<AttemptRecord> = Vec::new();
    while let Some(row) = found.next()? {
        for event in read(row)? {
            if let Body::Claimed { attempt } = event.body {
                let Attempt { number, holder, started_at, .. } = attempt;
                attempts.push(AttemptRecord { number, holder, started_at, end: None });
            } else if let Some(outcome) = outcome(&event.body)
                && let Some(AttemptRecord { end: end @ None, .. }) = attempts.last_mut()
            {
                *end = Some(AttemptEnd { at: event.at, outcome });
            }
        }
    }
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

/// An event as it is stored. Times are milliseconds.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored<'a> {
    seq: u64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Arc<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<Cow<'a, Artifact>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    append: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<StoredAttempt<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Cow<'a, Object>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<Interruption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dead_letter: bool,
}

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

/// The events of one operation as the row has them.
pub fn spell(events: &[Arc<Event>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SPELLED);
    for event in events {
        out.push(if out.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut out, &Stored::of(event)).expect("a Vec takes every byte");
    }
    out.push(b']');
    out
}

impl<'a> Stored<'a> {
    fn of(event: &'a Event) -> Self {
        let plain = Self {
            seq: event.seq,
            kind: Cow::Borrowed(event.body.kind()),
            at: event.at.as_millis(),
            message: event.body.message().cloned(),
            ..Self::default()
        };
        match &event.body {
            Body::Claimed { attempt } => Self { attempt: Some(StoredAttempt::of(attempt)), ..plain },
            Body::Wrote { chunk } => Self {
                artifact: Some(Cow::Borrowed(&chunk.artifact)),
                append: chunk.append,
                last_chunk: chunk.last_chunk,
                ..plain
            },
            Body::Used { usage } => Self { usage: Some(Cow::Borrowed(usage)), ..plain },
            Body::Interrupted { kind, until, .. } => {
                Self { interruption: Some(*kind), until: Some(until.as_millis()), ..plain }
            }
            Body::Requeued { outcome, not_before, counted } => Self {
                outcome: Some(*outcome),
                not_before: not_before.map(Timestamp::as_millis),
                counted: Some(*counted),
                ..plain
            },
            Body::Failed { reason, dead_letter, .. } => {
                Self { reason: Some(*reason), dead_letter: *dead_letter, ..plain }
            }
            Body::Submitted { .. }
            | Body::Progressed { .. }
            | Body::Messaged { .. }
            | Body::Resumed { .. }
            | Body::HolderGone
            | Body::CancelRequested
            | Body::Completed { .. }
            | Body::Canceled { .. }
            | Body::Rejected { .. }
            | Body::Answered { .. } => plain,
        }
    }

    fn event(self) -> rusqlite::Result<Event> {
        let seq = self.seq;
        let at = Timestamp::from_millis(self.at);
        let message = self.message;
        let lacks = |what: &'static str| move || unreadable(format!("event {seq} has no {what}"));
        let said = || message.clone().ok_or_else(lacks("message"));
        let body = match &*self.kind {
            "submitted" => Body::Submitted { message: said()? },
            "claimed" => Body::Claimed {
                attempt: self.attempt.map(StoredAttempt::attempt).ok_or_else(lacks("attempt"))?,
            },
            "progressed" => Body::Progressed { message },
            "wrote" => Body::Wrote {
                chunk: Arc::new(Chunk {
                    artifact: Arc::new(self.artifact.ok_or_else(lacks("artifact"))?.into_owned()),
                    append: self.append,
                    last_chunk: self.last_chunk,
                }),
            },
            "used" => Body::Used { usage: self.usage.ok_or_else(lacks("usage"))?.into_owned() },
            "interrupted" => Body::Interrupted {
                kind: self.interruption.ok_or_else(lacks("interruption"))?,
                message,
                until: self.until.map(Timestamp::from_millis).ok_or_else(lacks("until"))?,
            },
            "messaged" => Body::Messaged { message: said()? },
            "resumed" => Body::Resumed { message: said()? },
            "holder_gone" => Body::HolderGone,
            "requeued" => Body::Requeued {
                outcome: self.outcome.ok_or_else(lacks("outcome"))?,
                not_before: self.not_before.map(Timestamp::from_millis),
                counted: self.counted.unwrap_or(true),
            },
            "cancel_requested" => Body::CancelRequested,
            "completed" => Body::Completed { message },
            "failed" => Body::Failed {
                reason: self.reason.ok_or_else(lacks("reason"))?,
                message,
                dead_letter: self.dead_letter,
            },
            "canceled" => Body::Canceled { message },
            "rejected" => Body::Rejected { message },
            "answered" => Body::Answered { message: said()? },
            kind => return Err(unreadable(format!("event {seq} is of the unknown kind '{kind}'"))),
        };
        Ok(Event { seq, at, body })
    }
}

/// The events of a row whose first column is their text.
fn read(row: &Row<'_>) -> rusqlite::Result<Vec<Event>> {
    let stored: Vec<Stored<'_>> = rows::borrowed_json(row, 0)?;
    stored.into_iter().map(Stored::event).collect()
}

/// What is read of an event where only its message is asked for.
#[derive(Deserialize)]
struct Heard {
    seq: u64,
    #[serde(default)]
    message: Option<Arc<Message>>,
}

/// The messages of a row; what it may hold of artifacts is passed over.
fn said(row: &Row<'_>) -> rusqlite::Result<Vec<Said>> {
    let heard: Vec<Heard> = rows::borrowed_json(row, 0)?;
    Ok(heard.into_iter().filter_map(|event| Some((event.seq, event.message?))).collect())
}

fn unreadable(why: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}
