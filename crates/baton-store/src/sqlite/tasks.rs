//! The verbs of [`Tasks`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use baton_core::ident::{AgentName, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{Event, Input, LeaseLoss, Snapshot, Task};
use baton_core::time::Timestamp;
use rusqlite::{Connection, params};

use super::hot::Kept;
use super::writer::Write;
use super::{Sqlite, list, log, read, retire, rows};
use crate::stored::prepare::Prepared;
use crate::{
    Applied, AttemptRecord, By, Claim, Claimed, Error, Known, ListAllQuery, ListQuery, Op, Page, Retire,
    Status, Tasks,
};

pub(super) const LIST_DUE: &str = "-- store.list_due
SELECT id, lease_until, attempt, deadline, answer_until FROM task WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";

pub(super) const LIST_ORPHANED: &str = "-- store.list_orphaned
SELECT id, attempt FROM task
WHERE scope IN (SELECT key FROM scope) AND shown_state IN (2, 6, 8) AND holder_kind = 'node' AND holder <> ?1
ORDER BY id LIMIT ?2";

pub(super) const NEXT_READY: &str = "-- store.next_ready
SELECT CASE WHEN EXISTS (SELECT 1 FROM task WHERE agent = ?1 AND phase = 'ready' AND queued = 1) THEN 0
    ELSE (SELECT min(not_before) FROM task WHERE agent = ?1 AND phase = 'ready' AND queued = 0) END";

pub(super) const LIST_OPEN_OF_REVOKED: &str = r#"-- store.list_open_of_revoked
SELECT id FROM task
WHERE scope IN (SELECT scope.key FROM scope JOIN "grant" ON "grant".id = scope.grant_id
        WHERE state = 'revoked' OR state = 'expired')
    AND shown_state IN (1, 2, 6, 8) AND cancel_requested = 0
ORDER BY id LIMIT ?1"#;

const MARK_PRUNED: &str = "-- store.mark_pruned
UPDATE task SET pruned = 1 WHERE id = ?1 RETURNING key";

const PRUNE_PUSH_CONFIGS: &str = "-- store.prune_push_configs
DELETE FROM push_config WHERE task_id = ?1";

const PRUNE_DELIVERIES: &str = "-- store.prune_deliveries
DELETE FROM delivery WHERE task_id = ?1";

const LIST_PRUNABLE: &str = "-- store.list_prunable
SELECT id FROM task
WHERE pruned = 0 AND status_at < ?1 AND phase <> 'ready' AND phase <> 'running' AND phase <> 'interrupted'
ORDER BY id LIMIT ?2";

const SUM_COUNTS: &str = "-- store.sum_counts
SELECT agent, shown_state, sum(n) FROM scope JOIN task_count ON task_count.scope = scope.key
GROUP BY agent, shown_state ORDER BY agent, shown_state";

