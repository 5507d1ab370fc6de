//! One operation inside a group's transaction: load, step, write. What it changes is kept aside until the commit.

use std::collections::HashMap;
use std::sync::Arc;

use baton_core::ident::{AgentName, Owner, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{Event, Input, Nudge, Refusal, Snapshot, State, Step, Task, create, step};
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::{self, Created};
use super::hot::{Hot, whole_or_head};
use super::{grants::Grants, rows, write};
use crate::{Applied, By, Claim, Committed, Create, Error, Idempotency, Known, Op};

/// How long an idempotency key stands for its message.
const KEY_LIVES_MS: i64 = 24 * 60 * 60 * 1000;

/// The operations of one transaction.
pub struct Group<'a> {
    pub db: &'a Connection,
    pub hot: &'a Hot,
    pub grants: &'a Grants,
    /// Tasks as this transaction leaves them.
    changed: HashMap<TaskId, Known>,
    counts: HashMap<CountKey, i64>,
    commits: Vec<Committed>,
    /// New tasks whose rows are still to be written: all at once, as late as can be.
    created: Vec<Created>,
}

type CountKey = (AgentName, Owner, TaskState);

/// What a committed group leaves to be made known.
pub struct Done {
    pub changed: Vec<Known>,
    pub commits: Vec<Committed>,
}

const FIND_TASK: &str = "-- store.find_task
SELECT {} FROM task WHERE id = ?1";

pub(super) const FIND_OP: &str = "-- store.find_op
SELECT 1 FROM event WHERE task_id = ?1 AND op = ?2";

pub(super) const FIND_KEY: &str = "-- store.find_key
SELECT digest, task_id, at FROM idempotency WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3 AND key = ?4";

