//! The loop that changes tasks: it takes what is queued, runs it as one transaction over a connection of its own, and
//! answers after the commit. One for each node, so that what a node tells of a task is in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use baton_core::task::Snapshot;
use deadpool_postgres::{ClientWrapper, Object};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::{error, warn};
use uuid::Uuid;

use super::apply::{Done, Group};
use super::claim::Taken;
use super::failure::{Again, Failure};
use super::load::{How, Numbers, load};
use super::mark::WRITER;
use super::pipeline::{Asked, ask};
use super::pool::Shared;
use super::read;
use super::rows::{fill, id, uuid};
use super::scope::Scopes;
use super::settings::Clock;
use super::telephone::Teller;
use crate::{Applied, Claim, Claimed, Committed, Content, Elsewhere, Error, Observer, Op, crash};

/// Operations that wait for the writer; past that, callers wait to be queued.
const QUEUE: usize = 1_024;

/// Operations in one transaction: enough to share its way to the disk, few enough that the first does not wait long for the last.
const GROUP: usize = 256;

/// Tries of a group that meets other transactions, or whose server goes away.
const TRIES: u32 = 8;

/// The wait before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(10);

const COMMIT: &str = "-- store.commit
COMMIT";

/// What was said and written of claimed tasks, before this transaction.
const LIST_CONTENT: &str = "-- store.list_content
SELECT id, (SELECT array_agg(events ORDER BY event.key) FROM event
    WHERE event.key > task.key << 14 AND event.key <= (task.key << 14) + 16383 AND (holds & 3) <> 0)
FROM task WHERE id = ANY ($1)";

type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Something to be done to tasks.
pub enum Write {
    Apply(Box<Op>, Reply<Applied>),
    Claim(Box<Claim>, Reply<Claimed>),
}

/// What the writer counts.
#[derive(Debug, Default)]
pub struct Counters {
    pub commits: AtomicU64,
    pub operations: AtomicU64,
}

/// The queue into the loop.
#[derive(Debug)]
pub struct Writer {
    /// None once the store is closed.
    queue: Mutex<Option<mpsc::Sender<Write>>>,
    looping: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer shares with the rest of the store.
pub struct Parts {
    pub connections: Shared,
    pub counters: Arc<Counters>,
    pub observer: Arc<dyn Observer>,
    pub teller: Teller,
    pub clock: Clock,
}

impl Writer {
    pub fn start(parts: Parts) -> Self {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let running = Loop { parts, session: None, scopes: Scopes::default(), numbers: Numbers::default() };
        let looping = tokio::spawn(running.run(receiver));
        Self { queue: Mutex::new(Some(queue)), looping: Mutex::new(Some(looping)) }
    }

    /// Queues a write and waits for its commit.
    pub async fn write<T>(&self, make: impl FnOnce(Reply<T>) -> Write) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or_else(Error::closed)?;
        queue.send(make(reply)).await.map_err(|_| Error::closed())?;
        drop(queue);
        answer.await.map_err(|_| Error::closed())?
    }

    /// Waits until everything that is queued is committed.
    pub async fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let looping = self.looping.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(looping) = looping {
            let _ = looping.await;
        }
    }
}

/// What an operation came to, to be answered once the group is committed.
enum Outcome {
    Applied(Result<Applied, Error>),
    Claimed(Result<Taken, Error>),
}

/// A group that was committed.
struct Settled {
    outcomes: Vec<Outcome>,
    done: Done,
    /// Of claimed tasks, where it came over before the connection was lost.
    content: Option<Vec<tokio_postgres::Row>>,
}

struct Loop {
    parts: Parts,
    session: Option<ClientWrapper>,
    scopes: Scopes,
    numbers: Numbers,
}

impl Loop {
    async fn run(mut self, mut queue: mpsc::Receiver<Write>) {
        let mut group = Vec::with_capacity(GROUP);
        while queue.recv_many(&mut group, GROUP).await > 0 {
            self.commit_all(std::mem::take(&mut group)).await;
        }
    }