#[async_trait]
impl Tasks for Sqlite {
    async fn apply(&self, op: Op) -> Result<Applied, Error> {
        let prepared = op.create.as_ref().map(|new| Prepared::new(&op, new));
        self.inner.writer.write(|reply| Write::Apply(Box::new((op, prepared)), reply)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, Error> {
        self.inner.writer.write(|reply| Write::Claim(claim, reply)).await
    }

    async fn find(&self, by: &By, id: TaskId) -> Result<Option<Arc<Snapshot>>, Error> {
        if self.inner.readers.is_closed() {
            return Err(Error::closed());
        }
        if let Some(Kept { known: Known::Whole(snapshot), .. }) = self.inner.hot.find(id) {
            return Ok(by.sees(&snapshot.task).then_some(snapshot));
        }
        let by = by.clone();
        let found = self
            .inner
            .readers
            .run(move |db| match rows::find_task(db, id)? {
                Some((key, task)) if by.sees(&task) => {
                    Ok(Some((key, Arc::new(read::snapshot_of(db, key, task)?))))
                }
                Some(_) | None => Ok(None),
            })
            .await?;
        Ok(found.map(|(key, snapshot)| {
            self.inner.hot.put_read(key, &snapshot);
            snapshot
        }))
    }

    async fn find_head(&self, by: &By, id: TaskId) -> Result<Option<Arc<Task>>, Error> {
        if self.inner.readers.is_closed() {
            return Err(Error::closed());
        }
        let task = match self.inner.hot.find(id).map(|kept| kept.known) {
            Some(Known::Head(task)) => Some(task),
            Some(Known::Whole(snapshot)) => Some(Arc::new(snapshot.task.clone())),
            None => {
                let found = self.inner.readers.run(move |db| rows::find_task(db, id)).await?;
                found.map(|(_, task)| Arc::new(task))
            }
        };
        Ok(task.filter(|task| by.sees(task)))
    }

    async fn list(&self, query: ListQuery) -> Result<Page, Error> {
        self.inner.readers.run(move |db| list::page(db, &query)).await
    }

    async fn list_all(&self, query: ListAllQuery) -> Result<Page, Error> {
        self.inner.readers.run(move |db| list::page_of_all(db, &query)).await
    }

    async fn events(&self, id: TaskId, after: u64, most: usize) -> Result<Vec<Arc<Event>>, Error> {
        self.inner.readers.run(move |db| read::events(db, id, after, most)).await
    }

    async fn attempts(&self, id: TaskId) -> Result<Vec<AttemptRecord>, Error> {
        self.inner.readers.run(move |db| read::attempts(db, id)).await
    }

    async fn due(&self, now: Timestamp, most: usize) -> Result<Vec<(TaskId, Input)>, Error> {
        self.inner.readers.run(move |db| due(db, now, most)).await
    }

    async fn orphaned(&self, boot: &str, most: usize) -> Result<Vec<(TaskId, u32)>, Error> {
        let boot = boot.to_owned();
        self.inner
            .readers
            .run(move |db| {
                let mut statement = db.prepare_cached(LIST_ORPHANED)?;
                let found =
                    statement.query_map(params![boot, most], |row| Ok((rows::id(row, 0)?, row.get(1)?)))?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn next_ready(&self, agent: &AgentName) -> Result<Option<Timestamp>, Error> {
        let agent = agent.clone();
        self.inner
            .readers
            .run(move |db| {
                let mut statement = db.prepare_cached(NEXT_READY)?;
                Ok(statement.query_row([agent.as_str()], |row| rows::optional_time(row, 0))?)
            })
            .await
    }

    async fn open_of_revoked(&self, most: usize) -> Result<Vec<TaskId>, Error> {
        self.inner
            .readers
            .run(move |db| {
                let mut statement = db.prepare_cached(LIST_OPEN_OF_REVOKED)?;
                let found = statement.query_map([most], |row| rows::id(row, 0))?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn prune_events(&self, before: Timestamp, most: usize) -> Result<usize, Error> {
        let tasks = self.inner.readers.run(move |db| prunable(db, before, most)).await?;
        if tasks.is_empty() {
            return Ok(0);
        }
        self.inner.writer.write(|reply| Write::PruneEvents { tasks, reply }).await
    }

    async fn retire(&self, retire: Retire) -> Result<Vec<TaskId>, Error> {
        let tasks = self.inner.readers.run(move |db| retire::find(db, &retire)).await?;
        if tasks.is_empty() {
            return Ok(tasks);
        }
        self.inner.writer.write(|reply| Write::Retire(tasks, reply)).await
    }

    async fn status(&self) -> Result<Status, Error> {
        let counters = &self.inner.counters;
        let (commits, operations) =
            (counters.commits.load(Ordering::Relaxed), counters.operations.load(Ordering::Relaxed));
        let tasks = self.inner.readers.run(count).await?;
        Ok(Status { commits, operations, tasks })
    }

    async fn ping(&self) -> Result<(), Error> {
        self.inner.readers.run(|_| Ok(())).await
    }
}

fn count(db: &Connection) -> Result<Vec<(AgentName, TaskState, u64)>, Error> {
    let mut statement = db.prepare_cached(SUM_COUNTS)?;
    let counts = statement.query_map([], |row| {
        let state = TaskState::from_number(row.get(1)?).unwrap_or_default();
        Ok((rows::parsed(row, 0, AgentName::parse)?, state, row.get(2)?))
    })?;
    Ok(counts.collect::<Result<_, _>>()?)
}

/// What the clock did: a lease that ran out, or a time limit of the task.
fn due(db: &Connection, now: Timestamp, most: usize) -> Result<Vec<(TaskId, Input)>, Error> {
    let mut statement = db.prepare_cached(LIST_DUE)?;
    let due = statement.query_map(params![now.as_millis(), most], |row| {
        let lapsed = rows::optional_time(row, 1)?.is_some_and(|until| until <= now);
        let over = [rows::optional_time(row, 3)?, rows::optional_time(row, 4)?];
        let over = over.into_iter().flatten().any(|at| at <= now);
        let input = if lapsed && !over {
            Input::LeaseLapsed { attempt: row.get(2)?, loss: LeaseLoss::Expired }
        } else {
            Input::DeadlinePassed
        };
        Ok((rows::id(row, 0)?, input))
    })?;
    Ok(due.collect::<Result<_, _>>()?)
}

/// Ended tasks that have events. Looked for by a reader, since it takes long where there are many: what has ended stays
/// so until the writer comes to it.
fn prunable(db: &Connection, before: Timestamp, most: usize) -> Result<Vec<TaskId>, Error> {
    let mut statement = db.prepare_cached(LIST_PRUNABLE)?;
    let found = statement.query_map(params![before.as_millis(), most], |row| rows::id(row, 0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Deletes the events of ended tasks, and to whom they were pushed; messages, artifacts and attempts, and so the snapshot,
/// stay.
pub fn prune(db: &Connection, tasks: &[TaskId]) -> Result<usize, Error> {
    for id in tasks {
        let key = db.prepare_cached(MARK_PRUNED)?.query_row([id.as_bytes()], |row| row.get(0))?;
        log::prune(db, key)?;
        db.prepare_cached(PRUNE_PUSH_CONFIGS)?.execute([id.as_bytes()])?;
        db.prepare_cached(PRUNE_DELIVERIES)?.execute([id.as_bytes()])?;
    }
    Ok(tasks.len())
}
