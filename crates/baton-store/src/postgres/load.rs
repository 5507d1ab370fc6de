//! What a group of operations needs to know, read and locked before the first of them is looked at: one way to the database
//! and back, and one more where what was found leads to something else.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, LazyLock};

use baton_core::ident::{AgentName, TaskId};
use baton_core::task::{Input, step};
use baton_core::time::Timestamp;
use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;
use uuid::Uuid;

use super::access::{GRANT, Stored, stored};
use super::claim::{COUNT_RUNNING, LIST_BUDGETS, LOCK_CLAIMS, QUEUE_DUE, list_ready};
use super::failure::Failure;
use super::log::FIND_OPS;
use super::mark::{MARK, Mark};
use super::pipeline::{Asked, Value, ask};
use super::rows::{
    Kept, TASK, TASK_COLUMNS, count, digest, escaped, id, int, number, task, text, time, unreadable, uuid,
};
use super::scope::{INSERT_SCOPE, Named, Scopes};
use super::settings::Clock;
use super::writer::Write;
use crate::{Claim, GrantLimits, LOCAL, Op, Usage};

/// Tasks of one block of the sequence.
const BLOCK: i64 = 1_024;

const BEGIN: &str = "-- store.begin
BEGIN";

/// In one order, so that two groups do not wait for each other.
const LOCK_TASKS: &str = "-- store.lock_tasks
SELECT id FROM task WHERE id = ANY ($1) ORDER BY id FOR UPDATE";

/// Of what is locked: another statement than the one that waited for the lock, since that may still see what was before.
static LIST_LOCKED: LazyLock<&str> = LazyLock::new(|| {
    let sql = format!(
        r#"-- store.list_locked
SELECT {TASK}, EXISTS (SELECT 1 FROM push_config WHERE task_id = task.id),
    coalesce((SELECT counted FROM "grant" WHERE "grant".id = grant_id), FALSE)
FROM task JOIN scope ON scope.key = task.scope WHERE task.id = ANY ($1)"#
    );
    String::leak(sql)
});

static LIST_STANDINGS: LazyLock<&str> = LazyLock::new(|| {
    String::leak(format!("-- store.list_standings\nSELECT {GRANT} FROM \"grant\" WHERE id = ANY ($1)"))
});

const LOCK_COUNTED: &str = r#"-- store.lock_counted
SELECT id FROM "grant" WHERE id = ANY ($1) AND counted ORDER BY id FOR UPDATE"#;

const FIND_KEYS: &str = "-- store.find_key
SELECT asked.nth, digest, task_id, at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS asked (agent, grant_id, subject, key, nth)
    JOIN scope ON (scope.agent, scope.grant_id, scope.subject) = (asked.agent, asked.grant_id, asked.subject)
    JOIN idempotency ON idempotency.scope = scope.key AND idempotency.key = asked.key";

const LIST_CONFIGS: &str = "-- store.list_push_config_ids
SELECT task_id, id FROM push_config WHERE task_id = ANY ($1)";

const NEXT_BLOCK: &str = "-- store.next_block
SELECT nextval('task_block')";

/// The numbers that new tasks get.
#[derive(Debug, Default)]
pub struct Numbers {
    next: i64,
    end: i64,
}

impl Numbers {
    pub fn take(&mut self) -> i64 {
        let number = self.next;
        self.next += 1;
        number
    }

    const fn left(&self) -> i64 {
        self.end - self.next
    }

    fn begin(&mut self, block: i64) {
        self.next = block * BLOCK;
        self.end = self.next + BLOCK;
    }
}

/// A key that a message came with, and whose it is.
pub type Keyed = (Named, String);

/// What one key stands for.
#[derive(Clone, Copy, Debug)]
pub struct StandsFor {
    pub digest: [u8; 32],
    pub task: TaskId,
    pub at: Timestamp,
}

