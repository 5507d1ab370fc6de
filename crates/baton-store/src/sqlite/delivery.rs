//! The verbs of [`Delivery`], and what is read for them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::delivery::State;
use baton_core::ident::TaskId;
use baton_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::push::{self, PushAnswer, PushWrite};
use super::writer::Write;
use super::{Sqlite, log, rows};
use crate::stored::push::state;
use crate::{
    Actor, By, DeliveriesQuery, Delivery, DeliveryAttempt, Due, Edition, Error, NewPush, Owed, PushConfig,
    Settle,
};

/// Events of one configuration that are read ahead.
const EVENTS: usize = 32;

/// The columns of [`config`], in its order.
pub const CONFIG: &str = "task_id, id, url, target, scheme, edition, created_at, state, reason, failures, due_at, cursor, tries, revision";

/// Each target once: the walk takes one step in the index for each, however many configurations it has.
pub(super) const LIST_DUE_TARGETS: &str = "-- store.list_due_targets
WITH RECURSIVE walk (target) AS (
    SELECT * FROM (SELECT target FROM push_config WHERE due_at IS NOT NULL AND target > ?1 ORDER BY target LIMIT 1)
    UNION ALL
    SELECT (SELECT target FROM push_config WHERE due_at IS NOT NULL AND target > walk.target ORDER BY target LIMIT 1)
    FROM walk WHERE target IS NOT NULL
)
SELECT target, (SELECT due_at FROM push_config AS one WHERE one.due_at IS NOT NULL AND one.target = walk.target
    ORDER BY due_at LIMIT 1)
FROM walk WHERE target IS NOT NULL LIMIT ?2";

pub(super) const LIST_OWED: &str = "-- store.list_owed
SELECT {}, secret FROM push_config WHERE due_at <= ?2 AND target = ?1 ORDER BY due_at LIMIT ?3";

const LIST_PUSH_CONFIGS: &str = "-- store.list_push_configs
SELECT {} FROM push_config WHERE task_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

const LIST_DELIVERIES: &str = "-- store.list_deliveries
SELECT {} FROM push_config
WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR task_id = ?2) AND (task_id, id) < (?3, ?4)
ORDER BY task_id DESC, id DESC LIMIT ?5";

pub(super) const LIST_DELIVERY_ATTEMPTS: &str = "-- store.list_delivery_attempts
SELECT number, seq, at, took_ms, status, error FROM delivery
WHERE task_id = ?1 AND config_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4";

/// A configuration from a row of [`CONFIG`].
pub fn config(row: &Row<'_>) -> rusqlite::Result<PushConfig> {
    let due_at = rows::optional_time(row, 10)?;
    let state = state((rows::text(row, 7)?, rows::optional_text(row, 8)?), row.get(9)?, due_at)?;
    Ok(PushConfig {
        task: rows::id(row, 0)?,
        id: row.get(1)?,
        url: row.get(2)?,
        target: row.get(3)?,
        scheme: row.get(4)?,
        edition: Edition::parse(rows::text(row, 5)?).ok_or_else(|| rows::unreadable(5, "unknown edition"))?,
        created_at: rows::time(row, 6)?,
        state,
        cursor: row.get(11)?,
        tries: row.get(12)?,
        revision: row.get(13)?,
    })
}

