//! Retention: tasks that are over and need not be kept are deleted, with all that is kept of them.

use baton_core::ident::TaskId;
use baton_core::model::TaskState;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::apply::Group;
use super::{log, rows};
use crate::{Error, Retire};

/// Whoever still waits for a notification gets it first.
pub(super) const LIST_AGED: &str = "-- store.list_aged
SELECT id FROM task
WHERE scope IN (SELECT key FROM scope WHERE agent = ?1) AND shown_state IN (0, 3, 4, 5, 7) AND status_at < ?2
    AND NOT EXISTS (SELECT 1 FROM push_config WHERE task_id = task.id AND due_at IS NOT NULL)
LIMIT ?3";

pub(super) const COUNT_OVER: &str = "-- store.count_over
SELECT coalesce(sum(n), 0) FROM scope JOIN task_count ON task_count.scope = scope.key
WHERE agent = ?1 AND shown_state IN (0, 3, 4, 5, 7)";

pub(super) const LIST_OLDEST: &str = "-- store.list_oldest
SELECT id FROM task
WHERE agent = ?1 AND phase <> 'ready' AND phase <> 'running' AND phase <> 'interrupted'
    AND NOT EXISTS (SELECT 1 FROM push_config WHERE task_id = task.id AND due_at IS NOT NULL)
ORDER BY key LIMIT ?2";

const DELETE_TASK: &str = "-- store.delete_task
DELETE FROM task WHERE id = ?1 AND phase <> 'ready' AND phase <> 'running' AND phase <> 'interrupted'
RETURNING key, scope, shown_state";

const DELETE_PUSH_CONFIGS: &str = "-- store.delete_push_configs
DELETE FROM push_config WHERE task_id = ?1";

const DELETE_DELIVERIES: &str = "-- store.delete_deliveries_of_task
DELETE FROM delivery WHERE task_id = ?1";

/// What can be deleted. Looked for by a reader, since it may take long: what is over stays so until the writer comes to it.
pub fn find(db: &Connection, retire: &Retire) -> Result<Vec<TaskId>, Error> {
    let agent = retire.agent.as_str();
    if let Some(before) = retire.before {
        let mut statement = db.prepare_cached(LIST_AGED)?;
        let bind = params![agent, before.as_millis(), retire.most];
        let found: Vec<_> = statement.query_map(bind, |row| rows::id(row, 0))?.collect::<Result<_, _>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let Some(beyond) = retire.beyond else { return Ok(Vec::new()) };
    let over: i64 = db.prepare_cached(COUNT_OVER)?.query_row([agent], |row| row.get(0))?;
    let excess = over.cast_unsigned().saturating_sub(beyond).min(retire.most as u64);
    if excess == 0 {
        return Ok(Vec::new());
    }
    let mut statement = db.prepare_cached(LIST_OLDEST)?;
    let found = statement.query_map(params![agent, excess], |row| rows::id(row, 0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

impl Group<'_> {
    /// Deletes those that are over; answers which.
    pub fn retire(&mut self, tasks: &[TaskId]) -> Result<Vec<TaskId>, Error> {
        self.flush()?;
        let mut deleted = Vec::with_capacity(tasks.len());
        for id in tasks {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found = self.db.prepare_cached(DELETE_TASK)?.query_row([id.as_bytes()], row).optional()?;
            let Some((key, scope, shown)) = found else { continue };
            log::delete(self.db, key)?;
            self.db.prepare_cached(DELETE_PUSH_CONFIGS)?.execute([id.as_bytes()])?;
            self.db.prepare_cached(DELETE_DELIVERIES)?.execute([id.as_bytes()])?;
            self.note_retired(*id, scope, TaskState::from_number(shown).unwrap_or_default());
            deleted.push(*id);
        }
        Ok(deleted)
    }
}
