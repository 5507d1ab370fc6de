//! Push configurations inside the writer's transaction: stored, marked, settled.

use std::cell::RefCell;
use std::collections::HashSet;

use baton_core::delivery::{Input, State, step};
use baton_core::ident::TaskId;
use baton_core::limits::PUSH_CONFIGS;
use baton_core::task::{Refusal, Task};
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::apply::Group;
use super::audit;
use super::delivery::{CONFIG, config};
use super::hot::Kept;
use crate::stored::push::{is_settled_by, settled, state_columns};
use crate::{Actor, By, Error, Known, NewPush, PushConfig, Settle};

const LIST_PUSHED: &str = "-- store.list_pushed
SELECT DISTINCT task_id FROM push_config JOIN task ON task.id = push_config.task_id
WHERE phase = 'ready' OR phase = 'running' OR phase = 'interrupted'";

/// A configuration that replaces another goes on where that one was. Revisions begin with the time, so that one that was
/// deleted and made again has none of the earlier one's.
const PUT_PUSH_CONFIG: &str = "-- store.put_push_config
INSERT INTO push_config (task_id, id, grant_id, url, target, scheme, secret, edition, created_at, revision, cursor, tries,
    state, reason, failures, due_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, 0, 'active', NULL, 0, CASE WHEN ?10 < ?11 THEN ?9 END)
ON CONFLICT (task_id, id) DO UPDATE SET url = ?4, target = ?5, scheme = ?6, secret = ?7, edition = ?8, created_at = ?9,
    revision = revision + 1, state = 'active', reason = NULL, failures = 0,
    due_at = CASE WHEN cursor < ?11 THEN ?9 END";

const COUNT_PUSH_CONFIGS: &str = "-- store.count_push_configs
SELECT count(*) FROM push_config WHERE task_id = ?1 AND id <> ?2";

const DELETE_PUSH_CONFIG: &str = "-- store.delete_push_config
DELETE FROM push_config WHERE task_id = ?1 AND id = ?2";

const DELETE_DELIVERIES: &str = "-- store.delete_deliveries
DELETE FROM delivery WHERE task_id = ?1 AND config_id = ?2";

pub(super) const MARK_OWED: &str = "-- store.mark_owed
UPDATE push_config SET due_at = ?2 WHERE task_id = ?1 AND state = 'active' AND due_at IS NULL";

const UPDATE_PUSH_CONFIG: &str = "-- store.update_push_config
UPDATE push_config SET cursor = ?3, tries = ?4, state = ?5, reason = ?6, failures = ?7, due_at = ?8
WHERE task_id = ?1 AND id = ?2";

