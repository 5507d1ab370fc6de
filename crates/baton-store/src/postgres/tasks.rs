//! The verbs of [`Tasks`].

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::ident::{AgentName, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{Event, Input, LeaseLoss, Snapshot, Task};
use baton_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::failure::Failure;
use super::log::{self, PRUNE_EVENTS};
use super::pool::{Ask, Tx, Work};
use super::rows::{count, escaped, id, int, number, optional_time, time, unreadable, uuid};
use super::writer::Write;
use super::{Postgres, list, read};
use crate::stored::task::NODE_GRACE_MS;
use crate::{
    Applied, AttemptRecord, By, Claim, Claimed, Error, ListAllQuery, ListQuery, Op, Page, Retire, Status,
    Tasks,
};

/// With the time by which they are due.
pub const LIST_DUE: &str = "-- store.list_due
WITH moment AS MATERIALIZED (SELECT coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)
SELECT id, lease_until, attempt, deadline, answer_until, (SELECT now FROM moment) FROM task
WHERE due_at <= (SELECT now FROM moment) ORDER BY due_at LIMIT $2";

pub const NEXT_READY: &str = "-- store.next_ready
SELECT CASE WHEN EXISTS (SELECT 1 FROM task WHERE agent = $1 AND phase = 'ready' AND queued) THEN 0
    ELSE (SELECT min(not_before) FROM task WHERE agent = $1 AND phase = 'ready' AND NOT queued) END";

pub const LIST_OPEN_OF_REVOKED: &str = r#"-- store.list_open_of_revoked
SELECT task.id FROM "grant" JOIN scope ON scope.grant_id = "grant".id JOIN task ON task.scope = scope.key
WHERE "grant".state IN ('revoked', 'expired') AND phase IN ('ready', 'running', 'interrupted') AND NOT cancel_requested
ORDER BY task.id LIMIT $1"#;

/// In the order in which writers lock tasks.
pub const RENEW: &str = "-- store.renew
WITH moment AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2 AS until),
held AS (SELECT key AS held_key FROM task WHERE holder = $1 AND holder IS NOT NULL AND holder_kind = 'node' ORDER BY id FOR UPDATE)
UPDATE task SET lease_until = moment.until, due_at = least(moment.until, deadline + $3, answer_until)
FROM held, moment WHERE task.key = held_key RETURNING task.key";

pub const LIST_PRUNABLE: &str = "-- store.list_prunable
SELECT id FROM task
WHERE NOT pruned AND status_at < $1 AND phase NOT IN ('ready', 'running', 'interrupted')
ORDER BY status_at LIMIT $2 FOR UPDATE SKIP LOCKED";

const MARK_PRUNED: &str = "-- store.mark_pruned
UPDATE task SET pruned = TRUE WHERE id = ANY ($1)";

pub const DELETE_PUSH_CONFIGS: &str = "-- store.delete_push_configs
DELETE FROM push_config WHERE task_id = ANY ($1)";

pub const DELETE_DELIVERIES: &str = "-- store.delete_deliveries_of_tasks
DELETE FROM delivery WHERE task_id = ANY ($1)";

const SUM_COUNTS: &str = "-- store.sum_counts
SELECT agent, shown_state, sum(n)::bigint
FROM (SELECT * FROM task_count UNION ALL SELECT * FROM task_count_delta) AS kept JOIN scope ON scope.key = kept.scope
GROUP BY agent, shown_state HAVING sum(n) <> 0 ORDER BY agent, shown_state";

const PING: &str = "-- store.ping
SELECT 1::bigint";

