//! Claims inside a group's transaction: what is due is handed out, within what the agent may have at work and within its
//! budget, whichever node asks.

use std::collections::VecDeque;
use std::sync::Arc;

use baton_core::ident::{AgentName, TaskId};
use baton_core::task::{Event, Input, Snapshot, Task};
use baton_core::time::Timestamp;
use uuid::Uuid;

use super::apply::Group;
use super::batch::all;
use super::load::judged;
use super::pipeline::{Asked, Value};
use super::rows::int;
use crate::{Applied, Budget, By, Claim, Error, HeldBack, Op};

/// Claims of an agent that may not have as many tasks at work as it likes are one after the other.
pub const LOCK_CLAIMS: &str = "-- store.lock_claims
SELECT pg_advisory_xact_lock(hashtext('baton.claims ' || current_schema()), hashtext($1))";

/// What was put off and is due now, a bounded number of tasks at each claim; what somebody else has in hand at that moment
/// is left to the next.
pub const QUEUE_DUE: &str = "-- store.queue_due
UPDATE task SET queued = TRUE WHERE key IN (SELECT key FROM task
    WHERE agent = $1 AND phase = 'ready' AND NOT queued
        AND not_before <= coalesce($2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    ORDER BY not_before LIMIT 256 FOR UPDATE SKIP LOCKED)";

/// What others claim at the same time is passed over.
pub const LIST_READY: &str = "-- store.list_ready
SELECT id FROM task
WHERE agent = $1 AND phase = 'ready' AND queued
    AND (deadline IS NULL OR deadline > coalesce($2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint))
    AND id <> ALL ($3)
ORDER BY priority DESC, created_at, id LIMIT $4 FOR UPDATE SKIP LOCKED";

pub const COUNT_RUNNING: &str = "-- store.count_running
SELECT agent, count(*) FROM task WHERE agent = ANY ($1) AND phase = 'running' GROUP BY agent";

pub const LIST_BUDGETS: &str = "-- store.list_budgets
SELECT agent, since, used FROM budget WHERE agent = ANY ($1)";

const PUT_BUDGETS: &str = "-- store.put_budget
INSERT INTO budget (agent, since, used) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])
ON CONFLICT (agent) DO UPDATE SET since = excluded.since, used = excluded.used";

/// How many tasks a claim may take, and what keeps it from more.
struct Room {
    most: usize,
    short_of: Option<HeldBack>,
}

/// What a claim came to; the content of its tasks is still to be read.
#[derive(Default)]
pub struct Taken {
    pub tasks: Vec<TakenTask>,
    pub held_back: Option<HeldBack>,
}

/// A task that was claimed, with what this transaction has done to it so far.
pub struct TakenTask {
    pub task: Task,
    events: Vec<Arc<Event>>,
}

impl TakenTask {
    /// With what was said and written before.
    pub fn snapshot(self, (mut content, is_whole): (Snapshot, bool)) -> Arc<Snapshot> {
        if !is_whole {
            self.events.iter().for_each(|event| content.fill(event));
        }
        content.task = self.task;
        Arc::new(content)
    }
}

/// Asks for what an agent's claims may take; `passed`: but for these.
pub fn list_ready((agent, now): &(AgentName, Option<i64>), most: usize, passed: &[Uuid]) -> Asked {
    let bind: Vec<Value> = vec![
        Box::new(agent.as_str().to_owned()),
        Box::new(*now),
        Box::new(passed.to_vec()),
        Box::new(int(most)),
    ];
    Asked::new(LIST_READY, bind)
}

/// What of budgets is used up now.
pub fn put_budgets(used: &[(AgentName, (Timestamp, u64))]) -> Option<Asked> {
    if used.is_empty() {
        return None;
    }
    let bind = vec![
        all(used, |(agent, _)| agent.as_str().to_owned()),
        all(used, |(_, (since, _))| since.as_millis()),
        all(used, |(_, (_, used))| int(*used)),
    ];
    Some(Asked::new(PUT_BUDGETS, bind))
}

impl Group<'_> {
    pub fn claim(&mut self, claim: &Claim) -> Result<Taken, Error> {
        let now = self.now(claim.now);
        if let Some(owner) = &claim.by {
            self.check_owner(owner, now)?;
        }
        let used = claim.budget.map_or(0, |budget| self.used(claim, &budget, now));
        let Room { most, short_of } = self.room(claim, used, now);
        let tasks = match claim.task {
            Some(id) => self.claim_one(claim, id, most)?,
            None => self.claim_next(claim, most)?,
        };
        if let Some(budget) = &claim.budget
            && !tasks.is_empty()
        {
            let used = (budget.window(now), used + tasks.len() as u64);
            self.budgets.insert(claim.agent.clone(), used);
        }
        let held_back = short_of.filter(|_| tasks.len() == most);
        Ok(Taken { tasks, held_back })
    }

    fn room(&self, claim: &Claim, used: u64, now: Timestamp) -> Room {
        let mut room = Room { most: claim.most, short_of: None };
        let mut bound = |left: u64, why: HeldBack| {
            if left < room.most as u64 {
                room = Room { most: usize::try_from(left).unwrap_or(usize::MAX), short_of: Some(why) };
            }
        };
        if let Some(concurrency) = claim.concurrency {
            let running = self.loaded.running.get(&claim.agent).copied().unwrap_or_default();
            bound(
                u64::from(concurrency).saturating_sub(running.max(0).unsigned_abs()),
                HeldBack::Concurrency,
            );
        }
        if let Some(budget) = &claim.budget {
            let until = budget.window(now).after(budget.per);
            bound(u64::from(budget.claims).saturating_sub(used), HeldBack::Budget { until });
        }
        room
    }

    /// What of the budget's window is used up.
    fn used(&self, claim: &Claim, budget: &Budget, now: Timestamp) -> u64 {
        let known = self.budgets.get(&claim.agent).or_else(|| self.loaded.budgets.get(&claim.agent));
        known.filter(|(since, _)| *since == budget.window(now)).map_or(0, |(_, used)| *used)
    }

    fn claim_one(&mut self, claim: &Claim, id: TaskId, most: usize) -> Result<Vec<TakenTask>, Error> {
        let (_, known) = self.lookup(id).ok_or(Error::NotFound)?;
        if !By::Node.sees(known.task()) || known.task().agent != claim.agent {
            return Err(Error::NotFound);
        }
        if most == 0 {
            return Ok(Vec::new());
        }
        let applied = self.apply(&taking(claim, id))?;
        Ok(vec![self.taken(&applied)])
    }

    fn claim_next(&mut self, claim: &Claim, most: usize) -> Result<Vec<TakenTask>, Error> {
        let of = (claim.agent.clone(), judged(self.clock, claim.now));
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(id) = self.loaded.ready.get_mut(&of).and_then(VecDeque::pop_front) else { break };
            match self.apply(&taking(claim, id)) {
                Ok(applied) => taken.push(self.taken(&applied)),
                // Another operation of this group came first.
                Err(Error::Refused(_)) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(taken)
    }

    fn taken(&self, applied: &Applied) -> TakenTask {
        let task = Task::clone(applied.known.task());
        let key = self.changed.get(&task.id).map(|(kept, _)| kept.key);
        let of_task = self.events.iter().filter(|change| Some(change.task) == key);
        let events = of_task.flat_map(|change| change.events.iter().cloned());
        let events = events.filter(|event| event.seq <= task.seq).collect();
        TakenTask { task, events }
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