/// What is known when a group begins.
#[derive(Default)]
pub struct Loaded {
    pub now: Timestamp,
    pub tasks: HashMap<TaskId, Kept>,
    /// Tasks that have a push configuration.
    pub pushed: HashSet<TaskId>,
    /// The configurations of tasks that are to get one more.
    pub configs: HashMap<TaskId, HashSet<String>>,
    /// Operations that are repeated and were done.
    pub done: HashSet<Uuid>,
    pub keys: HashMap<Keyed, StandsFor>,
    pub grants: HashMap<Arc<str>, Stored>,
    /// Grants whose tasks are counted.
    counted: HashSet<Arc<str>>,
    /// The same, locked, with what is counted of them.
    pub usage: HashMap<Arc<str>, (GrantLimits, Usage)>,
    /// What can be claimed, by agent and by the time of the claim.
    pub ready: HashMap<(AgentName, Option<i64>), VecDeque<TaskId>>,
    /// How many tasks are at work of agents that may only have so many.
    pub running: HashMap<AgentName, i64>,
    /// What of budgets is used up: since when, and how much.
    pub budgets: HashMap<AgentName, (Timestamp, u64)>,
    pub scopes: HashMap<Named, i64>,
}

/// How a group is loaded.
#[derive(Clone, Copy)]
pub struct How<'a> {
    pub clock: Clock,
    pub scopes: &'a Scopes,
    /// Looks for tasks that are to be made, too: one was there already.
    pub careful: bool,
    pub mark: Mark,
}

/// What a group's operations ask for, without a look at what is stored.
struct Wanted {
    tasks: Vec<Uuid>,
    repeats: Vec<(Uuid, Uuid)>,
    keys: Vec<Keyed>,
    grants: Vec<Arc<str>>,
    pushes: Vec<Uuid>,
    named: Vec<Named>,
    claims: Vec<((AgentName, Option<i64>), usize)>,
    /// Agents whose claims are bounded by more than what is there.
    bounded: BTreeSet<AgentName>,
    creates: usize,
    mark: Mark,
}

impl Wanted {
    fn by(group: &[Write], how: How<'_>) -> Self {
        let mut wanted = Self {
            tasks: Vec::new(),
            repeats: Vec::new(),
            keys: Vec::new(),
            grants: Vec::new(),
            pushes: Vec::new(),
            named: Vec::new(),
            claims: Vec::new(),
            bounded: BTreeSet::new(),
            creates: 0,
            mark: how.mark,
        };
        for write in group {
            match write {
                Write::Apply(op, _) => wanted.add_op(op, how),
                Write::Claim(claim, _) => wanted.add_claim(claim, how.clock),
            }
        }
        wanted.tasks.sort_unstable();
        wanted.tasks.dedup();
        wanted
    }

    fn add_op(&mut self, op: &Op, how: How<'_>) {
        if let Some(owner) = op.by.caller() {
            self.want_grant(&owner.grant);
        }
        if op.repeat {
            self.repeats.push((uuid(op.task), op.id));
        }
        let Some(create) = &op.create else {
            self.tasks.push(uuid(op.task));
            if op.push.is_some() {
                self.pushes.push(uuid(op.task));
            }
            return;
        };
        self.creates += 1;
        if op.repeat || how.careful {
            self.tasks.push(uuid(op.task));
        }
        let named = (create.new.agent.clone(), create.new.owner.clone());
        self.want_grant(&create.new.owner.grant);
        if let Some(key) = &create.idempotency {
            self.keys.push((named.clone(), key.key.clone()));
        }
        if how.scopes.find(&named).is_none() && !self.named.contains(&named) {
            self.named.push(named);
        }
    }

    fn want_grant(&mut self, id: &Arc<str>) {
        if &**id != LOCAL && !self.grants.contains(id) {
            self.grants.push(Arc::clone(id));
        }
    }

    fn add_claim(&mut self, claim: &Claim, clock: Clock) {
        if let Some(owner) = &claim.by {
            self.want_grant(&owner.grant);
        }
        if claim.concurrency.is_some() || claim.budget.is_some() {
            self.bounded.insert(claim.agent.clone());
        }
        if let Some(task) = claim.task {
            self.tasks.push(uuid(task));
            return;
        }
        let of = (claim.agent.clone(), judged(clock, claim.now));
        match self.claims.iter_mut().find(|(other, _)| *other == of) {
            Some((_, most)) => *most += claim.most,
            None => self.claims.push((of, claim.most)),
        }
    }

