//! Retention: tasks that are over and need not be kept are deleted, with all that is kept of them.

use std::collections::HashMap;

use async_trait::async_trait;
use baton_core::ident::TaskId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::failure::Failure;
use super::log::DELETE_EVENTS;
use super::pool::{Ask as _, Tx, Work};
use super::rows::{id, int};
use super::tasks::{DELETE_DELIVERIES, DELETE_PUSH_CONFIGS};
use crate::Retire;

/// Oldest first; whoever still waits for a notification gets it first. What another node retires at the same time is left
/// to it.
pub const LIST_AGED: &str = "-- store.list_aged
SELECT id, key, scope, shown_state FROM task WHERE key IN (
    SELECT found.key FROM scope CROSS JOIN unnest('{0,3,4,5,7}'::bigint[]) AS over (state) CROSS JOIN LATERAL (
        SELECT key, status_at FROM task WHERE task.scope = scope.key AND shown_state = over.state AND status_at < $2
            AND NOT EXISTS (SELECT 1 FROM push_config WHERE task_id = task.id AND due_at IS NOT NULL)
        ORDER BY status_at LIMIT $3) AS found
    WHERE scope.agent = $1 ORDER BY found.status_at LIMIT $3)
ORDER BY key FOR UPDATE SKIP LOCKED";

pub const COUNT_OVER: &str = "-- store.count_over
SELECT coalesce(sum(n), 0)::bigint FROM scope
    JOIN (SELECT * FROM task_count UNION ALL SELECT * FROM task_count_delta) AS kept ON kept.scope = scope.key
WHERE agent = $1 AND shown_state IN (0, 3, 4, 5, 7)";

pub const LIST_OLDEST: &str = "-- store.list_oldest
SELECT id, key, scope, shown_state FROM task
WHERE agent = $1 AND phase NOT IN ('ready', 'running', 'interrupted')
    AND NOT EXISTS (SELECT 1 FROM push_config WHERE task_id = task.id AND due_at IS NOT NULL)
ORDER BY key LIMIT $2 FOR UPDATE SKIP LOCKED";

const DELETE_TASKS: &str = "-- store.delete_tasks
DELETE FROM task WHERE key = ANY ($1)";

const TAKE_COUNTS: &str = "-- store.take_counts
INSERT INTO task_count_delta (scope, shown_state, n) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])";

/// A task that is to be deleted.
struct Over {
    id: TaskId,
    key: i64,
    of: (i64, i64),
}

impl Over {
    fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self { id: id(row, 0)?, key: row.try_get(1)?, of: (row.try_get(2)?, row.try_get(3)?) })
    }
}

/// Locks what can be deleted.
async fn find(tx: &Tx<'_>, retire: &Retire) -> Result<Vec<Over>, Failure> {
    let (agent, most) = (retire.agent.as_str(), int(retire.most));
    if let Some(before) = retire.before {
        let rows = tx.query(LIST_AGED, &[&agent, &before.as_millis(), &most]).await?;
        if !rows.is_empty() {
            return rows.iter().map(Over::read).collect();
        }
    }
    let Some(beyond) = retire.beyond else { return Ok(Vec::new()) };
    let over: i64 = tx.one(COUNT_OVER, &[&agent]).await?.try_get(0)?;
    let excess = over.saturating_sub(int(beyond)).min(most);
    if excess <= 0 {
        return Ok(Vec::new());
    }
    let rows = tx.query(LIST_OLDEST, &[&agent, &excess]).await?;
    rows.iter().map(Over::read).collect()
}

#[async_trait]
impl Work for Retire {
    type Answer = Vec<TaskId>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Vec<TaskId>, Failure> {
        let over = find(tx, self).await?;
        if over.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<i64> = over.iter().map(|task| task.key).collect();
        let ids: Vec<Uuid> = over.iter().map(|task| super::rows::uuid(task.id)).collect();
        tx.execute(DELETE_TASKS, &[&keys]).await?;
        tx.execute(DELETE_EVENTS, &[&keys]).await?;
        for sql in [DELETE_PUSH_CONFIGS, DELETE_DELIVERIES] {
            tx.execute(sql, &[&ids]).await?;
        }
        let mut counts: HashMap<(i64, i64), i64> = HashMap::new();
        for task in &over {
            *counts.entry(task.of).or_default() -= 1;
        }
        let (of, by): (Vec<_>, Vec<i64>) = counts.into_iter().unzip();
        let (scopes, states): (Vec<i64>, Vec<i64>) = of.into_iter().unzip();
        tx.execute(TAKE_COUNTS, &[&scopes, &states, &by]).await?;
        Ok(over.into_iter().map(|task| task.id).collect())
    }
}