const PUT_KEY: &str = "-- store.put_key
INSERT OR REPLACE INTO idempotency (agent, grant_id, subject, key, digest, task_id, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Two for each that is put, so that they never pile up.
pub(super) const FORGET_KEYS: &str = "-- store.forget_keys
DELETE FROM idempotency WHERE (agent, grant_id, subject, key) IN
    (SELECT agent, grant_id, subject, key FROM idempotency WHERE at < ?1 ORDER BY at LIMIT 2)";

pub(super) const LIST_READY: &str = "-- store.list_ready
SELECT id FROM task
WHERE agent = ?1 AND phase = 'ready' AND (not_before IS NULL OR not_before <= ?2) AND (deadline IS NULL OR deadline > ?2)
ORDER BY created_at, id LIMIT ?3 OFFSET ?4";

const ADD_COUNT: &str = "-- store.add_count
INSERT INTO task_count (agent, grant_id, subject, shown_state, n) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (agent, grant_id, subject, shown_state) DO UPDATE SET n = n + excluded.n";

impl<'a> Group<'a> {
    pub fn new(db: &'a Connection, hot: &'a Hot, grants: &'a Grants) -> Self {
        Self {
            db,
            hot,
            grants,
            changed: HashMap::new(),
            counts: HashMap::new(),
            commits: Vec::new(),
            created: Vec::new(),
        }
    }

    /// Writes what the operations left to the end. Call it last, before the commit.
    pub fn finish(mut self) -> Result<Done, Error> {
        self.flush()?;
        let mut statement = self.db.prepare_cached(ADD_COUNT)?;
        for ((agent, owner, state), n) in &self.counts {
            if *n != 0 {
                statement.execute(params![
                    agent.as_str(),
                    &*owner.grant,
                    &*owner.subject,
                    state.number(),
                    n
                ])?;
            }
        }
        Ok(Done { changed: self.changed.into_values().collect(), commits: self.commits })
    }

    /// Writes the new tasks, before anything looks for their rows.
    fn flush(&mut self) -> Result<(), Error> {
        batch::insert(self.db, &std::mem::take(&mut self.created))?;
        Ok(())
    }

    pub fn apply(&mut self, op: &Op) -> Result<Applied, Error> {
        self.check_grant(&op.by)?;
        // A new task's id is new: the table says so itself, when the row is written.
        let is_new = op.create.is_some() && !op.repeat;
        let known = if is_new { self.recall(op.task) } else { self.lookup(op.task)? };
        match (&op.create, known) {
            (Some(_), Some(known)) => self.repeated(op, known),
            (Some(new), None) => self.create(op, new),
            (None, Some(known)) if op.by.sees(known.task()) => {
                if op.repeat && self.was_applied(op)? {
                    return Ok(Applied { known, events: Vec::new(), repeated: true });
                }
                self.advance(op, known)
            }
            (None, Some(_) | None) => Err(Error::NotFound),
        }
    }

    /// A task that the state machine refuses to hand out is passed over: it must not keep its agent from the others.
    pub fn claim(&mut self, claim: &Claim) -> Result<Vec<Arc<Snapshot>>, Error> {
        let input = Input::Claimed { holder: claim.holder.clone(), lease_until: claim.lease_until };
        self.flush()?;
        let (mut claimed, mut passed_over) = (Vec::new(), 0);
        loop {
            let ids = self.ready(claim, claim.most - claimed.len(), passed_over)?;
            if ids.is_empty() {
                return Ok(claimed);
            }
            for id in ids {
                let op = Op {
                    id: uuid::Uuid::nil(),
                    task: id,
                    by: By::Node,
                    create: None,
                    inputs: vec![input.clone()],
                    now: claim.now,
                    repeat: false,
                };
                match self.apply(&op) {
                    Ok(applied) => claimed.push(self.whole(applied.known)?),
                    Err(Error::Refused(_)) => passed_over += 1,
                    Err(why) => return Err(why),
                }
            }
        }
    }

    fn ready(&self, claim: &Claim, most: usize, passed_over: usize) -> Result<Vec<TaskId>, Error> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let bind = params![claim.agent.as_str(), claim.now.as_millis(), most, passed_over];
        let mut statement = self.db.prepare_cached(LIST_READY)?;
        Ok(statement.query_map(bind, |row| rows::id(row, 0))?.collect::<Result<_, _>>()?)
    }

    fn whole(&self, known: Known) -> Result<Arc<Snapshot>, Error> {
        match known {
            Known::Whole(snapshot) => Ok(snapshot),
            Known::Head(task) => Ok(Arc::new(super::read::snapshot_of(self.db, Task::clone(&task))?)),
        }
    }

    fn create(&mut self, op: &Op, new: &Create) -> Result<Applied, Error> {
        if let Some(key) = &new.idempotency
            && let Some(task) = self.find_key(new, key, op.now)?
        {
            let known = self.lookup(task)?.ok_or(Error::NotFound)?;
            return Ok(Applied { known, events: Vec::new(), repeated: true });
        }
        let first = create(&new.new, op.now);
        let mut snapshot = Snapshot::new(first.task);
        first.events.iter().for_each(|event| snapshot.fill(event));
        let mut steps =
            Steps { events: first.events.into_iter().map(Arc::new).collect(), nudges: first.nudges };
        let last = run(&mut steps, snapshot.task.clone(), &op.inputs, op.now)?;
        steps.events[1..].iter().for_each(|event| snapshot.fill(event));
        snapshot.task = last;
        if let Some(Idempotency { key, digest }) = &new.idempotency {
            let (agent, owner) = (&new.new.agent, &new.new.owner);
            self.db.prepare_cached(PUT_KEY)?.execute(params![
                agent.as_str(),
                &*owner.grant,
                &*owner.subject,
                key,
                digest,
                op.task.as_bytes(),
                op.now.as_millis()
            ])?;
            let forgotten = op.now.as_millis().saturating_sub(KEY_LIVES_MS);
            self.db.prepare_cached(FORGET_KEYS)?.execute([forgotten])?;
        }
        self.write(op, None, Known::Whole(Arc::new(snapshot)), steps)
    }

    fn advance(&mut self, op: &Op, known: Known) -> Result<Applied, Error> {
        let before = known.task().clone();
        let mut steps = Steps::default();
        let after = run(&mut steps, before.clone(), &op.inputs, op.now)?;
        if after == before {
            return Ok(Applied { known, events: Vec::new(), repeated: false });
        }
        self.flush()?;
        write::task(self.db, &after)?;
        let known = match known {
            Known::Whole(snapshot) => {
                let mut snapshot = Arc::unwrap_or_clone(snapshot);
                steps.events.iter().for_each(|event| snapshot.fill(event));
                snapshot.task = after;
                Known::Whole(Arc::new(snapshot))
            }
            Known::Head(_) => Known::Head(Arc::new(after)),
        };
        self.write(op, Some(&before), known, steps)
    }

    /// The rows beside the task's own, and what is to be known after the commit.
    fn write(
        &mut self,
        op: &Op,
        before: Option<&Task>,
        known: Known,
        steps: Steps,
    ) -> Result<Applied, Error> {
        if let Some(before) = before {
            batch::insert_events(self.db, op.task, op.id, &steps.events)?;
            write::attempts(self.db, before, &steps.events)?;
        } else {
            self.created.push(Created { known: known.clone(), events: steps.events.clone(), op: op.id });
        }
        let task = known.task();
        let (old, new) = (before.map(|task| task.state.shown()), task.state.shown());
        if old != Some(new) {
            let key = |state| (task.agent.clone(), task.owner.clone(), state);
            *self.counts.entry(key(new)).or_default() += 1;
            if let Some(old) = old {
                *self.counts.entry(key(old)).or_default() -= 1;
            }
        }
        self.changed.insert(op.task, whole_or_head(known.clone()));
        let Steps { events, nudges } = steps;
        self.commits.push(Committed { known: known.clone(), events: events.clone(), nudges });
        Ok(Applied { known, events, repeated: false })
    }

    /// The task, where it is in memory.
    fn recall(&self, id: TaskId) -> Option<Known> {
        self.changed.get(&id).cloned().or_else(|| self.hot.find(id))
    }

    /// The task as this transaction sees it.
    pub fn lookup(&self, id: TaskId) -> Result<Option<Known>, Error> {
        if let Some(known) = self.recall(id) {
            return Ok(Some(known));
        }
        let sql = FIND_TASK.replace("{}", rows::TASK);
        let task = self.db.prepare_cached(&sql)?.query_row([id.as_bytes()], rows::task).optional()?;
        Ok(task.map(|task| Known::Head(Arc::new(task))))
    }

    /// A create whose task is there: the same operation again, or a fault of the caller's ids.
    fn repeated(&mut self, op: &Op, known: Known) -> Result<Applied, Error> {
        if self.was_applied(op)? {
            return Ok(Applied { known, events: Vec::new(), repeated: true });
        }
        Err(Error::Corrupt(format!("a second task {} was to be created", op.task)))
    }

    fn was_applied(&mut self, op: &Op) -> Result<bool, Error> {
        self.flush()?;
        let mut statement = self.db.prepare_cached(FIND_OP)?;
        Ok(statement.exists(params![op.task.as_bytes(), op.id.as_bytes()])?)
    }

    fn check_grant(&self, by: &By) -> Result<(), Error> {
        match by {
            By::Owner(_, owner) if !self.grants.is_usable(&owner.grant) => Err(Error::GrantInactive),
            By::Owner(..) | By::Node => Ok(()),
        }
    }

    /// The task that a fresh key stands for.
    fn find_key(&self, new: &Create, key: &Idempotency, now: Timestamp) -> Result<Option<TaskId>, Error> {
        let (agent, owner) = (&new.new.agent, &new.new.owner);
        let found = self
            .db
            .prepare_cached(FIND_KEY)?
            .query_row(params![agent.as_str(), &*owner.grant, &*owner.subject, key.key], |row| {
                Ok((row.get::<_, [u8; 32]>(0)?, rows::id(row, 1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        match found {
            Some((_, _, at)) if now.as_millis() - at > KEY_LIVES_MS => Ok(None),
            Some((digest, task, _)) if digest == key.digest => Ok(Some(task)),
            Some(_) => Err(Error::KeyReused),
            None => Ok(None),
        }
    }
}

#[derive(Default)]
struct Steps {
    events: Vec<Arc<Event>>,
    nudges: Vec<Nudge>,
}

/// Runs each input in turn; the first refusal refuses them all.
fn run(steps: &mut Steps, mut task: Task, inputs: &[Input], now: Timestamp) -> Result<Task, Refusal> {
    for input in inputs {
        let Step { task: next, events, nudges } = step(&task, input, now)?;
        task = next;
        steps.events.extend(events.into_iter().map(Arc::new));
        for nudge in nudges {
            if !steps.nudges.contains(&nudge) {
                steps.nudges.push(nudge);
            }
        }
    }
    if !matches!(task.state, State::Ready { .. }) {
        steps.nudges.retain(|nudge| !matches!(nudge, Nudge::Ready(_)));
    }
    Ok(task)
}
