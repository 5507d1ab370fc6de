//! The operations of one transaction: looked at one after the other in memory, on what was loaded and locked, and written
//! all at once. What they change is kept aside until the commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use baton_core::delivery::is_told;
use baton_core::ident::{AgentName, TaskId};
use baton_core::limits::PUSH_CONFIGS;
use baton_core::model::TaskState;
use baton_core::task::{Refusal, State, Task};
use baton_core::time::Timestamp;

use super::batch::{self, Change, all};
use super::load::{Loaded, Numbers, StandsFor};
use super::pipeline::Asked;
use super::rows::{Kept, escaped, int, uuid};
use super::scope::{Named, Scopes};
use super::settings::Clock;
use super::{claim, push};
use crate::stored::event;
use crate::stored::prepare::{Prepared, Steps};
use crate::{Applied, Committed, Create, Error, GrantLimits, Idempotency, Known, Op, Usage};

/// How long an idempotency key stands for its message.
const KEY_LIVES_MS: i64 = 24 * 60 * 60 * 1000;

const PUT_KEYS: &str = "-- store.put_key
INSERT INTO idempotency (scope, key, digest, task_id, at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::uuid[], $5::bigint[])";

/// Those that are put again, and two more for each, so that they never pile up.
const FORGET_KEYS: &str = "-- store.forget_keys
DELETE FROM idempotency WHERE at < $3 AND (scope, key) IN (
    SELECT * FROM unnest($1::bigint[], $2::text[])
    UNION ALL SELECT * FROM (
        SELECT scope, key FROM idempotency WHERE at < $3 ORDER BY at LIMIT $4 FOR UPDATE SKIP LOCKED) AS oldest)";

/// Those that stand for tasks that are no more. Who else puts one of them again at the same time is met at its key.
const FREE_KEYS: &str = "-- store.free_keys
DELETE FROM idempotency WHERE (scope, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[])) AND task_id = ANY ($3)";

const PUT_USAGE: &str = r#"-- store.put_usage
UPDATE "grant" SET open_tasks = new.open, day = new.day, made = new.made
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (id, open, day, made) WHERE "grant".id = new.id"#;

/// The operations of one transaction.
pub struct Group<'a> {
    pub loaded: Loaded,
    pub clock: Clock,
    scopes: &'a Scopes,
    numbers: &'a mut Numbers,
    /// Tasks as this transaction leaves them.
    pub changed: HashMap<TaskId, (Kept, Known)>,
    created: HashSet<TaskId>,
    counts: HashMap<(i64, i64), i64>,
    commits: Vec<Committed>,
    pub events: Vec<Change>,
    keys: Vec<NewKey>,
    /// Tasks that are no more, whose keys are put again.
    retired: Vec<TaskId>,
    puts: Vec<Asked>,
    /// Tasks of which something is owed to a webhook by now, and since when.
    owed: HashMap<TaskId, Timestamp>,
    usage: HashMap<Arc<str>, (GrantLimits, Usage)>,
    /// What of budgets is used up, where this transaction uses some of it: since when, and how much.
    pub budgets: HashMap<AgentName, (Timestamp, u64)>,
}

struct NewKey {
    scope: i64,
    key: String,
    digest: [u8; 32],
    task: TaskId,
    at: Timestamp,
}

/// What a group leaves to be made known once it is committed.
pub struct Done {
    pub commits: Vec<Committed>,
    pub scopes: HashMap<Named, i64>,
}

impl<'a> Group<'a> {
    pub fn new(loaded: Loaded, clock: Clock, scopes: &'a Scopes, numbers: &'a mut Numbers) -> Self {
        let usage = loaded.usage.clone();
        Self {
            loaded,
            clock,
            scopes,
            numbers,
            changed: HashMap::new(),
            created: HashSet::new(),
            counts: HashMap::new(),
            commits: Vec::new(),
            events: Vec::new(),
            keys: Vec::new(),
            retired: Vec::new(),
            puts: Vec::new(),
            owed: HashMap::new(),
            usage,
            budgets: HashMap::new(),
        }
    }

