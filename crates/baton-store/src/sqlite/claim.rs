//! Claims inside the writer's transaction: what is due is handed out, within what the agent may have at work and within its
//! budget.

use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::task::{Input, Snapshot};
use rusqlite::{OptionalExtension as _, params};
use uuid::Uuid;

use super::apply::Group;
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

pub(super) const COUNT_RUNNING: &str = "-- store.count_running
SELECT count(*) FROM task WHERE agent = ?1 AND phase = 'running'";

const FIND_BUDGET: &str = "-- store.find_budget
SELECT used FROM budget WHERE agent = ?1 AND since = ?2";

const PUT_BUDGET: &str = "-- store.put_budget
INSERT OR REPLACE INTO budget (agent, since, used) VALUES (?1, ?2, ?3)";

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
        self.flush()?;
        let used = claim.budget.map_or(Ok(0), |budget| self.used(claim, &budget))?;
        let Room { most, short_of } = self.room(claim, used)?;
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

    fn room(&self, claim: &Claim, used: u32) -> Result<Room, Error> {
        let mut room = Room { most: claim.most, short_of: None };
        let mut bound = |left: u32, why: HeldBack| {
            if (left as usize) < room.most {
                room = Room { most: left as usize, short_of: Some(why) };
            }
        };
        if let Some(concurrency) = claim.concurrency {
            let agent = [claim.agent.as_str()];
            let running: u32 = self.db.prepare_cached(COUNT_RUNNING)?.query_row(agent, |row| row.get(0))?;
            bound(concurrency.saturating_sub(running), HeldBack::Concurrency);
        }
        if let Some(budget) = &claim.budget {
            let until = budget.window(claim.now).after(budget.per);
            bound(budget.claims.saturating_sub(used), HeldBack::Budget { until });
        }
        Ok(room)
    }

    /// What of the budget's window is used up.
    fn used(&self, claim: &Claim, budget: &Budget) -> Result<u32, Error> {
        let bind = params![claim.agent.as_str(), budget.window(claim.now).as_millis()];
        let used = self.db.prepare_cached(FIND_BUDGET)?.query_row(bind, |row| row.get(0)).optional()?;
        Ok(used.unwrap_or(0))
    }

    fn claim_one(&mut self, claim: &Claim, id: TaskId, most: usize) -> Result<Vec<Arc<Snapshot>>, Error> {
        let found = self.lookup(id)?.ok_or(Error::NotFound)?;
        if !By::Node.sees(found.known.task()) || found.known.task().agent != claim.agent {
            return Err(Error::NotFound);
        }
        if most == 0 {
            return Ok(Vec::new());
        }
        let applied = self.apply(&taking(claim, id), None)?;
        Ok(vec![self.whole(applied.known)?])
    }

    fn claim_next(&mut self, claim: &Claim, most: usize) -> Result<Vec<Arc<Snapshot>>, Error> {
        if most > 0 {
            let bind = params![claim.agent.as_str(), claim.now.as_millis()];
            self.db.prepare_cached(QUEUE_DUE)?.execute(bind)?;
        }
        let (mut claimed, mut passed_over) = (Vec::new(), 0);
        loop {
            let ids = self.ready(claim, most - claimed.len(), passed_over)?;
            if ids.is_empty() {
                return Ok(claimed);
            }
            for id in ids {
                match self.apply(&taking(claim, id), None) {
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

    fn whole(&mut self, known: Known) -> Result<Arc<Snapshot>, Error> {
        match known {
            Known::Whole(snapshot) => Ok(snapshot),
            Known::Head(task) => {
                self.flush()?;
                let key = self.key_of(task.id).ok_or(Error::NotFound)?;
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