    /// What is asked first, in order: every lock before the time is.
    fn asked(&self, numbers: &Numbers) -> Vec<(Place<'_>, Asked)> {
        let mut asked = vec![(Place::Nowhere, Asked::plain(BEGIN))];
        for agent in &self.bounded {
            asked.push((Place::Nowhere, Asked::new(LOCK_CLAIMS, vec![Box::new(agent.as_str().to_owned())])));
        }
        if !self.tasks.is_empty() {
            asked.push((Place::Nowhere, Asked::new(LOCK_TASKS, vec![Box::new(self.tasks.clone())])));
        }
        for (of, most) in self.claims.iter().filter(|(_, most)| *most > 0) {
            let due: Vec<Value> = vec![Box::new(of.0.as_str().to_owned()), Box::new(of.1)];
            asked.push((Place::Nowhere, Asked::new(QUEUE_DUE, due)));
            asked.push((Place::Ready(of), list_ready(of, *most, &[])));
        }
        // After every lock, so that nothing is judged by the time before a wait.
        let Mark { node, slot, n } = self.mark;
        asked.push((Place::Begun, Asked::new(MARK, vec![Box::new(node), Box::new(slot), Box::new(n)])));
        if !self.tasks.is_empty() {
            asked.push((Place::Tasks, Asked::new(&LIST_LOCKED, vec![Box::new(self.tasks.clone())])));
        }
        if !self.grants.is_empty() {
            let ids: Vec<String> = self.grants.iter().map(|id| escaped(id).into_owned()).collect();
            asked.push((Place::Grants, Asked::new(&LIST_STANDINGS, vec![Box::new(ids)])));
        }
        if !self.keys.is_empty() {
            asked.push((Place::Keys, Asked::new(FIND_KEYS, key_columns(&self.keys))));
        }
        if !self.repeats.is_empty() {
            let (tasks, ops): (Vec<Uuid>, Vec<Uuid>) = self.repeats.iter().copied().unzip();
            asked.push((Place::Done, Asked::new(FIND_OPS, vec![Box::new(tasks), Box::new(ops)])));
        }
        if !self.pushes.is_empty() {
            asked.push((Place::Configs, Asked::new(LIST_CONFIGS, vec![Box::new(self.pushes.clone())])));
        }
        if !self.bounded.is_empty() {
            let agents: Vec<_> = self.bounded.iter().map(|agent| agent.as_str().to_owned()).collect();
            asked.push((Place::Running, Asked::new(COUNT_RUNNING, vec![Box::new(agents.clone())])));
            asked.push((Place::Budgets, Asked::new(LIST_BUDGETS, vec![Box::new(agents)])));
        }
        if numbers.left() < int(self.creates) {
            asked.push((Place::Block, Asked::plain(NEXT_BLOCK)));
        }
        asked
    }
}

/// The time of a claim, where it is the caller's.
pub const fn judged(clock: Clock, caller: Timestamp) -> Option<i64> {
    match clock {
        Clock::Database => None,
        Clock::Caller => Some(caller.as_millis()),
    }
}

/// Begins a transaction and reads what its operations need.
pub async fn load(
    client: &ClientWrapper,
    group: &[Write],
    numbers: &mut Numbers,
    how: How<'_>,
) -> Result<Loaded, Failure> {
    let wanted = Wanted::by(group, how);
    let mut loaded = Loaded::default();
    first(client, &wanted, &mut loaded, numbers).await?;
    second(client, &wanted, &mut loaded).await?;
    Ok(loaded)
}

/// What the answer to a statement is for.
enum Place<'a> {
    Nowhere,
    Begun,
    Tasks,
    Done,
    Keys,
    Grants,
    Configs,
    Block,
    Running,
    Budgets,
    Ready(&'a (AgentName, Option<i64>)),
}