const INSERT_DELIVERY: &str = "-- store.insert_delivery
INSERT INTO delivery (task_id, config_id, number, seq, at, took_ms, status, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// Open tasks that have a configuration. Only these cost anything when they change. The writer alone knows it.
pub struct Pushed(RefCell<HashSet<TaskId>>);

impl Pushed {
    pub fn load(db: &Connection) -> Result<Self, Error> {
        let mut statement = db.prepare(LIST_PUSHED)?;
        let tasks = statement.query_map([], |row| super::rows::id(row, 0))?;
        Ok(Self(RefCell::new(tasks.collect::<Result<_, _>>()?)))
    }

    /// Safe before the commit: a task that turns out to have none is marked in vain.
    pub fn add(&self, task: &Task) {
        self.0.borrow_mut().insert(task.id);
    }

    pub fn has(&self, task: TaskId) -> bool {
        let tasks = self.0.borrow();
        !tasks.is_empty() && tasks.contains(&task)
    }

    /// After the commit: nothing happens to these any more.
    pub fn forget_ended(&self, changed: &[Kept]) {
        let mut tasks = self.0.borrow_mut();
        if tasks.is_empty() {
            return;
        }
        for task in changed.iter().map(|kept| kept.known.task()).filter(|task| task.state.is_terminal()) {
            tasks.remove(&task.id);
        }
    }
}

/// What the writer is asked about push configurations.
pub enum PushWrite {
    Put { by: By, task: TaskId, new: NewPush, now: Timestamp },
    Delete { by: By, task: TaskId, id: String, now: Timestamp },
    Settle(Settle),
    Replay { task: TaskId, id: String, by: Actor, now: Timestamp },
}

/// What it answers.
pub enum PushAnswer {
    Config(Box<PushConfig>),
    Deleted(bool),
    Settled(Option<State>),
}

impl Group<'_> {
    pub fn push(&mut self, write: &PushWrite) -> Result<PushAnswer, Error> {
        match write {
            PushWrite::Put { by, task, new, now } => {
                let known = self.seen((by, *now), *task)?;
                let seq = known.task().seq;
                check_room(self.db, *task, &new.id)?;
                put(self.db, known.task(), new, (seq, *now))?;
                if !known.task().state.is_terminal() {
                    self.pushed.add(known.task());
                }
                self.stored(*task, &new.id).map(|config| PushAnswer::Config(Box::new(config)))
            }
            PushWrite::Delete { by, task, id, now } => {
                self.seen((by, *now), *task)?;
                let bind = params![task.as_bytes(), id];
                let deleted = self.db.prepare_cached(DELETE_PUSH_CONFIG)?.execute(bind)?;
                self.db.prepare_cached(DELETE_DELIVERIES)?.execute(bind)?;
                Ok(PushAnswer::Deleted(deleted > 0))
            }
            PushWrite::Settle(settle) => self.settle(settle).map(PushAnswer::Settled),
            PushWrite::Replay { task, id, by, now } => {
                let mut config = self.stored(*task, id)?;
                let state = step(config.state, Input::Replayed, *now);
                if state == config.state {
                    return Ok(PushAnswer::Config(Box::new(config)));
                }
                config.state = state;
                update(self.db, &config)?;
                let target = format!("{task}/{id}");
                audit::note(self.db, (by, *now), ("delivery.replay", &target), String::new())?;
                Ok(PushAnswer::Config(Box::new(config)))
            }
        }
    }

    /// The task, where `by` may still change what belongs to it.
    fn seen(&mut self, (by, now): (&By, Timestamp), task: TaskId) -> Result<Known, Error> {
        self.check_grant(by, now)?;
        let known = self.lookup(task)?.map(|kept| kept.known);
        known.filter(|known| by.sees(known.task())).ok_or(Error::NotFound)
    }

    fn stored(&self, task: TaskId, id: &str) -> Result<PushConfig, Error> {
        find(self.db, task, id)?.ok_or(Error::NotFound)
    }

    fn settle(&mut self, settle: &Settle) -> Result<Option<State>, Error> {
        let Settle { task, id, attempt, .. } = settle;
        let found = find(self.db, *task, id)?.filter(|config| is_settled_by(config, settle));
        let Some(config) = found else { return Ok(None) };
        let seq = self.lookup(*task)?.map_or(settle.cursor, |kept| kept.known.task().seq);
        let config = settled(config, settle, seq);
        if let Some(attempt) = attempt {
            let took = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX);
            self.db.prepare_cached(INSERT_DELIVERY)?.execute(params![
                task.as_bytes(),
                id,
                config.tries,
                attempt.seq,
                attempt.at.as_millis(),
                took,
                attempt.status,
                attempt.error
            ])?;
        }
        update(self.db, &config)?;
        Ok(Some(config.state))
    }
}

/// Refuses one more configuration than a task may have; one that replaces another is none more.
pub fn check_room(db: &Connection, task: TaskId, id: &str) -> Result<(), Error> {
    let bind = params![task.as_bytes(), id];
    let others: usize = db.prepare_cached(COUNT_PUSH_CONFIGS)?.query_row(bind, |row| row.get(0))?;
    if others >= PUSH_CONFIGS { Err(Refusal::TooManyPushConfigs.into()) } else { Ok(()) }
}

/// Stores a configuration that there is room for. `seen`: what is settled when it begins, and the time.
pub fn put(db: &Connection, task: &Task, new: &NewPush, seen: (u64, Timestamp)) -> Result<(), Error> {
    let (cursor, now) = seen;
    db.prepare_cached(PUT_PUSH_CONFIG)?.execute(params![
        task.id.as_bytes(),
        new.id,
        &*task.owner.grant,
        new.url,
        new.target,
        new.scheme,
        new.secret,
        new.edition.as_str(),
        now.as_millis(),
        cursor,
        task.seq
    ])?;
    Ok(())
}

pub fn find(db: &Connection, task: TaskId, id: &str) -> Result<Option<PushConfig>, Error> {
    let sql =
        format!("-- store.find_push_config\nSELECT {CONFIG} FROM push_config WHERE task_id = ?1 AND id = ?2");
    Ok(db.prepare_cached(&sql)?.query_row(params![task.as_bytes(), id], config).optional()?)
}

/// Something happened to a task of which somebody is to be told.
pub fn mark_owed(db: &Connection, task: TaskId, since: Timestamp) -> Result<(), Error> {
    db.prepare_cached(MARK_OWED)?.execute(params![task.as_bytes(), since.as_millis()])?;
    Ok(())
}

fn update(db: &Connection, config: &PushConfig) -> Result<(), Error> {
    let (state, reason, failures, due_at) = state_columns(config.state);
    db.prepare_cached(UPDATE_PUSH_CONFIG)?.execute(params![
        config.task.as_bytes(),
        config.id,
        config.cursor,
        config.tries,
        state,
        reason,
        failures,
        due_at
    ])?;
    Ok(())
}