    /// Commits the group; where that fails, each of its operations alone, so that one that cannot be written spoils no other.
    async fn commit_all(&mut self, group: Vec<Write>) {
        let why = match self.commit(&group).await {
            Ok(settled) => return self.settle(group, settled).await,
            Err(why) => why,
        };
        let is_known = !matches!(why, Failure::Unknown(_));
        if group.len() == 1 || !is_known || why.again() == Again::Elsewhere {
            error!(error = %Error::from(why.copy()), operations = group.len(), "the store could not commit");
            for write in group {
                refuse(write, why.copy().into());
            }
            return;
        }
        error!(error = %Error::from(why), operations = group.len(), "the store could not commit a group; trying one by one");
        for write in group {
            match self.commit(std::slice::from_ref(&write)).await {
                Ok(settled) => self.settle(vec![write], settled).await,
                Err(why) => refuse(write, why.into()),
            }
        }
    }

    /// Tries until the group is known to be committed, or known not to be.
    async fn commit(&mut self, group: &[Write]) -> Result<Settled, Failure> {
        let until = Instant::now() + self.parts.connections.patience();
        let (mut pause, mut careful, mut tried) = (PAUSE, false, 1);
        loop {
            let why = match self.attempt(group, careful).await {
                Ok(settled) => return Ok(settled),
                Err(why) => why,
            };
            let again = why.again();
            match again {
                // Somebody else was faster: this time it is seen.
                Again::No if why.is_duplicate() && !careful => careful = true,
                Again::Yes if tried < TRIES => {}
                Again::Elsewhere if Instant::now() < until => {}
                Again::No | Again::Yes | Again::Elsewhere => return self.give_up(why).await,
            }
            warn!(error = %Error::from(why), operations = group.len(), tried, "a group is tried again");
            self.roll_back(again).await;
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
            tried += 1;
        }
    }

    async fn give_up(&mut self, why: Failure) -> Result<Settled, Failure> {
        self.roll_back(why.again()).await;
        Err(why)
    }

    /// Leaves no transaction open.
    async fn roll_back(&mut self, again: Again) {
        let Some(session) = self.session.take() else { return };
        if again != Again::Elsewhere && session.batch_execute("ROLLBACK").await.is_ok() {
            self.session = Some(session);
        }
    }

    async fn session(&mut self) -> Result<&ClientWrapper, Failure> {
        if self.session.as_ref().is_none_or(|session| session.is_closed()) {
            self.session = Some(Object::take(self.parts.connections.get().await?));
        }
        self.session.as_ref().ok_or_else(|| Error::closed().into())
    }

    /// One transaction. An operation that is refused is no failure of the group; an error of the database is.
    async fn attempt(&mut self, group: &[Write], careful: bool) -> Result<Settled, Failure> {
        crash::pass(crash::BEFORE_BEGIN);
        self.session().await?;
        let Self { parts, session, scopes, numbers } = self;
        let session = session.as_ref().ok_or_else(Error::closed)?;
        let mark = parts.connections.marks()?.next(WRITER);
        let how = How { clock: parts.clock, scopes, careful, mark };
        let loaded = load(session, group, numbers, how).await?;
        let mut running = Group::new(loaded, parts.clock, scopes, numbers);
        let mut outcomes = Vec::with_capacity(group.len());
        for write in group {
            outcomes.push(match write {
                Write::Apply(op, _) => Outcome::Applied(running.apply(op)),
                Write::Claim(claim, _) => Outcome::Claimed(running.claim(claim)),
            });
        }
        let (mut asked, done) = running.finish();
        let claimed = claimed_ids(&outcomes);
        let reads_content = !claimed.is_empty();
        if reads_content {
            asked.insert(0, Asked::new(LIST_CONTENT, vec![Box::new(claimed)]));
        }
        asked.push(Asked::plain(COMMIT));
        crash::pass(crash::BEFORE_COMMIT);
        let content = match ask(session, &asked).await {
            Ok(mut answers) => reads_content.then(|| answers.swap_remove(0)),
            Err(why) if why.again() == Again::Elsewhere => {
                self.session = None;
                // The commit may have come through, and only the word of it is lost.
                if !self.parts.connections.was_committed(&mark).await? {
                    return Err(why);
                }
                None
            }
            Err(why) => return Err(why),
        };
        crash::pass(crash::COMMITTED);
        Ok(Settled { outcomes, done, content })
    }