    /// What is to be written, in order, and what is to be told after the commit.
    pub fn finish(mut self) -> (Vec<Asked>, Done) {
        let mut kept: Vec<(TaskId, Kept)> =
            self.changed.into_iter().map(|(id, (kept, _))| (id, kept)).collect();
        // Rows side by side, and locks in one order.
        kept.sort_unstable_by_key(|(_, kept)| kept.key);
        let (new, old): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(id, _)| self.created.contains(id));
        let [new, old] = [new, old].map(|rows| rows.into_iter().map(|(_, kept)| kept).collect::<Vec<_>>());
        let mut asked: Vec<Asked> = [
            batch::insert_tasks(&new),
            batch::update_tasks(&old),
            batch::insert_events(&self.events),
            batch::add_counts(self.counts.into_iter()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !self.keys.is_empty() {
            asked.extend(put_keys(&self.keys, &self.retired));
        }
        asked.append(&mut self.puts);
        let owed: Vec<_> = self.owed.into_iter().collect();
        asked.extend(push::mark_owed(&owed));
        asked.extend(claim::put_budgets(&self.budgets.into_iter().collect::<Vec<_>>()));
        let known = &self.loaded.usage;
        self.usage.retain(|id, counted| known.get(id) != Some(counted));
        if !self.usage.is_empty() {
            asked.push(put_usage(&self.usage.into_iter().collect::<Vec<_>>()));
        }
        (asked, Done { commits: self.commits, scopes: self.loaded.scopes })
    }

    /// The time by which an operation is judged.
    pub const fn now(&self, caller: Timestamp) -> Timestamp {
        match self.clock {
            Clock::Database => self.loaded.now,
            Clock::Caller => caller,
        }
    }

    fn scope(&self, named: &Named) -> Result<i64, Error> {
        let known = self.loaded.scopes.get(named).copied().or_else(|| self.scopes.find(named));
        known.ok_or_else(|| Error::Corrupt("an owner has no number".to_owned()))
    }

    pub fn apply(&mut self, op: &Op) -> Result<Applied, Error> {
        let now = self.now(op.now);
        self.check_grant(&op.by, now)?;
        match (&op.create, self.lookup(op.task)) {
            (Some(_), Some((_, known))) => self.repeated(op, known),
            (Some(new), None) => self.create(op, new, now),
            (None, Some((kept, known))) if op.by.sees(known.task()) => {
                if self.loaded.done.contains(&op.id) {
                    return Ok(Applied { known, events: Vec::new(), repeated: true });
                }
                self.advance(op, (kept, known), now)
            }
            (None, Some(_) | None) => Err(Error::NotFound),
        }
    }

    fn create(&mut self, op: &Op, new: &Create, now: Timestamp) -> Result<Applied, Error> {
        let named = (new.new.agent.clone(), new.new.owner.clone());
        if let Some(key) = &new.idempotency
            && let Some(known) = self.find_key(&named, key, now)?
        {
            return Ok(Applied { known, events: Vec::new(), repeated: true });
        }
        let judged = Op { now, ..op.clone() };
        let Prepared { snapshot, steps, text } = Prepared::new(&judged, new)?;
        self.count_task(&op.by, &new.new.owner.grant, now)?;
        let scope = self.scope(&named)?;
        if let Some(Idempotency { key, digest }) = &new.idempotency {
            let stands_for = StandsFor { digest: *digest, task: op.task, at: now };
            self.loaded.keys.insert((named, key.clone()), stands_for);
            self.keys.push(NewKey { scope, key: key.clone(), digest: *digest, task: op.task, at: now });
        }
        let kept = Kept { key: self.numbers.take(), scope, task: Arc::new(snapshot.task.clone()) };
        self.created.insert(op.task);
        self.events.push(Change { task: kept.key, op: op.id, events: steps.events.clone(), text });
        let applied = self.note((kept, Known::Whole(snapshot)), None, steps);
        // What came of this operation is owed already: all but the submission.
        self.owe(op, 1, now);
        Ok(applied)
    }

    fn advance(&mut self, op: &Op, (kept, known): (Kept, Known), now: Timestamp) -> Result<Applied, Error> {
        op.by.holds(known.task())?;
        let before = Task::clone(known.task());
        let mut steps = Steps::default();
        let after = steps.run(before.clone(), &op.inputs, now)?;
        if let Some(new) = &op.push {
            self.check_room(op.task, &new.id)?;
        }
        if after == before {
            return Ok(Applied { known, events: Vec::new(), repeated: false });
        }
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
            self.events.push(Change { task: kept.key, op: op.id, events: steps.events.clone(), text });
        }
        let kept = Kept { task: Arc::new(Task::clone(known.task())), ..kept };
        let applied = self.note((kept, known), Some(&before.state), steps);
        self.owe(op, before.seq, now);
        Ok(applied)
    }

    /// What the operation that was noted last owes to webhooks, the one that it brings along too: that has seen everything
    /// up to `cursor`.
    fn owe(&mut self, op: &Op, cursor: u64, now: Timestamp) {
        let Some(commit) = self.commits.last_mut() else { return };
        if let Some(new) = &op.push {
            self.puts.push(push::put(commit.known.task(), new, (cursor, now)));
            self.loaded.pushed.insert(op.task);
            self.loaded.configs.entry(op.task).or_default().insert(new.id.clone());
        }
        commit.owed =
            self.loaded.pushed.contains(&op.task) && commit.events.iter().any(|event| is_told(event));
        if commit.owed {
            self.owed.entry(op.task).or_insert(now);
        }
    }