fn due_targets(db: &Connection, after: &str, most: usize) -> Result<Vec<Due>, Error> {
    let mut statement = db.prepare_cached(LIST_DUE_TARGETS)?;
    let found = statement
        .query_map(params![after, most], |row| Ok(Due { target: row.get(0)?, first: rows::time(row, 1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn owed(db: &Connection, target: &str, now: Timestamp, most: usize) -> Result<Vec<Owed>, Error> {
    let found: Vec<(PushConfig, Option<Vec<u8>>)> = db
        .prepare_cached(&LIST_OWED.replace("{}", CONFIG))?
        .query_map(params![target, now.as_millis(), most], |row| Ok((config(row)?, row.get(14)?)))?
        .collect::<Result<_, _>>()?;
    let mut all = Vec::with_capacity(found.len());
    for (config, secret) in found {
        let found = rows::find_task(db, config.task)?;
        let missing = || Error::Corrupt(format!("no task {} for its webhook", config.task));
        let (key, task) = found.ok_or_else(missing)?;
        let events = log::events(db, key, config.cursor, EVENTS)?;
        all.push(Owed { config, secret, task: Arc::new(task), events });
    }
    Ok(all)
}

fn list_deliveries(db: &Connection, query: &DeliveriesQuery) -> Result<Vec<PushConfig>, Error> {
    let first = ([0xff; 16], String::new());
    let (task, id) = query.after.as_ref().map_or(first, |(task, id)| (*task.as_bytes(), id.clone()));
    let of = query.task.map(|task| *task.as_bytes());
    let sql = LIST_DELIVERIES.replace("{}", CONFIG);
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_map(params![query.state, of, task, id, query.size], config)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<DeliveryAttempt> {
    Ok(DeliveryAttempt {
        number: row.get(0)?,
        seq: row.get(1)?,
        at: rows::time(row, 2)?,
        took: Duration::from_millis(row.get(3)?),
        status: row.get(4)?,
        error: row.get(5)?,
    })
}

impl Sqlite {
    async fn push(&self, write: PushWrite) -> Result<PushAnswer, Error> {
        self.inner.writer.write(|reply| Write::Push(Box::new(write), reply)).await
    }
}

fn other<T>(_: PushAnswer) -> Result<T, Error> {
    Err(rows::other_answer())
}

#[async_trait]
impl Delivery for Sqlite {
    async fn put_push_config(
        &self,
        by: &By,
        task: TaskId,
        new: NewPush,
        now: Timestamp,
    ) -> Result<PushConfig, Error> {
        match self.push(PushWrite::Put { by: by.clone(), task, new, now }).await? {
            PushAnswer::Config(config) => Ok(*config),
            answer => other(answer),
        }
    }

    async fn find_push_config(&self, task: TaskId, id: &str) -> Result<Option<PushConfig>, Error> {
        let id = id.to_owned();
        self.inner.readers.run(move |db| push::find(db, task, &id)).await
    }

    async fn list_push_configs(
        &self,
        task: TaskId,
        after: &str,
        most: usize,
    ) -> Result<Vec<PushConfig>, Error> {
        let after = after.to_owned();
        self.inner
            .readers
            .run(move |db| {
                let sql = LIST_PUSH_CONFIGS.replace("{}", CONFIG);
                let mut statement = db.prepare_cached(&sql)?;
                let found = statement.query_map(params![task.as_bytes(), after, most], config)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn delete_push_config(
        &self,
        (by, now): (&By, Timestamp),
        task: TaskId,
        id: &str,
    ) -> Result<bool, Error> {
        let delete = PushWrite::Delete { by: by.clone(), task, id: id.to_owned(), now };
        match self.push(delete).await? {
            PushAnswer::Deleted(deleted) => Ok(deleted),
            answer => other(answer),
        }
    }

    async fn due_targets(&self, after: &str, most: usize) -> Result<Vec<Due>, Error> {
        let after = after.to_owned();
        self.inner.readers.run(move |db| due_targets(db, &after, most)).await
    }

    async fn owed(&self, target: &str, now: Timestamp, most: usize) -> Result<Vec<Owed>, Error> {
        let target = target.to_owned();
        self.inner.readers.run(move |db| owed(db, &target, now, most)).await
    }

    async fn settle(&self, settle: Settle) -> Result<Option<State>, Error> {
        match self.push(PushWrite::Settle(settle)).await? {
            PushAnswer::Settled(state) => Ok(state),
            answer => other(answer),
        }
    }

    async fn replay(
        &self,
        task: TaskId,
        id: &str,
        (by, now): (&Actor, Timestamp),
    ) -> Result<PushConfig, Error> {
        let replay = PushWrite::Replay { task, id: id.to_owned(), by: by.clone(), now };
        match self.push(replay).await? {
            PushAnswer::Config(config) => Ok(*config),
            answer => other(answer),
        }
    }

    async fn list_deliveries(&self, query: DeliveriesQuery) -> Result<Vec<PushConfig>, Error> {
        self.inner.readers.run(move |db| list_deliveries(db, &query)).await
    }

    async fn delivery_attempts(
        &self,
        task: TaskId,
        id: &str,
        before: Option<u64>,
        most: usize,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        let (id, before) = (id.to_owned(), before.unwrap_or(u64::try_from(i64::MAX).unwrap_or(u64::MAX)));
        self.inner
            .readers
            .run(move |db| {
                let mut statement = db.prepare_cached(LIST_DELIVERY_ATTEMPTS)?;
                let found = statement.query_map(params![task.as_bytes(), id, before, most], attempt)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }
}
