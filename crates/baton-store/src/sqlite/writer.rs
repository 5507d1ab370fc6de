//! The thread that writes: it takes what is queued, commits it as one group, and answers after the commit.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use baton_core::ident::TaskId;
use baton_core::task::Refusal;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::error;

use super::access::AccessWrite;
use super::apply::{Done, Group};
use super::approve::{ApprovalAnswer, ApprovalWrite};
use super::befriend::{FriendAnswer, FriendWrite};
use super::claim::Running;
use super::grants::Grants;
use super::hold::{self, HoldWrite};
use super::hot::{Hot, Kept};
use super::lock::Lock;
use super::meta::{self, MetaWrite};
use super::needs::{self, AttendWrite};
use super::peers::PeerWrite;
use super::push::{PushAnswer, PushWrite, Pushed};
use super::{Counters, access, audit};
use crate::stored::prepare::Prepared;
use crate::{Applied, Claim, Claimed, Error, Grant, NewAudit, Observer, Op, Peer, crash};

/// Operations that wait for the writer; past that, callers wait to be queued.
const QUEUE: usize = 1_024;

/// Operations in one commit: enough to share its fsync, few enough that the first does not wait long for the last.
const GROUP: usize = 256;

/// Operations of the last commit from which on a group is held open for those who come back.
const CROWD: usize = 4;

/// How long a group is held open in all, and how long for the next to come.
const GATHER: Duration = Duration::from_millis(2);
const GAP: Duration = Duration::from_micros(100);

/// Groups whose answers wait to be given; past that, the writer waits.
const ANSWERS: usize = 16;

type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Something to be written.
pub enum Write {
    Apply(Box<(Op, Option<Result<Prepared, Refusal>>)>, Reply<Applied>),
    Claim(Claim, Reply<Claimed>),
    Access(Box<AccessWrite>, Reply<Arc<Grant>>),
    /// When grants were used.
    Uses(Vec<(Arc<str>, i64)>, Reply<usize>),
    Audit(Vec<NewAudit>, Reply<()>),
    PruneEvents {
        tasks: Vec<TaskId>,
        reply: Reply<usize>,
    },
    Push(Box<PushWrite>, Reply<PushAnswer>),
    Hold(Box<HoldWrite>, Reply<bool>),
    Friend(Box<FriendWrite>, Reply<FriendAnswer>),
    Peer(Box<PeerWrite>, Reply<Option<Peer>>),
    Attend(Box<AttendWrite>, Reply<usize>),
    Retire(Vec<TaskId>, Reply<Vec<TaskId>>),
    Approval(Box<ApprovalWrite>, Reply<ApprovalAnswer>),
    Meta(Box<MetaWrite>, Reply<Vec<u8>>),
    Close,
}

/// What the writer shares with the rest of the store.
pub struct Shared {
    pub hot: Arc<Hot>,
    pub pushed: Pushed,
    pub grants: Arc<Grants>,
    pub counters: Arc<Counters>,
    pub running: Running,
    /// The number of the next new task.
    pub next: i64,
    pub observer: Arc<dyn Observer>,
}

/// The queue into the thread.
#[derive(Debug)]
pub struct Writer {
    /// None once the last handle goes.
    queue: Option<mpsc::Sender<Write>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// The thread keeps `lock` until it is over.
    pub fn start(connection: Connection, shared: Shared, lock: Arc<Lock>) -> std::io::Result<Self> {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let answers = Answers::start();
        let thread = std::thread::Builder::new().name("baton-writer".to_owned()).spawn(move || {
            run(&connection, receiver, shared, &answers);
            drop(connection);
            drop(lock);
        })?;
        Ok(Self { queue: Some(queue), thread: Mutex::new(Some(thread)) })
    }

