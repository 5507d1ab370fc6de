//! Claims inside the writer's transaction: what is due is handed out, within what the agent may have at work and within its
//! budget.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use baton_core::ident::{AgentName, TaskId};
use baton_core::task::{Input, Snapshot, State};
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::apply::Group;
use super::hot::Kept;
use super::{read, rows};
use crate::{Budget, By, Claim, Claimed, Error, HeldBack, Known, Op};

/// What was put off and is due now, a bounded number of tasks at each claim.
const QUEUE_DUE: &str = "-- store.queue_due
UPDATE task SET queued = 1 WHERE key IN (SELECT key FROM task
    WHERE agent = ?1 AND phase = 'ready' AND queued = 0 AND not_before <= ?2 ORDER BY not_before LIMIT 256)";

pub(super) const LIST_READY: &str = "-- store.list_ready
SELECT id FROM task
WHERE agent = ?1 AND phase = 'ready' AND queued = 1 AND (deadline IS NULL OR deadline > ?2)
ORDER BY priority DESC, created_at, id LIMIT ?3 OFFSET ?4";

/// Asked once: the writer counts from there on.
pub(super) const LIST_RUNNING: &str = "-- store.list_running
SELECT agent, count(*) FROM task
WHERE scope IN (SELECT key FROM scope) AND shown_state = 2 AND phase = 'running' GROUP BY agent";

const FIND_BUDGET: &str = "-- store.find_budget
SELECT used FROM budget WHERE agent = ?1 AND since = ?2";

const PUT_BUDGET: &str = "-- store.put_budget
INSERT OR REPLACE INTO budget (agent, since, used) VALUES (?1, ?2, ?3)";

/// How many tasks of each agent are worked on, as it was committed last. The writer alone knows it.
#[derive(Debug, Default)]
pub struct Running(HashMap<AgentName, u32>);

impl Running {
    pub fn load(db: &Connection) -> Result<Self, Error> {
        let mut statement = db.prepare(LIST_RUNNING)?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
        let mut running = HashMap::new();
        for found in statement.query_map([], row)? {
            let (agent, count) = found?;
            let agent =
                AgentName::parse(&agent).map_err(|why| Error::Corrupt(format!("agent {agent}: {why}")))?;
            running.insert(agent, count);
        }
        Ok(Self(running))
    }

    /// After a commit.
    pub fn add(&mut self, begun: HashMap<AgentName, i64>) {
        for (agent, more) in begun {
            let count = self.0.entry(agent).or_default();
            *count = count.saturating_add_signed(i32::try_from(more).unwrap_or(i32::MAX));
        }
    }
}

/// Tasks of an agent in the order of their turns, looked up once for the claims of a transaction.
pub struct Ready {
    tasks: VecDeque<TaskId>,
    /// There are no more than these.
    is_all: bool,
    /// What was due by then is among them.
    at: Timestamp,
    /// Tasks that stay in front, since they are not to be had.
    passed_over: usize,
}

/// How many tasks a claim may take, and what keeps it from more.
struct Room {
    most: usize,
    short_of: Option<HeldBack>,
}

