//! The verbs of [`Delivery`], and what is read for them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use baton_core::delivery::State;
use baton_core::ident::TaskId;
use baton_core::task::{Event, Task};
use baton_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::failure::Failure;
use super::pool::Ask;
use super::push::{PushAnswer, PushWrite};
use super::rows::{
    Bind, TASK, TASK_COLUMNS, count, escaped, id, int, number, optional_number, optional_text, optional_time,
    task, text, time, unreadable, uuid,
};
use super::{HELD_MS, NOW, Postgres};
use crate::stored::event;
use crate::stored::push::state;
use crate::{
    Actor, By, DeliveriesQuery, Delivery, DeliveryAttempt, Due, Edition, Elsewhere, Error, NewPush, Owed,
    PushConfig, Settle,
};

/// Events of one configuration that are read ahead.
const EVENTS: usize = 32;

/// The columns of [`config`], in its order.
pub const CONFIG: &str = "push_config.task_id, push_config.id, url, target, scheme, edition, created_at, state, reason, failures, due_at,
    cursor, tries, revision";

/// Each target once: the walk takes one step in the index for each, however many configurations it has. What another node
/// has in hand is no matter of ours.
pub const LIST_DUE_TARGETS: &str = "-- store.list_due_targets
WITH RECURSIVE walk (target) AS (
    (SELECT target FROM push_config WHERE due_at IS NOT NULL AND target > $1 ORDER BY target LIMIT 1)
    UNION ALL
    SELECT (SELECT target FROM push_config WHERE due_at IS NOT NULL AND target > walk.target ORDER BY target LIMIT 1)
    FROM walk WHERE walk.target IS NOT NULL
)
SELECT walk.target, earliest.due_at FROM walk CROSS JOIN LATERAL (
    SELECT due_at FROM push_config AS one
    WHERE one.due_at IS NOT NULL AND one.target = walk.target AND (held_by IS NULL OR held_by = $3
        OR held_until <= coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000)::bigint))
    ORDER BY due_at LIMIT 1) AS earliest
LIMIT $2";

/// Takes them in hand, so that no other node sends the same.
pub static LIST_OWED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_owed
WITH moment AS MATERIALIZED (SELECT {NOW} AS now),
mine AS (SELECT task_id AS of_task, id AS of_id FROM push_config
    WHERE due_at <= (SELECT now FROM moment) AND target = $1
        AND (held_by IS NULL OR held_by = $4 OR held_until <= (SELECT now FROM moment))
    ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE push_config SET held_by = $4, held_until = (SELECT now FROM moment) + $5 FROM mine
WHERE task_id = of_task AND id = of_id RETURNING {CONFIG}, secret"
    )
});

/// A task, and the rows of its log that a configuration begins with.
static LIST_OWED_TASKS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_owed_tasks
SELECT {TASK}, asked.nth, (SELECT array_agg(first.events ORDER BY first.key) FROM (
    SELECT event.key, events FROM event WHERE event.key > (task.key << 14) + asked.after
        AND event.key <= (task.key << 14) + 16383 ORDER BY event.key LIMIT $3) AS first)
FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS asked (task_id, after, nth)
    JOIN task ON task.id = asked.task_id JOIN scope ON scope.key = task.scope"
    )
});

pub static FIND_PUSH_CONFIG: LazyLock<String> = LazyLock::new(|| {
    format!("-- store.find_push_config\nSELECT {CONFIG} FROM push_config WHERE task_id = $1 AND id = $2")
});

static LIST_PUSH_CONFIGS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_push_configs\nSELECT {CONFIG} FROM push_config WHERE task_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
});

static LIST_DELIVERIES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_deliveries
SELECT {CONFIG} FROM push_config
WHERE ($1::text IS NULL OR state = $1) AND ($2::uuid IS NULL OR task_id = $2) AND (task_id, id) < ($3, $4)
ORDER BY task_id DESC, id DESC LIMIT $5"
    )
});

