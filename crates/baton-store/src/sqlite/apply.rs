//! One operation inside a group's transaction: load, step, write. What it changes is kept aside until the commit.

use std::collections::HashMap;
use std::sync::Arc;

use baton_core::delivery::is_told;
use baton_core::ident::{AgentName, Owner, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{Refusal, State};
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::{self, Change, Created};
use super::claim::{Ready, Running};
use super::hot::{Hot, Kept, whole_or_head};
use super::push::{self, Pushed};
use super::writer::Shared;
use super::{access, grants::Grants, log, rows, scope, write};
use crate::stored::event;
use crate::stored::prepare::{Prepared, Steps};
use crate::{Applied, Committed, Create, Error, Grant, GrantLimits, Idempotency, Known, Op, Usage};

/// How long an idempotency key stands for its message.
const KEY_LIVES_MS: i64 = 24 * 60 * 60 * 1000;

/// The operations of one transaction.
pub struct Group<'a> {
    pub db: &'a Connection,
    pub hot: &'a Hot,
    pub grants: &'a Grants,
    /// The number of the next new task.
    next: &'a mut i64,
    pub pushed: &'a Pushed,
    /// Tasks of which something is owed to a webhook by now, and since when.
    owed: HashMap<TaskId, Timestamp>,
    /// Tasks as this transaction leaves them.
    changed: HashMap<TaskId, Kept>,
    /// Tasks that are worked on, of each agent, before this transaction; and what it changes of that.
    pub running: &'a Running,
    pub begun: HashMap<AgentName, i64>,
    /// What can be claimed, of agents whose tasks this transaction hands out.
    pub ready: HashMap<AgentName, Ready>,
    /// Claims of this transaction that are still to come.
    pub claims: usize,
    scopes: HashMap<(AgentName, Owner), i64>,
    counts: HashMap<(i64, TaskState), i64>,
    commits: Vec<Committed>,
    /// Tasks that this transaction deletes.
    retired: Vec<TaskId>,
    /// Grants as this transaction leaves them.
    pub altered: HashMap<Arc<str>, Arc<Grant>>,
    /// The counts of grants whose tasks are counted, as this transaction leaves them.
    pub usage: Counts,
    /// New tasks and events whose rows are still to be written: all at once, as late as can be.
    created: Vec<Created>,
    events: Vec<Change>,
}

/// What a committed group leaves to be made known.
pub struct Done {
    pub changed: Vec<Kept>,
    pub commits: Vec<Committed>,
    pub retired: Vec<TaskId>,
    pub grants: HashMap<Arc<str>, Arc<Grant>>,
    pub usage: Counts,
    /// How many more tasks of each agent are worked on.
    pub begun: HashMap<AgentName, i64>,
}

/// What is counted of grants, by their ids.
type Counts = HashMap<Arc<str>, (GrantLimits, Usage)>;

pub(super) const FIND_KEY: &str = "-- store.find_key
SELECT digest, task_id, at FROM idempotency WHERE scope = ?1 AND key = ?2";

const PUT_KEY: &str = "-- store.put_key
INSERT OR REPLACE INTO idempotency (scope, key, digest, task_id, at) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Two for each that is put, so that they never pile up.
pub(super) const FORGET_KEYS: &str = "-- store.forget_keys
DELETE FROM idempotency WHERE (scope, key) IN
    (SELECT scope, key FROM idempotency WHERE at < ?1 ORDER BY at LIMIT 2)";

const ADD_COUNT: &str = "-- store.add_count
INSERT INTO task_count (scope, shown_state, n) VALUES (?1, ?2, ?3)
ON CONFLICT (scope, shown_state) DO UPDATE SET n = n + excluded.n";