    /// Queues a write and waits for its commit.
    pub async fn write<T>(&self, make: impl FnOnce(Reply<T>) -> Write) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.queue
            .as_ref()
            .ok_or_else(Error::closed)?
            .send(make(reply))
            .await
            .map_err(|_| Error::closed())?;
        answer.await.map_err(|_| Error::closed())?
    }

    pub async fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            if let Some(queue) = &self.queue {
                let _ = queue.send(Write::Close).await;
            }
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for Writer {
    /// Waits for the thread, so that the folder is free when the store is gone.
    fn drop(&mut self) {
        drop(self.queue.take());
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// What an operation came to, to be answered once the group is committed.
enum Outcome {
    Applied(Result<Applied, Error>),
    Claimed(Result<Claimed, Error>),
    Retired(Result<Vec<TaskId>, Error>),
    Grant(Result<Arc<Grant>, Error>),
    Audited(Result<(), Error>),
    Pruned(Result<usize, Error>),
    Pushed(Result<PushAnswer, Error>),
    Held(Result<bool, Error>),
    Befriended(Result<FriendAnswer, Error>),
    Peer(Box<Result<Option<Peer>, Error>>),
    Approved(Result<ApprovalAnswer, Error>),
    Kept(Result<Vec<u8>, Error>),
}

/// Gives the answers of a group. Waking many callers from a thread outside of the runtime costs a wake-up each; one wake-up
/// of a spawn that then wakes them from within is cheaper.
struct Answers(Option<mpsc::Sender<Answered>>);

/// Operations and what they came to; and what nobody needs any more, to be freed outside of the writer.
struct Answered {
    group: Vec<(Write, Outcome)>,
    gone: Vec<Kept>,
}

impl Answers {
    /// Outside of a runtime each answer is given where it is found.
    fn start() -> Self {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Self(None) };
        let (groups, mut receiver) = mpsc::channel::<Answered>(ANSWERS);
        runtime.spawn(async move {
            while let Some(answered) = receiver.recv().await {
                answer_all(answered);
            }
        });
        Self(Some(groups))
    }

    fn give(&self, mut answered: Answered) {
        if answered.group.len() >= CROWD
            && let Some(groups) = &self.0
        {
            match groups.blocking_send(answered) {
                Ok(()) => return,
                // The runtime is gone.
                Err(mpsc::error::SendError(unsent)) => answered = unsent,
            }
        }
        answer_all(answered);
    }
}

fn run(connection: &Connection, mut queue: mpsc::Receiver<Write>, mut shared: Shared, answers: &Answers) {
    let mut group = Vec::with_capacity(GROUP);
    let mut open = true;
    let mut answered = 0;
    while open && queue.blocking_recv_many(&mut group, GROUP) > 0 {
        gather(&mut queue, &mut group, answered);
        answered = group.len();
        open = !group.iter().any(|write| matches!(write, Write::Close));
        commit_all(connection, &mut group, &mut shared, answers);
    }
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
}

/// Lets half of the callers come together, of those who were answered by the last commit and those who are here: while one
/// half is committed the other is answered and comes back, and neither falls apart into groups that wait for each other. It
/// ends when they stop coming. Few callers gain nothing by that and wait for nobody.
fn gather(queue: &mut mpsc::Receiver<Write>, group: &mut Vec<Write>, answered: usize) {
    if answered < CROWD {
        return;
    }
    let expected = (answered + group.len()).div_ceil(2).min(GROUP);
    let mut last = Instant::now();
    let until = last + GATHER;
    while group.len() < expected {
        if let Ok(write) = queue.try_recv() {
            group.push(write);
            last = Instant::now();
            continue;
        }
        let now = Instant::now();
        if now >= until || now >= last + GAP {
            return;
        }
        std::thread::yield_now();
    }
}

/// Commits the group; where that fails, each of its operations alone, so that one that cannot be written spoils no other.
fn commit_all(connection: &Connection, group: &mut Vec<Write>, shared: &mut Shared, answers: &Answers) {
    match commit(connection, group, shared) {
        Ok((outcomes, gone)) => {
            answers.give(Answered { group: group.drain(..).zip(outcomes).collect(), gone });
        }
        Err(why) if group.len() == 1 => {
            error!(error = %why, "the store could not commit");
            if let Some(write) = group.pop() {
                refuse(write, why);
            }
        }
        Err(why) => {
            error!(error = %why, operations = group.len(), "the store could not commit a group; trying one by one");
            for write in group.drain(..) {
                commit_all(connection, &mut vec![write], shared, answers);
            }
        }
    }
}

/// One transaction. An operation that is refused is no failure of the group; an error of the database is.
fn commit(
    connection: &Connection,
    group: &[Write],
    shared: &mut Shared,
) -> Result<(Vec<Outcome>, Vec<Kept>), Error> {
    crash::pass(crash::BEFORE_BEGIN);
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let rollback = RollBack(connection);
    let claims = group.iter().filter(|write| matches!(write, Write::Claim(..))).count();
    let mut running = Group::new(connection, shared, claims);
    let mut outcomes = Vec::with_capacity(group.len());
    for write in group {
        outcomes.push(match write {
            Write::Apply(work, _) => Outcome::Applied(or_fail(running.apply(&work.0, work.1.as_ref()))?),
            Write::Claim(claim, _) => Outcome::Claimed(or_fail(running.claim(claim))?),
            Write::Access(write, _) => Outcome::Grant(or_fail(running.access(write))?),
            Write::Uses(uses, _) => Outcome::Pruned(or_fail(access::put_uses(connection, uses))?),
            Write::Audit(entries, _) => {
                let appended = entries.iter().try_for_each(|entry| audit::append(connection, entry));
                Outcome::Audited(or_fail(appended)?)
            }
            Write::PruneEvents { tasks, .. } => {
                Outcome::Pruned(or_fail(super::tasks::prune(connection, tasks))?)
            }
            Write::Push(write, _) => Outcome::Pushed(or_fail(running.push(write))?),
            Write::Hold(write, _) => Outcome::Held(or_fail(hold::write(connection, write))?),
            Write::Friend(write, _) => Outcome::Befriended(or_fail(running.befriend(write))?),
            Write::Peer(write, _) => Outcome::Peer(Box::new(or_fail(running.peer(write))?)),
            Write::Attend(write, _) => Outcome::Pruned(or_fail(needs::write(connection, write))?),
            Write::Retire(tasks, _) => Outcome::Retired(or_fail(running.retire(tasks))?),
            Write::Approval(write, _) => Outcome::Approved(or_fail(running.approval(write))?),
            Write::Meta(write, _) => Outcome::Kept(or_fail(meta::write(connection, write))?),
            Write::Close => Outcome::Pruned(Ok(0)),
        });
    }
    let Done { changed, commits, retired, grants, usage, begun } = running.finish()?;
    crash::pass(crash::BEFORE_COMMIT);
    connection.prepare_cached("COMMIT")?.execute([])?;
    crash::pass(crash::COMMITTED);
    std::mem::forget(rollback);
    shared.counters.commits.fetch_add(1, Ordering::Relaxed);
    shared.counters.operations.fetch_add(group.len() as u64, Ordering::Relaxed);
    shared.pushed.forget_ended(&changed);
    shared.running.add(begun);
    let mut gone = shared.hot.put(changed);
    gone.extend(retired.iter().filter_map(|id| shared.hot.remove(*id)));
    for grant in grants.into_values() {
        shared.grants.put(grant);
    }
    for (id, (_, usage)) in &usage {
        shared.grants.put_usage(id, *usage);
    }
    for write in group {
        if let Write::Uses(uses, _) = write {
            shared.grants.used_is_stored(uses);
        }
    }
    shared.observer.committed(&commits);
    crash::pass(crash::OBSERVED);
    Ok((outcomes, gone))
}

/// Undoes an open transaction when it goes out of scope.
struct RollBack<'a>(&'a Connection);