    /// Tells of a group that is committed, and answers it.
    async fn settle(&mut self, group: Vec<Write>, settled: Settled) {
        let Settled { outcomes, done, content } = settled;
        self.parts.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.parts.counters.operations.fetch_add(group.len() as u64, Ordering::Relaxed);
        self.scopes.put(done.scopes);
        self.parts.observer.committed(&done.commits);
        crash::pass(crash::OBSERVED);
        self.parts.teller.tell_all(done.commits.iter().flat_map(elsewhere).collect());
        let mut content = self.content(&outcomes, content).await;
        for (write, outcome) in group.into_iter().zip(outcomes) {
            answer(write, outcome, &mut content);
        }
    }

    /// What was said and written of claimed tasks.
    async fn content(
        &self,
        outcomes: &[Outcome],
        rows: Option<Vec<tokio_postgres::Row>>,
    ) -> Result<Contents, Failure> {
        let mut contents = Contents::new();
        let Some(rows) = rows else {
            let ids: Vec<_> = claimed_ids(outcomes).into_iter().map(baton_core::ident::TaskId::new).collect();
            let all = Content { messages: 0, artifacts: true };
            for snapshot in read::excerpts(&*self.parts.connections, &ids, all, false).await? {
                contents.insert(snapshot.task.id, (Arc::unwrap_or_clone(snapshot), true));
            }
            return Ok(contents);
        };
        let claimed = |outcome: &'_ Outcome| match outcome {
            Outcome::Claimed(Ok(taken)) => taken.tasks.iter().map(|it| it.task.clone()).collect(),
            Outcome::Claimed(Err(_)) | Outcome::Applied(_) => Vec::new(),
        };
        for task in outcomes.iter().flat_map(claimed) {
            contents.insert(task.id, (Snapshot::new(task), false));
        }
        for row in &rows {
            if let Some((content, _)) = contents.get_mut(&id(row, 0)?) {
                fill(content, row, 1)?;
            }
        }
        Ok(contents)
    }
}

/// What was said and written of claimed tasks, and whether that is with what this transaction did.
type Contents = std::collections::HashMap<baton_core::ident::TaskId, (Snapshot, bool)>;

fn claimed_ids(outcomes: &[Outcome]) -> Vec<Uuid> {
    let mut ids = Vec::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Claimed(Ok(taken)) => ids.extend(taken.tasks.iter().map(|it| uuid(it.task.id))),
            Outcome::Claimed(Err(_)) | Outcome::Applied(_) => {}
        }
    }
    ids
}

/// What other nodes are told of a commit.
fn elsewhere(commit: &Committed) -> Vec<Elsewhere> {
    let task = commit.known.task();
    let mut told = Vec::new();
    if !commit.events.is_empty() {
        told.push(Elsewhere::Task { id: task.id, seq: task.seq });
    }
    for nudge in &commit.nudges {
        match nudge {
            baton_core::task::Nudge::Ready(agent) => told.push(Elsewhere::Ready(agent.clone())),
        }
    }
    if commit.owed {
        told.push(Elsewhere::Owed);
    }
    told
}

fn answer(write: Write, outcome: Outcome, contents: &mut Result<Contents, Failure>) {
    match (write, outcome) {
        (Write::Apply(_, reply), Outcome::Applied(result)) => drop(reply.send(result)),
        (Write::Claim(_, reply), Outcome::Claimed(result)) => {
            let filled = result.and_then(|taken| match contents {
                Ok(contents) => Ok(fill_in(taken, contents)),
                Err(why) => Err(why.copy().into()),
            });
            drop(reply.send(filled));
        }
        (Write::Apply(..) | Write::Claim(..), Outcome::Applied(_) | Outcome::Claimed(_)) => {}
    }
}

fn fill_in(taken: Taken, contents: &mut Contents) -> Claimed {
    let whole = |task: super::claim::TakenTask| {
        let content = contents.remove(&task.task.id)?;
        Some(task.snapshot(content))
    };
    Claimed { tasks: taken.tasks.into_iter().filter_map(whole).collect(), held_back: taken.held_back }
}

fn refuse(write: Write, why: Error) {
    match write {
        Write::Apply(_, reply) => drop(reply.send(Err(why))),
        Write::Claim(_, reply) => drop(reply.send(Err(why))),
    }
}
