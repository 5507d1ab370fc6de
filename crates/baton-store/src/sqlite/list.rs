//! Pages of an owner's tasks.
//!
//! Without a filter, the page is merged from one index range per state, newest first: the same index serves the state
//! filter, and every change of state touches one index less.

use std::sync::Arc;

use baton_core::model::TaskState;
use baton_core::task::Snapshot;
use rusqlite::{Connection, ToSql, params};

use super::{log, read, rows, scope};
use crate::{Content, Error, ListAllQuery, ListQuery, Page, Position};

pub(super) const LIST_BY_STATE: &str = "-- store.list_by_state
SELECT status_at, id FROM task
WHERE scope = ?1 AND shown_state = ?2 AND status_at >= ?3 AND (status_at, id) < (?4, ?5)
ORDER BY status_at DESC, id DESC LIMIT ?6";

pub(super) const LIST_BY_CONTEXT: &str = "-- store.list_by_context
SELECT status_at, id FROM task
WHERE scope = ?1 AND context_id = ?2 AND status_at >= ?3 AND (status_at, id) < (?4, ?5)
    AND shown_state BETWEEN ?6 AND ?7
ORDER BY status_at DESC, id DESC LIMIT ?8";

pub(super) const COUNT_KEPT: &str = "-- store.count_kept
SELECT coalesce(sum(n), 0) FROM task_count
WHERE scope = ?1 AND shown_state BETWEEN ?2 AND ?3";

pub(super) const COUNT_SINCE: &str = "-- store.count_since
SELECT count(*) FROM task
WHERE scope = ?1 AND shown_state = ?2 AND status_at >= ?3";

pub(super) const COUNT_CONTEXT: &str = "-- store.count_context
SELECT count(*) FROM task
WHERE scope = ?1 AND context_id = ?2 AND status_at >= ?3 AND shown_state BETWEEN ?4 AND ?5";

pub fn page(db: &Connection, query: &ListQuery) -> Result<Page, Error> {
    // An owner without a task is not known here.
    let Some(scope) = scope::find(db, &query.agent, &query.owner)? else { return Ok(Page::default()) };
    let mut found = positions(db, scope, query)?;
    let more = found.len() > query.size;
    found.truncate(query.size);
    let next = found.last().copied().filter(|_| more);
    let tasks = load(db, &found, query.content)?;
    Ok(Page { tasks, next, total: total(db, scope, query)? })
}

/// Along the identifiers. Most tasks are shown to a list without a filter, and to that of the completed ones.
pub(super) const LIST_ALL: &str = "-- store.list_all
SELECT created_at, id FROM task
WHERE id < ?1 AND (?2 IS NULL OR agent = ?2) AND shown_state BETWEEN ?3 AND ?4
ORDER BY id DESC LIMIT ?5";

/// Tasks that wait, or are worked on: from every owner's index, so that no index of its own changes with each step.
pub(super) const LIST_ALL_AT_WORK: &str = "-- store.list_all_at_work
SELECT created_at, id FROM task
WHERE id IN (SELECT task.id FROM scope CROSS JOIN task ON task.scope = scope.key
    WHERE shown_state = ?1 AND task.id < ?2 AND (?3 IS NULL OR scope.agent = ?3)
    ORDER BY task.id DESC LIMIT ?4)
ORDER BY id DESC";

/// The other states have an index of their own.
pub(super) const LIST_ALL_OF_STATE: &str = "-- store.list_all_of_state
SELECT created_at, id FROM task
WHERE shown_state = ?1 AND shown_state > 3 AND id < ?2 AND (?3 IS NULL OR agent = ?3)
ORDER BY id DESC LIMIT ?4";

const COUNT_ALL: &str = "-- store.count_all
SELECT coalesce(sum(n), 0) FROM scope JOIN task_count ON task_count.scope = scope.key
WHERE (?1 IS NULL OR agent = ?1) AND shown_state BETWEEN ?2 AND ?3";