async fn first(
    client: &ClientWrapper,
    wanted: &Wanted,
    loaded: &mut Loaded,
    numbers: &mut Numbers,
) -> Result<(), Failure> {
    let (places, asked): (Vec<_>, Vec<_>) = wanted.asked(numbers).into_iter().unzip();
    for (place, rows) in places.into_iter().zip(ask(client, &asked).await?) {
        match place {
            Place::Nowhere => {}
            Place::Begun => loaded.begun(&rows)?,
            Place::Tasks => loaded.add_tasks(&rows)?,
            Place::Done => {
                for row in &rows {
                    loaded.done.insert(row.try_get(0)?);
                }
            }
            Place::Keys => loaded.add_keys(&rows, &wanted.keys)?,
            Place::Grants => loaded.add_grants(&rows)?,
            Place::Configs => {
                for row in &rows {
                    loaded.configs.entry(id(row, 0)?).or_default().insert(text(row, 1)?);
                }
            }
            Place::Block => {
                for row in &rows {
                    numbers.begin(row.try_get(0)?);
                }
            }
            Place::Running => loaded.add_running(&rows, &wanted.bounded)?,
            Place::Budgets => {
                for row in &rows {
                    loaded.budgets.insert(agent(row)?, (time(row, 1)?, count(row, 2)?));
                }
            }
            Place::Ready(of) => {
                let ready: VecDeque<_> = rows.iter().map(|row| id(row, 0)).collect::<Result<_, _>>()?;
                loaded.ready.insert(of.clone(), ready);
            }
        }
    }
    Ok(())
}

/// What the first answers lead to.
async fn second(client: &ClientWrapper, wanted: &Wanted, loaded: &mut Loaded) -> Result<(), Failure> {
    let mut more: Vec<Uuid> = loaded.keys.values().map(|key| uuid(key.task)).collect();
    more.retain(|id| !loaded.tasks.contains_key(&TaskId::new(*id)));
    more.sort_unstable();
    more.dedup();
    let mut asked = Vec::new();
    if !more.is_empty() {
        asked.push(Asked::new(LOCK_TASKS, vec![Box::new(more.clone())]));
    }
    more.extend(loaded.ready.values().flatten().copied().map(uuid));
    if !more.is_empty() {
        asked.push(Asked::new(&LIST_LOCKED, vec![Box::new(more)]));
        let found = ask(client, &asked).await?;
        loaded.add_tasks(found.last().map_or(&[], Vec::as_slice))?;
        replace_refused(client, wanted, loaded).await?;
    }
    let mut asked = Vec::new();
    let counted: Vec<String> = loaded.counted.iter().map(|id| escaped(id).into_owned()).collect();
    if !counted.is_empty() {
        asked.push(Asked::new(LOCK_COUNTED, vec![Box::new(counted.clone())]));
        asked.push(Asked::new(&LIST_STANDINGS, vec![Box::new(counted)]));
    }
    let counts = asked.len();
    let mut named = wanted.named.clone();
    named.sort_by(|(agent, owner), (other, another)| {
        (agent.as_str(), &owner.grant, &owner.subject).cmp(&(
            other.as_str(),
            &another.grant,
            &another.subject,
        ))
    });
    for (agent, owner) in &named {
        let owned = |text: &str| -> Value { Box::new(escaped(text).into_owned()) };
        let bind = vec![owned(agent.as_str()), owned(&owner.grant), owned(&owner.subject)];
        asked.push(Asked::new(INSERT_SCOPE, bind));
    }
    if asked.is_empty() {
        return Ok(());
    }
    let mut found = ask(client, &asked).await?;
    for (named, rows) in named.into_iter().zip(found.split_off(counts)) {
        for row in &rows {
            loaded.scopes.insert(named.clone(), row.try_get(0)?);
        }
    }
    loaded.add_usage(found.last().map_or(&[], Vec::as_slice))
}