    /// What is to be known after the commit, and the counts. `before`: none of a new task.
    fn note(&mut self, (kept, known): (Kept, Known), before: Option<&State>, steps: Steps) -> Applied {
        let Steps { events, nudges } = steps;
        let task = known.task();
        let (old, new) = (before.map(State::shown), task.state.shown());
        let running = |state: &State| i64::from(matches!(state, State::Running { .. }));
        if let Some(count) = self.loaded.running.get_mut(&task.agent) {
            *count += running(&task.state) - before.map_or(0, running);
        }
        if old != Some(new) {
            *self.counts.entry((kept.scope, i64::from(new.number()))).or_default() += 1;
            if let Some(old) = old {
                *self.counts.entry((kept.scope, i64::from(old.number()))).or_default() -= 1;
            }
            let grant = Arc::clone(&task.owner.grant);
            self.count_open(&grant, old.is_some_and(TaskState::is_open), new.is_open());
        }
        self.changed.insert(kept.task.id, (kept, known.clone()));
        self.commits.push(Committed { known: known.clone(), events: events.clone(), nudges, owed: false });
        Applied { known, events, repeated: false }
    }

    /// The task as this transaction sees it.
    pub fn lookup(&self, id: TaskId) -> Option<(Kept, Known)> {
        if let Some(changed) = self.changed.get(&id) {
            return Some(changed.clone());
        }
        let kept = self.loaded.tasks.get(&id)?;
        Some((kept.clone(), Known::Head(Arc::clone(&kept.task))))
    }

    /// A create whose task is there: the same operation again, or a fault of the caller's ids.
    fn repeated(&self, op: &Op, known: Known) -> Result<Applied, Error> {
        let now_done = || self.events.iter().any(|change| change.op == op.id);
        if self.loaded.done.contains(&op.id) || now_done() {
            return Ok(Applied { known, events: Vec::new(), repeated: true });
        }
        Err(Error::Corrupt(format!("a second task {} was to be created", op.task)))
    }

    /// The task that a fresh key stands for. One that was retired leaves its key free.
    fn find_key(&mut self, named: &Named, key: &Idempotency, now: Timestamp) -> Result<Option<Known>, Error> {
        match self.loaded.keys.get(&(named.clone(), key.key.clone())) {
            Some(found) if now.as_millis() - found.at.as_millis() > KEY_LIVES_MS => Ok(None),
            Some(found) if found.digest == key.digest => {
                let known = self.lookup(found.task).map(|(_, known)| known);
                if known.is_none() {
                    self.retired.push(found.task);
                }
                Ok(known)
            }
            Some(_) => Err(Error::KeyReused),
            None => Ok(None),
        }
    }

    /// Refuses one more configuration than a task may have; one that replaces another is none more.
    fn check_room(&self, task: TaskId, id: &str) -> Result<(), Error> {
        let configs = self.loaded.configs.get(&task);
        let others = configs.map_or(0, |ids| ids.iter().filter(|other| *other != id).count());
        if others >= PUSH_CONFIGS { Err(Refusal::TooManyPushConfigs.into()) } else { Ok(()) }
    }
}

/// What a grant's limits say of its tasks is in [`quota`](super::quota).
impl Group<'_> {
    pub fn standing(&self, id: &str) -> Option<&crate::Grant> {
        self.loaded.grants.get(id).map(|stored| &stored.grant)
    }

    /// What is counted of a grant, where its tasks are counted.
    pub fn counted(&mut self, id: &str) -> Option<&mut (GrantLimits, Usage)> {
        self.usage.get_mut(id)
    }
}

fn put_keys(keys: &[NewKey], retired: &[TaskId]) -> Vec<Asked> {
    let newest = keys.iter().map(|key| key.at.as_millis()).max().unwrap_or_default();
    let forgotten = newest.saturating_sub(KEY_LIVES_MS);
    let spelled = |key: &NewKey| escaped(&key.key).into_owned();
    let forget = vec![
        all(keys, |key| key.scope),
        all(keys, spelled),
        Box::new(forgotten) as _,
        Box::new(int(2 * keys.len())) as _,
    ];
    let put = vec![
        all(keys, |key| key.scope),
        all(keys, spelled),
        all(keys, |key| key.digest.to_vec()),
        all(keys, |key| uuid(key.task)),
        all(keys, |key| key.at.as_millis()),
    ];
    let mut asked = vec![Asked::new(FORGET_KEYS, forget), Asked::new(PUT_KEYS, put)];
    if !retired.is_empty() {
        let free = vec![
            all(keys, |key| key.scope),
            all(keys, spelled),
            Box::new(retired.iter().copied().map(uuid).collect::<Vec<_>>()) as _,
        ];
        asked.insert(0, Asked::new(FREE_KEYS, free));
    }
    asked
}

fn put_usage(usage: &[(Arc<str>, (GrantLimits, Usage))]) -> Asked {
    let bind = vec![
        all(usage, |(id, _)| escaped(id).into_owned()),
        all(usage, |(_, (_, usage))| i64::from(usage.open)),
        all(usage, |(_, (_, usage))| usage.day),
        all(usage, |(_, (_, usage))| i64::from(usage.made)),
    ];
    Asked::new(PUT_USAGE, bind)
}