impl Group<'_> {
    /// A task that the state machine refuses to hand out is passed over: it must not keep its agent from the others.
    pub fn claim(&mut self, claim: &Claim) -> Result<Claimed, Error> {
        if let Some(owner) = &claim.by {
            self.check_owner(owner, claim.now)?;
        }
        self.claims = self.claims.saturating_sub(1);
        let used = claim.budget.map_or(Ok(0), |budget| self.used(claim, &budget))?;
        let Room { most, short_of } = self.room(claim, used);
        let tasks = match claim.task {
            Some(id) => self.claim_one(claim, id, most)?,
            None => self.claim_next(claim, most)?,
        };
        if let Some(budget) = &claim.budget
            && !tasks.is_empty()
        {
            let (since, used) = (budget.window(claim.now).as_millis(), u64::from(used) + tasks.len() as u64);
            self.db.prepare_cached(PUT_BUDGET)?.execute(params![claim.agent.as_str(), since, used])?;
        }
        let held_back = short_of.filter(|_| tasks.len() == most);
        Ok(Claimed { tasks, held_back })
    }

    fn room(&self, claim: &Claim, used: u32) -> Room {
        let mut room = Room { most: claim.most, short_of: None };
        let mut bound = |left: u32, why: HeldBack| {
            if (left as usize) < room.most {
                room = Room { most: left as usize, short_of: Some(why) };
            }
        };
        if let Some(concurrency) = claim.concurrency {
            let before = self.running.0.get(&claim.agent).copied().unwrap_or(0);
            let begun = self.begun.get(&claim.agent).copied().unwrap_or(0);
            let running = u32::try_from(i64::from(before) + begun).unwrap_or(0);
            bound(concurrency.saturating_sub(running), HeldBack::Concurrency);
        }
        if let Some(budget) = &claim.budget {
            let until = budget.window(claim.now).after(budget.per);
            bound(budget.claims.saturating_sub(used), HeldBack::Budget { until });
        }
        room
    }

    /// What of the budget's window is used up.
    fn used(&self, claim: &Claim, budget: &Budget) -> Result<u32, Error> {
        let bind = params![claim.agent.as_str(), budget.window(claim.now).as_millis()];
        let used = self.db.prepare_cached(FIND_BUDGET)?.query_row(bind, |row| row.get(0)).optional()?;
        Ok(used.unwrap_or(0))
    }

    fn claim_one(&mut self, claim: &Claim, id: TaskId, most: usize) -> Result<Vec<Arc<Snapshot>>, Error> {
        let kept = self.find(id)?.ok_or(Error::NotFound)?;
        if !By::Node.sees(kept.known.task()) || kept.known.task().agent != claim.agent {
            return Err(Error::NotFound);
        }
        if most == 0 {
            return Ok(Vec::new());
        }
        Ok(vec![self.take(claim, id, kept)?])
    }

    fn claim_next(&mut self, claim: &Claim, most: usize) -> Result<Vec<Arc<Snapshot>>, Error> {
        let mut claimed = Vec::new();
        while claimed.len() < most
            && let Some(id) = self.next_ready(claim, most - claimed.len())?
        {
            let Some(kept) = self.find(id)? else { continue };
            let was_ready = matches!(kept.known.task().state, State::Ready { .. });
            match self.take(claim, id, kept) {
                Ok(snapshot) => claimed.push(snapshot),
                Err(Error::Refused(_)) => {
                    if was_ready && let Some(ready) = self.ready.get_mut(&claim.agent) {
                        ready.passed_over += 1;
                    }
                }
                Err(why) => return Err(why),
            }
        }
        Ok(claimed)
    }

    /// The task whose turn it is; `most` are wanted.
    fn next_ready(&mut self, claim: &Claim, most: usize) -> Result<Option<TaskId>, Error> {
        let known = self.ready.remove(&claim.agent).filter(|known| known.at >= claim.now);
        let mut ready = match known {
            Some(ready) => ready,
            None => self.look(claim)?,
        };
        if ready.tasks.is_empty() && !ready.is_all {
            // Those who claim after this one want theirs too.
            let most = most + self.claims;
            let bind = params![claim.agent.as_str(), claim.now.as_millis(), most, ready.passed_over];
            let mut statement = self.db.prepare_cached(LIST_READY)?;
            ready.tasks =
                statement.query_map(bind, |row| rows::id(row, 0))?.collect::<rusqlite::Result<_>>()?;
            ready.is_all = ready.tasks.len() < most;
        }
        let next = ready.tasks.pop_front();
        self.ready.insert(claim.agent.clone(), ready);
        Ok(next)
    }

    /// Begins to hand out tasks of an agent.
    fn look(&mut self, claim: &Claim) -> Result<Ready, Error> {
        self.flush_tasks()?;
        let bind = params![claim.agent.as_str(), claim.now.as_millis()];
        self.db.prepare_cached(QUEUE_DUE)?.execute(bind)?;
        Ok(Ready { tasks: VecDeque::new(), is_all: false, at: claim.now, passed_over: 0 })
    }

    /// What a step means to the agent's queue.
    pub fn queue(&mut self, agent: &AgentName, before: Option<&State>, now: &State) {
        let running = |state: &State| i64::from(matches!(state, State::Running { .. }));
        let more = running(now) - before.map_or(0, running);
        if more != 0 {
            *self.begun.entry(agent.clone()).or_default() += more;
        }
        // It may come before those that were looked up.
        if matches!(now, State::Ready { .. }) {
            self.ready.remove(agent);
        }
    }

    /// The task with its content, as this transaction sees it.
    fn find(&mut self, id: TaskId) -> Result<Option<Kept>, Error> {
        if let Some(kept) = self.recall(id) {
            return Ok(Some(kept));
        }
        let Some((key, task)) = rows::find_task(self.db, id)? else { return Ok(None) };
        let snapshot = read::snapshot_of(self.db, key, task)?;
        Ok(Some(Kept { key, known: Known::Whole(Arc::new(snapshot)) }))
    }

    fn take(&mut self, claim: &Claim, id: TaskId, kept: Kept) -> Result<Arc<Snapshot>, Error> {
        let key = kept.key;
        match self.advance(&taking(claim, id), kept)?.known {
            Known::Whole(snapshot) => Ok(snapshot),
            // It has too much content to be kept in memory.
            Known::Head(task) => {
                self.flush()?;
                Ok(Arc::new(read::snapshot_of(self.db, key, (*task).clone())?))
            }
        }
    }
}

/// The operation that begins the attempt.
fn taking(claim: &Claim, task: TaskId) -> Op {
    Op {
        id: Uuid::nil(),
        task,
        by: By::Node,
        create: None,
        inputs: vec![Input::Claimed { holder: claim.holder.clone(), lease: claim.lease }],
        push: None,
        now: claim.now,
        repeat: false,
    }
}