pub static LIST_FAILING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_failing\nSELECT {CONFIG} FROM push_config WHERE state = 'suspended' OR failures >= 3
ORDER BY task_id, id LIMIT $1"
    )
});

pub const LIST_DELIVERY_ATTEMPTS: &str = "-- store.list_delivery_attempts
SELECT number, seq, at, took_ms, status, error FROM delivery
WHERE task_id = $1 AND config_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4";

/// A configuration from a row of [`CONFIG`].
pub fn config(row: &Row) -> Result<PushConfig, Failure> {
    let due_at = optional_time(row, 10)?;
    let state = state((row.try_get(7)?, row.try_get(8)?), number(row, 9)?, due_at)?;
    Ok(PushConfig {
        task: id(row, 0)?,
        id: text(row, 1)?,
        url: text(row, 2)?,
        target: text(row, 3)?,
        scheme: optional_text(row, 4)?,
        edition: Edition::parse(row.try_get(5)?).ok_or_else(|| unreadable("unknown edition"))?,
        created_at: time(row, 6)?,
        state,
        cursor: count(row, 11)?,
        tries: count(row, 12)?,
        revision: count(row, 13)?,
    })
}

const fn due_at(state: State) -> Option<Timestamp> {
    match state {
        State::Active { due_at, .. } => due_at,
        State::Suspended | State::Ended(_) => None,
    }
}

fn attempt(row: &Row) -> Result<DeliveryAttempt, Failure> {
    Ok(DeliveryAttempt {
        number: count(row, 0)?,
        seq: count(row, 1)?,
        at: time(row, 2)?,
        took: Duration::from_millis(count(row, 3)?),
        status: optional_number(row, 4)?,
        error: optional_text(row, 5)?,
    })
}

/// What one configuration begins with: its task, and the first events after its cursor.
fn begin(row: &Row, cursor: u64) -> Result<(Arc<Task>, Vec<Arc<Event>>), Failure> {
    let mut events = Vec::new();
    for text in row.try_get::<_, Option<Vec<&str>>>(TASK_COLUMNS + 1)?.unwrap_or_default() {
        events.extend(event::read(text)?.into_iter().filter(|event| event.seq > cursor).map(Arc::new));
    }
    events.truncate(EVENTS);
    Ok((task(row)?.task, events))
}

/// What these configurations begin with, in their order.
async fn begin_all(
    db: &impl Ask,
    mut found: Vec<(PushConfig, Option<Vec<u8>>)>,
) -> Result<Vec<Owed>, Failure> {
    found.sort_by_key(|(config, _)| due_at(config.state));
    let tasks: Vec<Uuid> = found.iter().map(|(config, _)| uuid(config.task)).collect();
    let cursors: Vec<i64> = found.iter().map(|(config, _)| int(config.cursor)).collect();
    let rows = db.query(&LIST_OWED_TASKS, &[&tasks, &cursors, &int(EVENTS)]).await?;
    let mut begun = HashMap::with_capacity(rows.len());
    for row in rows {
        begun.insert(number::<usize>(&row, TASK_COLUMNS)? - 1, row);
    }
    let mut all = Vec::with_capacity(found.len());
    for (nth, (config, secret)) in found.into_iter().enumerate() {
        let missing = || unreadable(&format!("no task {} for its webhook", config.task));
        let (task, events) = begin(begun.get(&nth).ok_or_else(missing)?, config.cursor)?;
        all.push(Owed { config, secret, task, events });
    }
    Ok(all)
}

impl Postgres {
    async fn push(&self, name: &'static str, write: PushWrite) -> Result<PushAnswer, Error> {
        self.inner.connections.run(name, &write).await
    }
}

fn other<T>(_: PushAnswer) -> Result<T, Error> {
    Err(super::other_answer())
}

#[async_trait]
impl Delivery for Postgres {
    async fn put_push_config(
        &self,
        by: &By,
        task: TaskId,
        new: NewPush,
        now: Timestamp,
    ) -> Result<PushConfig, Error> {
        match self.push("put_push_config", PushWrite::Put { by: by.clone(), task, new, now }).await? {
            PushAnswer::Config(config) => {
                if due_at(config.state).is_some() {
                    self.inner.teller.tell(Elsewhere::Owed);
                }
                Ok(*config)
            }
            answer => other(answer),
        }
    }