/// Everybody's tasks. Identifiers grow with time, so that their order is that of creation.
pub fn page_of_all(db: &Connection, query: &ListAllQuery) -> Result<Page, Error> {
    let after = query.after.map_or([0xff; 16], |at| *at.id.as_bytes());
    let agent = query.agent.as_ref().map(baton_core::ident::AgentName::as_str);
    let (low, high) = states(query.state);
    let mut found = match query.state {
        None | Some(TaskState::Completed | TaskState::Unspecified) => {
            collect(db, LIST_ALL, params![after, agent, low, high, query.size + 1])?
        }
        Some(state @ (TaskState::Submitted | TaskState::Working)) => {
            collect(db, LIST_ALL_AT_WORK, params![state.number(), after, agent, query.size + 1])?
        }
        Some(state) => collect(db, LIST_ALL_OF_STATE, params![state.number(), after, agent, query.size + 1])?,
    };
    let more = found.len() > query.size;
    found.truncate(query.size);
    let next = found.last().copied().filter(|_| more);
    let total = db.prepare_cached(COUNT_ALL)?.query_row(params![agent, low, high], |row| row.get(0))?;
    Ok(Page { tasks: load_for_operator(db, &found, query.content)?, next, total })
}

/// These tasks, each with its first message too, which says what it is about.
pub fn load_for_operator(
    db: &Connection,
    found: &[Position],
    content: Content,
) -> Result<Vec<Arc<Snapshot>>, Error> {
    let mut tasks = Vec::with_capacity(found.len());
    for position in found {
        let Some((key, task)) = rows::find_task(db, position.id)? else { continue };
        let mut snapshot = read::excerpt_of(db, key, task, content)?;
        let first = log::first_message(db, key)?;
        let known = snapshot.messages.first().map(|(seq, _)| *seq);
        if let Some(first) = first.filter(|(seq, _)| known != Some(*seq)) {
            snapshot.messages.insert(0, first);
        }
        tasks.push(Arc::new(snapshot));
    }
    Ok(tasks)
}

fn load(db: &Connection, positions: &[Position], content: Content) -> Result<Vec<Arc<Snapshot>>, Error> {
    let mut tasks = Vec::with_capacity(positions.len());
    for position in positions {
        if let Some((key, task)) = rows::find_task(db, position.id)? {
            tasks.push(Arc::new(read::excerpt_of(db, key, task, content)?));
        }
    }
    Ok(tasks)
}

/// One more than a page, in order.
fn positions(db: &Connection, scope: i64, query: &ListQuery) -> Result<Vec<Position>, Error> {
    let since = query.since.map_or(i64::MIN, baton_core::time::Timestamp::as_millis);
    let after = query.after.map_or((i64::MAX, [0xff; 16]), |at| (at.at.as_millis(), *at.id.as_bytes()));
    let most = query.size + 1;
    if let Some(context) = &query.context {
        let (low, high) = states(query.state);
        let bind = params![scope, context.as_str(), since, after.0, after.1, low, high, most];
        return collect(db, LIST_BY_CONTEXT, bind);
    }
    let mut found = Vec::new();
    let shown = TaskState::ALL.iter().filter(|state| **state != TaskState::Unspecified);
    for state in shown.filter(|state| query.state.is_none_or(|wanted| wanted == **state)) {
        let bind = params![scope, state.number(), since, after.0, after.1, most];
        found.extend(collect(db, LIST_BY_STATE, bind)?);
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(most);
    Ok(found)
}

pub fn collect(db: &Connection, sql: &str, bind: &[&dyn ToSql]) -> Result<Vec<Position>, Error> {
    let mut statement = db.prepare_cached(sql)?;
    let found =
        statement.query_map(bind, |row| Ok(Position { at: rows::time(row, 0)?, id: rows::id(row, 1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The range of states that match; direct messages, which are 0, never do.
fn states(state: Option<TaskState>) -> (i32, i32) {
    match state {
        None => (1, 8),
        // No client's task: nothing lies between these.
        Some(TaskState::Unspecified) => (1, 0),
        Some(state) => (state.number(), state.number()),
    }
}

fn total(db: &Connection, scope: i64, query: &ListQuery) -> Result<u64, Error> {
    let (low, high) = states(query.state);
    let since = query.since.map(baton_core::time::Timestamp::as_millis);
    let one = |sql: &str, bind: &[&dyn ToSql]| -> Result<u64, Error> {
        Ok(db.prepare_cached(sql)?.query_row(bind, |row| row.get(0))?)
    };
    match (&query.context, since) {
        (Some(context), since) => {
            let since = since.unwrap_or(i64::MIN);
            one(COUNT_CONTEXT, params![scope, context.as_str(), since, low, high])
        }
        (None, None) => one(COUNT_KEPT, params![scope, low, high]),
        (None, Some(since)) => (low..=high).map(|state| one(COUNT_SINCE, params![scope, state, since])).sum(),
    }
}