/// A task that the state machine refuses to hand out is passed over: it must not keep its agent from the others.
async fn replace_refused(
    client: &ClientWrapper,
    wanted: &Wanted,
    loaded: &mut Loaded,
) -> Result<(), Failure> {
    for (of, most) in &wanted.claims {
        let mut passed: Vec<Uuid> = Vec::new();
        loop {
            let now = of.1.map_or(loaded.now, Timestamp::from_millis);
            let (good, refused): (VecDeque<_>, VecDeque<_>) = match loaded.ready.get(of) {
                Some(ready) => ready.iter().copied().partition(|id| loaded.can_be_claimed(*id, now)),
                None => break,
            };
            if refused.is_empty() {
                break;
            }
            passed.extend(refused.into_iter().chain(good.iter().copied()).map(uuid));
            let asked = [list_ready(of, most - good.len(), &passed)];
            let rows = ask(client, &asked).await?.pop().unwrap_or_default();
            let more: Vec<TaskId> = rows.iter().map(|row| id(row, 0)).collect::<Result<_, _>>()?;
            let ids: Vec<Uuid> = more.iter().copied().map(uuid).collect();
            let rows = ask(client, &[Asked::new(&LIST_LOCKED, vec![Box::new(ids)])]).await?;
            loaded.add_tasks(rows.last().map_or(&[], Vec::as_slice))?;
            loaded.ready.insert(of.clone(), good.into_iter().chain(more).collect());
        }
    }
    Ok(())
}

/// The name of an agent, in the first column.
fn agent(row: &Row) -> Result<AgentName, Failure> {
    AgentName::parse(row.try_get(0)?).map_err(|why| unreadable(&why.to_string()))
}

fn key_columns(keys: &[Keyed]) -> Vec<Value> {
    let column = |text: fn(&Keyed) -> &str| -> Value {
        Box::new(keys.iter().map(|key| escaped(text(key)).into_owned()).collect::<Vec<_>>())
    };
    vec![
        column(|((agent, _), _)| agent.as_str()),
        column(|((_, owner), _)| &owner.grant),
        column(|((_, owner), _)| &owner.subject),
        column(|(_, key)| key),
    ]
}

impl Loaded {
    fn begun(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            self.now = time(row, 0)?;
        }
        Ok(())
    }

    fn add_tasks(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let kept = task(row)?;
            let id = kept.task.id;
            if row.try_get(TASK_COLUMNS)? {
                self.pushed.insert(id);
            }
            if row.try_get(TASK_COLUMNS + 1)? {
                self.counted.insert(Arc::clone(&kept.task.owner.grant));
            }
            self.tasks.insert(id, kept);
        }
        Ok(())
    }

    fn add_running(&mut self, rows: &[Row], of: &BTreeSet<AgentName>) -> Result<(), Failure> {
        self.running.extend(of.iter().map(|agent| (agent.clone(), 0)));
        for row in rows {
            self.running.insert(agent(row)?, row.try_get(1)?);
        }
        Ok(())
    }

    fn add_keys(&mut self, rows: &[Row], asked: &[Keyed]) -> Result<(), Failure> {
        for row in rows {
            let key = asked.get(number::<usize>(row, 0)? - 1);
            let stands_for = StandsFor { digest: digest(row, 1)?, task: id(row, 2)?, at: time(row, 3)? };
            if let Some(key) = key {
                self.keys.insert(key.clone(), stands_for);
            }
        }
        Ok(())
    }

    fn add_grants(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let stored = stored(row)?;
            if stored.grant.limits.counts_tasks() {
                self.counted.insert(Arc::clone(&stored.grant.id));
            }
            self.grants.insert(Arc::clone(&stored.grant.id), stored);
        }
        Ok(())
    }

    fn add_usage(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let stored = stored(row)?;
            self.usage.insert(Arc::clone(&stored.grant.id), (stored.grant.limits, stored.usage));
        }
        Ok(())
    }

    fn can_be_claimed(&self, id: TaskId, now: Timestamp) -> bool {
        let holder =
            baton_core::task::Holder { kind: baton_core::task::HolderKind::Node, name: Arc::from("nobody") };
        let input = Input::Claimed { holder, lease: None };
        self.tasks.get(&id).is_some_and(|kept| step(&kept.task, &input, now).is_ok())
    }
}
