//! Pages of an owner's tasks.
//!
//! Without a filter, the page is merged from one index range per state, newest first: the same index serves the state
//! filter, and every change of state touches one index less.

use baton_core::ident::{AgentName, TaskId};
use baton_core::model::TaskState;
use baton_core::time::Timestamp;
use uuid::Uuid;

use super::failure::Failure;
use super::pool::Ask;
use super::rows::{Bind, count, escaped, id, int, time, uuid};
use super::{read, scope};
use crate::{ListAllQuery, ListQuery, Page, Position};

pub const LIST_BY_STATE: &str = "-- store.list_by_state
SELECT found.status_at, found.id FROM unnest($2::bigint[]) AS wanted (shown_state) CROSS JOIN LATERAL (
    SELECT status_at, id FROM task
    WHERE scope = $1 AND shown_state = wanted.shown_state AND status_at >= $3 AND (status_at, id) < ($4, $5)
    ORDER BY status_at DESC, id DESC LIMIT $6) AS found
ORDER BY found.status_at DESC, found.id DESC LIMIT $6";

pub const LIST_BY_CONTEXT: &str = "-- store.list_by_context
SELECT status_at, id FROM task
WHERE scope = $1 AND context_id = $2 AND status_at >= $3 AND (status_at, id) < ($4, $5)
    AND shown_state BETWEEN $6 AND $7
ORDER BY status_at DESC, id DESC LIMIT $8";

pub const COUNT_KEPT: &str = "-- store.count_kept
SELECT coalesce(sum(n), 0)::bigint FROM (
    SELECT n FROM task_count WHERE scope = $1 AND shown_state BETWEEN $2 AND $3
    UNION ALL SELECT n FROM task_count_delta WHERE scope = $1 AND shown_state BETWEEN $2 AND $3) AS kept";

pub const COUNT_SINCE: &str = "-- store.count_since
SELECT count(*) FROM unnest($2::bigint[]) AS wanted (shown_state)
    JOIN task ON scope = $1 AND task.shown_state = wanted.shown_state AND status_at >= $3";

pub const COUNT_CONTEXT: &str = "-- store.count_context
SELECT count(*) FROM task
WHERE scope = $1 AND context_id = $2 AND status_at >= $3 AND shown_state BETWEEN $4 AND $5";

/// Along the identifiers. Most tasks are shown to a list without a filter, and to that of the completed ones.
pub const LIST_ALL: &str = "-- store.list_all
SELECT created_at, id FROM task
WHERE id < $1 AND ($2::text IS NULL OR agent = $2) AND shown_state BETWEEN $3 AND $4
ORDER BY id DESC LIMIT $5";

/// The other states have an index of their own.
pub const LIST_ALL_OF_STATE: &str = "-- store.list_all_of_state
SELECT created_at, id FROM task
WHERE shown_state = $1 AND shown_state <> 0 AND shown_state <> 3 AND id < $2 AND ($3::text IS NULL OR agent = $3)
ORDER BY id DESC LIMIT $4";

const COUNT_ALL: &str = "-- store.count_all
SELECT coalesce(sum(n), 0)::bigint FROM (SELECT * FROM task_count UNION ALL SELECT * FROM task_count_delta) AS kept
    JOIN scope ON scope.key = kept.scope
WHERE ($1::text IS NULL OR agent = $1) AND shown_state BETWEEN $2 AND $3";

/// Larger than every identifier.
const LAST: Uuid = Uuid::max();

/// A page of an owner's tasks.
pub async fn page(db: &impl Ask, query: &ListQuery) -> Result<Page, Failure> {
    // An owner without a task is not known here.
    let Some(scope) = scope::find(db, &query.agent, &query.owner).await? else { return Ok(Page::default()) };
    let (found, next) = cut(positions(db, scope, query).await?, query.size);
    let tasks = read::excerpts(db, &ids(&found), query.content, false).await?;
    Ok(Page { tasks, next, total: total(db, scope, query).await? })
}