impl Drop for RollBack<'_> {
    fn drop(&mut self) {
        let _ = self.0.execute_batch("ROLLBACK");
    }
}

/// An error of the database ends the group; what the domain refuses is an answer.
fn or_fail<T>(result: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match result {
        Err(why @ (Error::Unavailable(_) | Error::Corrupt(_))) => Err(why),
        answer => Ok(answer),
    }
}

fn answer_all(Answered { group, gone }: Answered) {
    for (write, outcome) in group {
        answer(write, outcome);
    }
    drop(gone);
}

fn answer(write: Write, outcome: Outcome) {
    match (write, outcome) {
        (Write::Apply(_, reply), Outcome::Applied(result)) => drop(reply.send(result)),
        (Write::Claim(_, reply), Outcome::Claimed(result)) => drop(reply.send(result)),
        (Write::Access(_, reply), Outcome::Grant(result)) => drop(reply.send(result)),
        (Write::Audit(_, reply), Outcome::Audited(result)) => drop(reply.send(result)),
        (Write::Retire(_, reply), Outcome::Retired(result)) => drop(reply.send(result)),
        (
            Write::PruneEvents { reply, .. } | Write::Uses(_, reply) | Write::Attend(_, reply),
            Outcome::Pruned(result),
        ) => {
            drop(reply.send(result));
        }
        (Write::Push(_, reply), Outcome::Pushed(result)) => drop(reply.send(result)),
        (Write::Hold(_, reply), Outcome::Held(result)) => drop(reply.send(result)),
        (Write::Friend(_, reply), Outcome::Befriended(result)) => drop(reply.send(result)),
        (Write::Peer(_, reply), Outcome::Peer(result)) => drop(reply.send(*result)),
        (Write::Approval(_, reply), Outcome::Approved(result)) => drop(reply.send(result)),
        (Write::Meta(_, reply), Outcome::Kept(result)) => drop(reply.send(result)),
        (_, _) => {}
    }
}

fn refuse(write: Write, why: Error) {
    match write {
        Write::Apply(_, reply) => drop(reply.send(Err(why))),
        Write::Claim(_, reply) => drop(reply.send(Err(why))),
        Write::Access(_, reply) => drop(reply.send(Err(why))),
        Write::Audit(_, reply) => drop(reply.send(Err(why))),
        Write::PruneEvents { reply, .. } | Write::Uses(_, reply) | Write::Attend(_, reply) => {
            drop(reply.send(Err(why)));
        }
        Write::Retire(_, reply) => drop(reply.send(Err(why))),
        Write::Push(_, reply) => drop(reply.send(Err(why))),
        Write::Hold(_, reply) => drop(reply.send(Err(why))),
        Write::Friend(_, reply) => drop(reply.send(Err(why))),
        Write::Peer(_, reply) => drop(reply.send(Err(why))),
        Write::Approval(_, reply) => drop(reply.send(Err(why))),
        Write::Meta(_, reply) => drop(reply.send(Err(why))),
        Write::Close => {}
    }
}
