//! How the events of a task are spelled in a row of the log, and read from it: one row for each operation, its events as a
//! JSON array. Messages, artifacts and attempts are read from there.

use std::borrow::Cow;
use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::{Artifact, Message};
use baton_core::task::{
    Attempt, Body, Chunk, Event, Holder, HolderKind, Interruption, Outcome, Reason, summary,
};
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Unreadable;
use crate::{AttemptEnd, AttemptRecord};

/// Bits of a row's key that are a sequence number; the others are its task's key.
const SEQ_BITS: u32 = 14;

/// Bytes of content after which a read of events ends early: a reader that is behind comes again.
pub const EVENT_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that most rows need.
const SPELLED: usize = 1_024;

/// What a row may hold, as bits: what is looked for is found without reading the rest.
const MESSAGE: u8 = 1;
const CHUNK: u8 = 2;
const ATTEMPT: u8 = 4;

/// A message with the sequence number of its event.
pub type Said = (u64, Arc<Message>);

/// The key of the row of `task` that ends with event `seq`.
pub const fn key(task: i64, seq: u64) -> i64 {
    (task << SEQ_BITS) | seq.cast_signed()
}

/// The keys of a task's rows after event `seq`: above the first, up to the second.
pub const fn after(task: i64, seq: u64) -> (i64, i64) {
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

/// The events of a row.
pub fn read(text: &str) -> Result<Vec<Event>, Unreadable> {
    let stored: Vec<Stored<'_>> = serde_json::from_str(text)?;
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
pub fn said(text: &str) -> Result<Vec<Said>, Unreadable> {
    let heard: Vec<Heard> = serde_json::from_str(text)?;
    Ok(heard.into_iter().filter_map(|event| Some((event.seq, event.message?))).collect())
}

/// Adds what an event says of who worked on its task; events come in order.
pub fn record(attempts: &mut Vec<AttemptRecord>, event: Event) {
    if let Body::Claimed { attempt } = event.body {
        let Attempt { number, holder, started_at, .. } = attempt;
        attempts.push(AttemptRecord { number, holder, started_at, end: None, summary: None });
    } else if let Some(outcome) = outcome(&event.body)
        && let Some(AttemptRecord { end: end @ None, summary: said, .. }) = attempts.last_mut()
    {
        *end = Some(AttemptEnd { at: event.at, outcome });
        *said = match event.body {
            Body::Requeued { summary, .. } => summary,
            other => other.status_message().and_then(|message| summary(message)),
        };
    }
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
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    summary: Option<Cow<'a, str>>,
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
            Body::Requeued { outcome, not_before, counted, summary } => Self {
                outcome: Some(*outcome),
                summary: summary.as_deref().map(Cow::Borrowed),
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

    fn event(self) -> Result<Event, Unreadable> {
        let seq = self.seq;
        let at = Timestamp::from_millis(self.at);
        let message = self.message;
        let lacks = |what: &'static str| move || Unreadable(format!("event {seq} has no {what}"));
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
                summary: self.summary.map(Into::into),
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
            kind => return Err(Unreadable(format!("event {seq} is of the unknown kind '{kind}'"))),
        };
        Ok(Event { seq, at, body })
    }
}
