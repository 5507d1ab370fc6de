//! Pages of an owner's tasks.
//!
//! Without a filter, the page is merged from one index range per state, newest first: the same index serves the state
//! filter, and every change of state touches one index less.

use std::sync::Arc;

use baton_core::model::TaskState;
use rusqlite::{Connection, ToSql, params};

use super::{read, rows};
use crate::{Error, ListQuery, Page, Position};

const SHOWN: [TaskState; 8] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::InputRequired,
    TaskState::Rejected,
    TaskState::AuthRequired,
];

pub(super) const LIST_BY_STATE: &str = "-- store.list_by_state
SELECT status_at, id FROM task
WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND shown_state = ?4 AND status_at >= ?5
    AND (status_at, id) < (?6, ?7)
ORDER BY status_at DESC, id DESC LIMIT ?8";

pub(super) const LIST_BY_CONTEXT: &str = "-- store.list_by_context
SELECT status_at, id FROM task
WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND context_id = ?4 AND status_at >= ?5
    AND (status_at, id) < (?6, ?7) AND shown_state BETWEEN ?8 AND ?9
ORDER BY status_at DESC, id DESC LIMIT ?10";

pub(super) const COUNT_KEPT: &str = "-- store.count_kept
SELECT coalesce(sum(n), 0) FROM task_count
WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND shown_state BETWEEN ?4 AND ?5";

pub(super) const COUNT_SINCE: &str = "-- store.count_since
SELECT count(*) FROM task
WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND shown_state = ?4 AND status_at >= ?5";

pub(super) const COUNT_CONTEXT: &str = "-- store.count_context
SELECT count(*) FROM task
WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND context_id = ?4 AND status_at >= ?5
    AND shown_state BETWEEN ?6 AND ?7";

const FIND_TASK: &str = "-- store.find_task
SELECT {} FROM task WHERE id = ?1";

pub fn page(db: &Connection, query: &ListQuery) -> Result<Page, Error> {
    let mut found = positions(db, query)?;
    let more = found.len() > query.size;
    found.truncate(query.size);
    let next = found.last().copied().filter(|_| more);
    let sql = FIND_TASK.replace("{}", rows::TASK);
    let mut tasks = Vec::with_capacity(found.len());
    for position in found {
        let task = db.prepare_cached(&sql)?.query_row([position.id.as_bytes()], rows::task)?;
        tasks.push(Arc::new(read::snapshot_of(db, task)?));
    }
    Ok(Page { tasks, next, total: total(db, query)? })
}

/// One more than a page, in order.
fn positions(db: &Connection, query: &ListQuery) -> Result<Vec<Position>, Error> {
    let since = query.since.map_or(i64::MIN, baton_core::time::Timestamp::as_millis);
    let after = query.after.map_or((i64::MAX, [0xff; 16]), |at| (at.at.as_millis(), *at.id.as_bytes()));
    let (agent, grant, subject) = (query.agent.as_str(), &*query.owner.grant, &*query.owner.subject);
    let most = query.size + 1;
    if let Some(context) = &query.context {
        let (low, high) = states(query);
        let bind = params![agent, grant, subject, context.as_str(), since, after.0, after.1, low, high, most];
        return collect(db, LIST_BY_CONTEXT, bind);
    }
    let mut found = Vec::new();
    for state in SHOWN.into_iter().filter(|state| query.state.is_none_or(|wanted| wanted == *state)) {
        let bind = params![agent, grant, subject, state.number(), since, after.0, after.1, most];
        found.extend(collect(db, LIST_BY_STATE, bind)?);
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(most);
    Ok(found)
}

fn collect(db: &Connection, sql: &str, bind: &[&dyn ToSql]) -> Result<Vec<Position>, Error> {
    let mut statement = db.prepare_cached(sql)?;
    let found =
        statement.query_map(bind, |row| Ok(Position { at: rows::time(row, 0)?, id: rows::id(row, 1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The range of states that match; direct messages, which are 0, never do.
fn states(query: &ListQuery) -> (i32, i32) {
    match query.state {
        None => (1, 8),
        // No client's task: nothing lies between these.
        Some(TaskState::Unspecified) => (1, 0),
        Some(state) => (state.number(), state.number()),
    }
}

fn total(db: &Connection, query: &ListQuery) -> Result<u64, Error> {
    let (agent, grant, subject) = (query.agent.as_str(), &*query.owner.grant, &*query.owner.subject);
    let (low, high) = states(query);
    let since = query.since.map(baton_core::time::Timestamp::as_millis);
    let one = |sql: &str, bind: &[&dyn ToSql]| -> Result<u64, Error> {
        Ok(db.prepare_cached(sql)?.query_row(bind, |row| row.get(0))?)
    };
    match (&query.context, since) {
        (Some(context), since) => {
            let since = since.unwrap_or(i64::MIN);
            one(COUNT_CONTEXT, params![agent, grant, subject, context.as_str(), since, low, high])
        }
        (None, None) => one(COUNT_KEPT, params![agent, grant, subject, low, high]),
        (None, Some(since)) => {
            (low..=high).map(|state| one(COUNT_SINCE, params![agent, grant, subject, state, since])).sum()
        }
    }
}