#[async_trait]
impl Tasks for Postgres {
    async fn apply(&self, op: Op) -> Result<Applied, Error> {
        self.inner.writer.write(|reply| Write::Apply(Box::new(op), reply)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, Error> {
        self.inner.writer.write(|reply| Write::Claim(Box::new(claim), reply)).await
    }

    async fn find(&self, by: &By, id: TaskId) -> Result<Option<Arc<Snapshot>>, Error> {
        let found = read::find_snapshot(&*self.inner.connections, id).await?;
        Ok(found.filter(|snapshot| by.sees(&snapshot.task)).map(Arc::new))
    }

    async fn find_head(&self, by: &By, id: TaskId) -> Result<Option<Arc<Task>>, Error> {
        let found = read::find_task(&*self.inner.connections, id).await?;
        Ok(found.map(|kept| kept.task).filter(|task| by.sees(task)))
    }

    async fn list(&self, query: ListQuery) -> Result<Page, Error> {
        Ok(list::page(&*self.inner.connections, &query).await?)
    }

    async fn list_all(&self, query: ListAllQuery) -> Result<Page, Error> {
        Ok(list::page_of_all(&*self.inner.connections, &query).await?)
    }

    async fn events(&self, id: TaskId, after: u64, most: usize) -> Result<Vec<Arc<Event>>, Error> {
        Ok(log::events(&*self.inner.connections, id, after, most).await?)
    }

    async fn attempts(&self, id: TaskId) -> Result<Vec<AttemptRecord>, Error> {
        Ok(log::attempts(&*self.inner.connections, id).await?)
    }

    async fn due(&self, now: Timestamp, most: usize) -> Result<Vec<(TaskId, Input)>, Error> {
        let db = &*self.inner.connections;
        let rows = db.query(LIST_DUE, &[&db.judged(now), &int(most)]).await?;
        Ok(rows.iter().map(due).collect::<Result<_, Failure>>()?)
    }

    /// A node of which nothing is heard any more loses its leases; another that starts knows nothing of it.
    async fn orphaned(&self, _: &str, _: usize) -> Result<Vec<(TaskId, u32)>, Error> {
        Ok(Vec::new())
    }

    async fn next_ready(&self, agent: &AgentName) -> Result<Option<Timestamp>, Error> {
        let row = self.inner.connections.one(NEXT_READY, &[&agent.as_str()]).await?;
        Ok(optional_time(&row, 0)?)
    }

    async fn open_of_revoked(&self, most: usize) -> Result<Vec<TaskId>, Error> {
        let rows = self.inner.connections.query(LIST_OPEN_OF_REVOKED, &[&int(most)]).await?;
        Ok(rows.iter().map(|row| id(row, 0)).collect::<Result<_, _>>()?)
    }

    async fn prune_events(&self, before: Timestamp, most: usize) -> Result<usize, Error> {
        self.inner.connections.run("prune_events", &PruneEvents { before, most }).await
    }

    async fn retire(&self, retire: Retire) -> Result<Vec<TaskId>, Error> {
        self.inner.connections.run("retire", &retire).await
    }

    async fn status(&self) -> Result<Status, Error> {
        let counters = &self.inner.counters;
        let (commits, operations) =
            (counters.commits.load(Ordering::Relaxed), counters.operations.load(Ordering::Relaxed));
        let rows = self.inner.connections.query(SUM_COUNTS, &[]).await?;
        let tasks = rows.iter().map(counted).collect::<Result<_, Failure>>()?;
        Ok(Status { commits, operations, tasks })
    }

    fn shared(&self) -> bool {
        true
    }

    async fn renew(&self, boot: &str, lease: Duration) -> Result<usize, Error> {
        let bind: super::rows::Bind<'_> = &[&escaped(boot), &int(lease.as_millis()), &NODE_GRACE_MS];
        Ok(self.inner.connections.query(RENEW, bind).await?.len())
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(self.inner.connections.one(PING, &[]).await.map(drop)?)
    }
}

/// What the clock did: a lease that ran out, or a time limit of the task.
fn due(row: &Row) -> Result<(TaskId, Input), Failure> {
    let now = time(row, 5)?;
    let lapsed = optional_time(row, 1)?.is_some_and(|until| until <= now);
    let over = [optional_time(row, 3)?, optional_time(row, 4)?];
    let over = over.into_iter().flatten().any(|at| at <= now);
    let input = if lapsed && !over {
        Input::LeaseLapsed { attempt: number(row, 2)?, loss: LeaseLoss::Expired }
    } else {
        Input::DeadlinePassed
    };
    Ok((id(row, 0)?, input))
}

fn counted(row: &Row) -> Result<(AgentName, TaskState, u64), Failure> {
    let agent = AgentName::parse(row.try_get(0)?).map_err(|why| unreadable(&why.to_string()))?;
    let state = TaskState::from_number(number(row, 1)?).unwrap_or_default();
    Ok((agent, state, count(row, 2)?))
}

/// Deletes the events of ended tasks, and to whom they were pushed; messages, artifacts and attempts, and so the snapshot,
/// stay. What another node prunes at the same time is left to it.
struct PruneEvents {
    before: Timestamp,
    most: usize,
}

#[async_trait]
impl Work for PruneEvents {
    type Answer = usize;

    async fn run(&self, tx: &Tx<'_>) -> Result<usize, Failure> {
        let found = tx.query(LIST_PRUNABLE, &[&self.before.as_millis(), &int(self.most)]).await?;
        let ids = found.iter().map(|row| id(row, 0).map(uuid)).collect::<Result<Vec<Uuid>, _>>()?;
        if !ids.is_empty() {
            for sql in [MARK_PRUNED, PRUNE_EVENTS, DELETE_PUSH_CONFIGS, DELETE_DELIVERIES] {
                tx.execute(sql, &[&ids]).await?;
            }
        }
        Ok(ids.len())
    }
}
