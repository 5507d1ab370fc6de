//! What is read with content. A statement sees one state of the database: a task and its content go together.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use baton_core::ident::TaskId;
use baton_core::task::Snapshot;
use tokio_postgres::Row;

use super::failure::Failure;
use super::pool::Ask;
use super::rows::{CONTENT, Kept, TASK, TASK_COLUMNS, int, snapshot, task, uuid};
use crate::Content;
use crate::stored::event::{self, Said};

pub static FIND_TASK: LazyLock<String> = LazyLock::new(|| {
    format!("-- store.find_task\nSELECT {TASK} FROM task JOIN scope ON scope.key = task.scope WHERE id = $1")
});

static FIND_SNAPSHOT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.find_snapshot\nSELECT {TASK}, {CONTENT} FROM task JOIN scope ON scope.key = task.scope WHERE id = $1"
    )
});

/// Much of each: everything, the newest messages, the first one.
pub static LIST_EXCERPTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_excerpts
SELECT {TASK}, CASE WHEN $2 THEN {CONTENT} END,
    CASE WHEN $3 > 0::bigint THEN (SELECT array_agg(newest.events ORDER BY newest.key DESC) FROM (
        SELECT event.key, events FROM event WHERE event.key > task.key << 14
            AND event.key <= (task.key << 14) + 16383 AND (holds & 1) <> 0 ORDER BY event.key DESC LIMIT $3) AS newest) END,
    CASE WHEN $4 THEN (SELECT events FROM event WHERE event.key > task.key << 14
        AND event.key <= (task.key << 14) + 16383 AND (holds & 1) <> 0 ORDER BY event.key LIMIT 1) END
FROM task JOIN scope ON scope.key = task.scope WHERE id = ANY ($1)"
    )
});

/// A task without its content.
pub async fn find_task(db: &impl Ask, id: TaskId) -> Result<Option<Kept>, Failure> {
    db.first(&FIND_TASK, &[&uuid(id)]).await?.as_ref().map(task).transpose()
}

/// A task with its content.
pub async fn find_snapshot(db: &impl Ask, id: TaskId) -> Result<Option<Snapshot>, Failure> {
    db.first(&FIND_SNAPSHOT, &[&uuid(id)]).await?.as_ref().map(snapshot).transpose()
}

/// These tasks in their order, each with as much of its content as a page shows. `first`: with its first message too,
/// which says what it is about.
pub async fn excerpts(
    db: &impl Ask,
    ids: &[TaskId],
    content: Content,
    first: bool,
) -> Result<Vec<Arc<Snapshot>>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let asked: Vec<_> = ids.iter().copied().map(uuid).collect();
    // One more: the newest may be the status' own.
    let newest =
        if content.artifacts || content.messages == 0 { 0 } else { content.messages.saturating_add(1) };
    let rows = db.query(&LIST_EXCERPTS, &[&asked, &content.artifacts, &int(newest), &first]).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let snapshot = excerpt(&row, newest)?;
        found.insert(snapshot.task.id, Arc::new(snapshot));
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

fn excerpt(row: &Row, newest: usize) -> Result<Snapshot, Failure> {
    let mut excerpt = snapshot(row)?;
    if newest > 0 {
        let texts: Vec<&str> = row.try_get::<_, Option<_>>(TASK_COLUMNS + 1)?.unwrap_or_default();
        for text in texts {
            excerpt.messages.extend(event::said(text)?.into_iter().rev());
        }
        excerpt.messages.truncate(newest);
        excerpt.messages.reverse();
    }
    let first: Option<&str> = row.try_get(TASK_COLUMNS + 2)?;
    let first: Option<Said> = first.map(event::said).transpose()?.and_then(|said| said.into_iter().next());
    let known = excerpt.messages.first().map(|(seq, _)| *seq);
    if let Some(first) = first.filter(|(seq, _)| known != Some(*seq)) {
        excerpt.messages.insert(0, first);
    }
    Ok(excerpt)
}