    async fn find_push_config(&self, task: TaskId, id: &str) -> Result<Option<PushConfig>, Error> {
        let row = self.inner.connections.first(&FIND_PUSH_CONFIG, &[&uuid(task), &escaped(id)]).await?;
        Ok(row.as_ref().map(config).transpose()?)
    }

    async fn list_push_configs(
        &self,
        task: TaskId,
        after: &str,
        most: usize,
    ) -> Result<Vec<PushConfig>, Error> {
        let bind: Bind<'_> = &[&uuid(task), &escaped(after), &int(most)];
        let rows = self.inner.connections.query(&LIST_PUSH_CONFIGS, bind).await?;
        Ok(rows.iter().map(config).collect::<Result<_, _>>()?)
    }

    async fn delete_push_config(
        &self,
        (by, now): (&By, Timestamp),
        task: TaskId,
        id: &str,
    ) -> Result<bool, Error> {
        let delete = PushWrite::Delete { by: by.clone(), task, id: id.to_owned(), now };
        match self.push("delete_push_config", delete).await? {
            PushAnswer::Deleted(deleted) => Ok(deleted),
            answer => other(answer),
        }
    }

    async fn due_targets(&self, after: &str, most: usize) -> Result<Vec<Due>, Error> {
        // A hold that a test gave in its own time is over in no other.
        let now = self.inner.connections.judged(Timestamp::from_millis(0));
        let bind: Bind<'_> = &[&escaped(after), &int(most), &self.inner.node, &now];
        let rows = self.inner.connections.query(LIST_DUE_TARGETS, bind).await?;
        let due = rows.iter().map(|row| Ok(Due { target: text(row, 0)?, first: time(row, 1)? }));
        Ok(due.collect::<Result<_, Failure>>()?)
    }

    async fn owed(&self, target: &str, now: Timestamp, most: usize) -> Result<Vec<Owed>, Error> {
        let db = &*self.inner.connections;
        let bind: Bind<'_> = &[&escaped(target), &db.judged(now), &int(most), &self.inner.node, &HELD_MS];
        let rows = db.query(&LIST_OWED, bind).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let found = rows.iter().map(|row| Ok((config(row)?, row.try_get(14)?)));
        let found = found.collect::<Result<_, Failure>>()?;
        Ok(begin_all(db, found).await?)
    }

    async fn settle(&self, settle: Settle) -> Result<Option<State>, Error> {
        match self.push("settle", PushWrite::Settle(settle)).await? {
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
        match self.push("replay", replay).await? {
            PushAnswer::Config(config) => {
                self.inner.teller.tell(Elsewhere::Owed);
                Ok(*config)
            }
            answer => other(answer),
        }
    }

    async fn list_deliveries(&self, query: DeliveriesQuery) -> Result<Vec<PushConfig>, Error> {
        let first = (Uuid::max(), String::new());
        let (task, id) = query.after.as_ref().map_or(first, |(task, id)| (uuid(*task), id.clone()));
        let of = query.task.map(uuid);
        let bind: Bind<'_> = &[&query.state, &of, &task, &escaped(&id), &int(query.size)];
        let rows = self.inner.connections.query(&LIST_DELIVERIES, bind).await?;
        Ok(rows.iter().map(config).collect::<Result<_, _>>()?)
    }

    async fn delivery_attempts(
        &self,
        task: TaskId,
        id: &str,
        before: Option<u64>,
        most: usize,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        let before = before.map_or(i64::MAX, int);
        let bind: Bind<'_> = &[&uuid(task), &escaped(id), &before, &int(most)];
        let rows = self.inner.connections.query(LIST_DELIVERY_ATTEMPTS, bind).await?;
        Ok(rows.iter().map(attempt).collect::<Result<_, _>>()?)
    }
}