/// Everybody's tasks. Identifiers grow with time, so that their order is that of creation.
pub async fn page_of_all(db: &impl Ask, query: &ListAllQuery) -> Result<Page, Failure> {
    let after = query.after.map_or(LAST, |at| uuid(at.id));
    let agent = query.agent.as_ref().map(AgentName::as_str);
    let (low, high) = states(query.state);
    let most = int(query.size + 1);
    let found = match query.state {
        None | Some(TaskState::Completed | TaskState::Unspecified) => {
            collect(db, LIST_ALL, &[&after, &agent, &low, &high, &most]).await?
        }
        Some(state) => {
            collect(db, LIST_ALL_OF_STATE, &[&i64::from(state.number()), &after, &agent, &most]).await?
        }
    };
    let (found, next) = cut(found, query.size);
    let total = count(&db.one(COUNT_ALL, &[&agent, &low, &high]).await?, 0)?;
    let tasks = read::excerpts(db, &ids(&found), query.content, true).await?;
    Ok(Page { tasks, next, total })
}

/// Positions of a statement whose columns are a time and an id.
pub async fn collect(db: &impl Ask, sql: &str, bind: Bind<'_>) -> Result<Vec<Position>, Failure> {
    let rows = db.query(sql, bind).await?;
    rows.iter().map(|row| Ok(Position { at: time(row, 0)?, id: id(row, 1)? })).collect()
}

pub fn ids(positions: &[Position]) -> Vec<TaskId> {
    positions.iter().map(|position| position.id).collect()
}

/// A page of one more than fit, and where the next begins.
fn cut(mut found: Vec<Position>, size: usize) -> (Vec<Position>, Option<Position>) {
    let more = found.len() > size;
    found.truncate(size);
    let next = found.last().copied().filter(|_| more);
    (found, next)
}

/// One more than a page, in order.
async fn positions(db: &impl Ask, scope: i64, query: &ListQuery) -> Result<Vec<Position>, Failure> {
    let since = query.since.map_or(i64::MIN, Timestamp::as_millis);
    let (at, id) = query.after.map_or((i64::MAX, LAST), |after| (after.at.as_millis(), uuid(after.id)));
    let most = int(query.size + 1);
    if let Some(context) = &query.context {
        let (low, high) = states(query.state);
        let context = escaped(context.as_str());
        let bind: Bind<'_> = &[&scope, &context, &since, &at, &id, &low, &high, &most];
        return collect(db, LIST_BY_CONTEXT, bind).await;
    }
    collect(db, LIST_BY_STATE, &[&scope, &numbers(query.state), &since, &at, &id, &most]).await
}

/// The states that match, one by one.
fn numbers(state: Option<TaskState>) -> Vec<i64> {
    let (low, high) = states(state);
    (low..=high).collect()
}

/// The range of states that match; direct messages, which are 0, never do.
fn states(state: Option<TaskState>) -> (i64, i64) {
    match state {
        None => (1, 8),
        // No client's task: nothing lies between these.
        Some(TaskState::Unspecified) => (1, 0),
        Some(state) => (i64::from(state.number()), i64::from(state.number())),
    }
}

async fn total(db: &impl Ask, scope: i64, query: &ListQuery) -> Result<u64, Failure> {
    let (low, high) = states(query.state);
    let since = query.since.map(Timestamp::as_millis);
    let row = match (&query.context, since) {
        (Some(context), since) => {
            let (context, since) = (escaped(context.as_str()), since.unwrap_or(i64::MIN));
            db.one(COUNT_CONTEXT, &[&scope, &context, &since, &low, &high]).await?
        }
        (None, None) => db.one(COUNT_KEPT, &[&scope, &low, &high]).await?,
        (None, Some(since)) => db.one(COUNT_SINCE, &[&scope, &numbers(query.state), &since]).await?,
    };
    count(&row, 0)
}