impl<'a> Group<'a> {
    /// `claims`: how many of the operations are claims.
    pub fn new(db: &'a Connection, shared: &'a mut Shared, claims: usize) -> Self {
        let Shared { hot, pushed, grants, next, running, .. } = shared;
        Self {
            db,
            hot,
            grants,
            next,
            pushed,
            owed: HashMap::new(),
            changed: HashMap::new(),
            running,
            begun: HashMap::new(),
            ready: HashMap::new(),
            claims,
            scopes: HashMap::new(),
            counts: HashMap::new(),
            commits: Vec::new(),
            retired: Vec::new(),
            altered: HashMap::new(),
            usage: HashMap::new(),
            created: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Writes what the operations left to the end. Call it last, before the commit.
    pub fn finish(mut self) -> Result<Done, Error> {
        self.flush()?;
        let mut statement = self.db.prepare_cached(ADD_COUNT)?;
        for ((scope, state), n) in &self.counts {
            if *n != 0 {
                statement.execute(params![scope, state.number(), n])?;
            }
        }
        for (task, since) in &self.owed {
            push::mark_owed(self.db, *task, *since)?;
        }
        let known = self.grants;
        self.usage.retain(|id, (_, usage)| known.counted(id).is_none_or(|(_, kept)| kept != *usage));
        for (id, (_, usage)) in &self.usage {
            access::put_usage(self.db, id, *usage)?;
        }
        let changed = self.changed.into_values().collect();
        Ok(Done {
            changed,
            commits: self.commits,
            retired: self.retired,
            grants: self.altered,
            usage: self.usage,
            begun: self.begun,
        })
    }

    /// Writes new tasks, before anything looks for their rows.
    pub fn flush_tasks(&mut self) -> Result<(), Error> {
        if !self.created.is_empty() {
            batch::insert_tasks(self.db, &std::mem::take(&mut self.created))?;
        }
        Ok(())
    }

    /// Writes new tasks and events, before anything looks for their rows.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_tasks()?;
        batch::insert_events(self.db, &std::mem::take(&mut self.events))?;
        Ok(())
    }

    /// The number of an agent with an owner.
    fn scope(&mut self, agent: &AgentName, owner: &Owner) -> Result<i64, Error> {
        let named = (agent.clone(), owner.clone());
        if let Some(key) = self.scopes.get(&named) {
            return Ok(*key);
        }
        let key = scope::find_or_insert(self.db, agent, owner)?;
        self.scopes.insert(named, key);
        Ok(key)
    }

    /// `prepared` stands beside an operation that creates its task.
    pub fn apply(&mut self, op: &Op, prepared: Option<&Result<Prepared, Refusal>>) -> Result<Applied, Error> {
        self.check_grant(&op.by, op.now)?;
        // A new task's id is new: the table says so itself, when the row is written.
        let is_new = op.create.is_some() && !op.repeat;
        let kept = if is_new { self.recall(op.task) } else { self.lookup(op.task)? };
        match (op.create.as_ref().zip(prepared), kept) {
            (Some(_), Some(kept)) => self.repeated(op, kept),
            (Some((new, prepared)), None) => self.create(op, new, prepared),
            (None, Some(kept)) if op.by.sees(kept.known.task()) => {
                if op.repeat && self.was_applied(op, kept.key)? {
                    return Ok(Applied { known: kept.known, events: Vec::new(), repeated: true });
                }
                self.advance(op, kept)
            }
            (None, Some(_) | None) => Err(Error::NotFound),
        }
    }

    fn create(
        &mut self,
        op: &Op,
        new: &Create,
        prepared: &Result<Prepared, Refusal>,
    ) -> Result<Applied, Error> {
        if let Some(key) = &new.idempotency
            && let Some(task) = self.find_key(new, key, op.now)?
        {
            return Ok(Applied { known: task.known, events: Vec::new(), repeated: true });
        }
        let Prepared { snapshot, steps, text } = prepared.as_ref().map_err(|why| *why)?;
        self.count_task(&op.by, &new.new.owner, op.now)?;
        if let Some(Idempotency { key, digest }) = &new.idempotency {
            let scope = self.scope(&new.new.agent, &new.new.owner)?;
            let bind = params![scope, key, digest, op.task.as_bytes(), op.now.as_millis()];
            self.db.prepare_cached(PUT_KEY)?.execute(bind)?;
            let forgotten = op.now.as_millis().saturating_sub(KEY_LIVES_MS);
            self.db.prepare_cached(FORGET_KEYS)?.execute([forgotten])?;
        }
        let key = *self.next;
        *self.next += 1;
        let known = Known::Whole(Arc::clone(snapshot));
        let scope = self.scope(&new.new.agent, &new.new.owner)?;
        self.created.push(Created { key, scope, known: known.clone() });
        let row = Change { task: key, op: op.id, events: steps.events.clone(), text: Arc::clone(text) };
        self.events.push(row);
        let applied = self.note(Kept { key, known }, None, steps.clone())?;
        // What came of this operation is owed already: all but the submission.
        self.owe(op, 1)?;
        Ok(applied)
    }

    pub fn advance(&mut self, op: &Op, Kept { key, known }: Kept) -> Result<Applied, Error> {
        op.by.holds(known.task())?;
        let before = known.task().clone();
        let mut steps = Steps::default();
        let after = steps.run(before.clone(), &op.inputs, op.now)?;
        if let Some(new) = &op.push {
            push::check_room(self.db, op.task, &new.id)?;
        }
        if after == before {
            return Ok(Applied { known, events: Vec::new(), repeated: false });
        }
        if self.created.iter().any(|created| created.key == key) {
            self.flush_tasks()?;
        }
        write::task(self.db, key, &after)?;
        let known = match known {
            Known::Whole(snapshot) => {
                let mut snapshot = Arc::unwrap_or_clone(snapshot);
                steps.events.iter().for_each(|event| snapshot.fill(event));
                snapshot.task = after;
                Known::Whole(Arc::new(snapshot))
            }
            Known::Head(_) => Known::Head(Arc::new(after)),
        };
        // A lease that is renewed is no event.
        if !steps.events.is_empty() {
            let text = Arc::new(event::spell(&steps.events));
            self.events.push(Change { task: key, op: op.id, events: steps.events.clone(), text });
        }
        let applied = self.note(Kept { key, known }, Some(&before.state), steps)?;
        self.owe(op, before.seq)?;
        Ok(applied)
    }

    /// What the operation that was noted last owes to webhooks, the one that it brings along too: that has seen everything
    /// up to `cursor`.
    fn owe(&mut self, op: &Op, cursor: u64) -> Result<(), Error> {
        let Some(commit) = self.commits.last_mut() else { return Ok(()) };
        if let Some(new) = &op.push {
            push::put(self.db, commit.known.task(), new, (cursor, op.now))?;
            self.pushed.add(commit.known.task());
        }
        commit.owed = self.pushed.has(op.task) && commit.events.iter().any(|event| is_told(event));
        if commit.owed {
            self.owed.insert(op.task, op.now);
        }
        Ok(())
    }

    /// What is to be known after the commit, and the counts. `before` is what the task was.
    fn note(&mut self, kept: Kept, before: Option<&State>, steps: Steps) -> Result<Applied, Error> {
        let Steps { events, nudges } = steps;
        let Kept { key, known } = kept;
        let task = known.task();
        self.queue(&task.agent, before, &task.state);
        let (old, new) = (before.map(State::shown), task.state.shown());
        if old != Some(new) {
            let scope = self.scope(&task.agent, &task.owner)?;
            *self.counts.entry((scope, new)).or_default() += 1;
            if let Some(old) = old {
                *self.counts.entry((scope, old)).or_default() -= 1;
            }
            self.count_open(&task.owner, old.is_some_and(TaskState::is_open), new.is_open());
        }
        self.changed.insert(task.id, Kept { key, known: whole_or_head(known.clone()) });
        self.commits.push(Committed { known: known.clone(), events: events.clone(), nudges, owed: false });
        Ok(Applied { known, events, repeated: false })
    }

    /// Takes a task that was deleted out of the counts and of what is in memory after the commit.
    pub fn note_retired(&mut self, id: TaskId, scope: i64, shown: TaskState) {
        *self.counts.entry((scope, shown)).or_default() -= 1;
        self.changed.remove(&id);
        self.retired.push(id);
    }

    /// The task, where it is in memory.
    pub fn recall(&self, id: TaskId) -> Option<Kept> {
        if self.retired.contains(&id) {
            return None;
        }
        self.changed.get(&id).cloned().or_else(|| self.hot.find(id))
    }

    /// The task as this transaction sees it.
    pub fn lookup(&mut self, id: TaskId) -> Result<Option<Kept>, Error> {
        if let Some(kept) = self.recall(id) {
            return Ok(Some(kept));
        }
        let found = rows::find_task(self.db, id)?;
        Ok(found.map(|(key, task)| Kept { key, known: Known::Head(Arc::new(task)) }))
    }

    /// A create whose task is there: the same operation again, or a fault of the caller's ids.
    fn repeated(&mut self, op: &Op, kept: Kept) -> Result<Applied, Error> {
        if self.was_applied(op, kept.key)? {
            return Ok(Applied { known: kept.known, events: Vec::new(), repeated: true });
        }
        Err(Error::Corrupt(format!("a second task {} was to be created", op.task)))
    }

    fn was_applied(&mut self, op: &Op, task: i64) -> Result<bool, Error> {
        self.flush()?;
        Ok(log::was_applied(self.db, task, op.id.as_bytes())?)
    }

    /// The task that a fresh key stands for. One that was retired leaves its key free.
    fn find_key(&mut self, new: &Create, key: &Idempotency, now: Timestamp) -> Result<Option<Kept>, Error> {
        let scope = self.scope(&new.new.agent, &new.new.owner)?;
        let found = self
            .db
            .prepare_cached(FIND_KEY)?
            .query_row(params![scope, key.key], |row| {
                Ok((row.get::<_, [u8; 32]>(0)?, rows::id(row, 1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        match found {
            Some((_, _, at)) if now.as_millis() - at > KEY_LIVES_MS => Ok(None),
            Some((digest, task, _)) if digest == key.digest => self.lookup(task),
            Some(_) => Err(Error::KeyReused),
            None => Ok(None),
        }
    }
}
