//! Gives ready tasks to runners: claims as many as an agent has slots, oldest first, and starts an attempt for each.

mod attempt;
mod report;
mod signals;
mod slots;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::limits::NODE_LEASE;
use baton_core::task::{Holder, HolderKind, Input, LeaseLoss};
use baton_store::{Budget, By, Claim, Claimed, HeldBack, Known, Op, Store};
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use crate::clock::{Clock, new_id};
use crate::crash;
use crate::runner::Runner;
use crate::service::control::Controls;
use crate::service::hub::Hub;
pub use slots::Slot;
use slots::Slots;

/// Longest time between two looks for work that nobody announced.
const IDLE: Duration = Duration::from_secs(30);

/// The same where other nodes announce it, whose word may be lost.
const IDLE_SHARED: Duration = Duration::from_secs(1);

/// Shortest time between two looks for a task that is due but could not be claimed.
const PAUSE: Duration = Duration::from_millis(20);

/// Attempts of an earlier boot that are ended at a time.
const ORPHANS: usize = 256;

/// How far the node is in stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Nothing new is started.
    Draining,
    /// What runs is ended now.
    Stopping,
}

/// The one who starts attempts. Shared by all.
pub struct Dispatcher {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    clock: Clock,
    controls: Arc<Controls>,
    boot: String,
    lanes: RwLock<HashMap<AgentName, Arc<Lane>>>,
    phase: watch::Sender<Phase>,
    /// Changes when what is in hand may be another's soon.
    fence: watch::Sender<u64>,
    running: TaskTracker,
}

/// How one agent's attempts are run.
pub struct LaneSettings {
    pub runner: Arc<dyn Runner>,
    /// Attempts at the same time.
    pub concurrency: usize,
    /// How long one attempt may take.
    pub deadline: Option<Duration>,
    /// Attempts in a while.
    pub budget: Option<Budget>,
}

/// One agent's runner and slots.
struct Lane {
    agent: AgentName,
    runner: Arc<dyn Runner>,
    deadline: Option<Duration>,
    budget: Option<Budget>,
    slots: Slots,
    attempts: TaskTracker,
    stop: CancellationToken,
}

impl std::fmt::Debug for LaneSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneSettings").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("boot", &self.boot).finish_non_exhaustive()
    }
}

impl Dispatcher {
    pub fn new(store: Arc<dyn Store>, hub: Arc<Hub>, clock: Clock, controls: Arc<Controls>) -> Self {
        Self {
            store,
            hub,
            clock,
            controls,
            boot: new_id().to_string(),
            lanes: RwLock::default(),
            phase: watch::Sender::new(Phase::Open),
            fence: watch::Sender::default(),
            running: TaskTracker::new(),
        }
    }

    /// This run of the node; attempts of others are lost.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// How long what this node claims is its own, unless it is heard of: as long as it lives, where no other node shares
    /// its store.
    pub fn lease(&self) -> Option<Duration> {
        self.store.shared().then_some(NODE_LEASE)
    }

    /// Ends all attempts under way without a word: another node may have their tasks soon.
    pub fn fence(&self) {
        self.fence.send_modify(|count| *count += 1);
    }

    fn idle(&self) -> Duration {
        if self.store.shared() { IDLE_SHARED } else { IDLE }
    }

    /// Attempts that are under way.
    pub fn running(&self) -> usize {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        lanes.values().map(|lane| lane.attempts.len()).sum()
    }

    /// Takes on an agent, in place of one of the same name: attempts under way stay with the runner that they began with.
    pub fn add(self: &Arc<Self>, agent: AgentName, settings: LaneSettings) {
        let LaneSettings { runner, concurrency, deadline, budget } = settings;
        let lane = Arc::new(Lane {
            agent: agent.clone(),
            runner,
            deadline,
            budget,
            slots: Slots::new(concurrency),
            attempts: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        let old = self.lanes.write().unwrap_or_else(PoisonError::into_inner).insert(agent, Arc::clone(&lane));
        if let Some(old) = old {
            old.stop.cancel();
        }
        let dispatcher = Arc::clone(self);
        self.running.spawn(async move {
            dispatcher.run(&lane).await;
            lane.attempts.close();
            // What rests need not wait for what works; what comes to rest later is ended then.
            lane.runner.close().await;
            lane.attempts.wait().await;
            lane.runner.close().await;
        });
    }

    /// Lets an agent go; its tasks wait.
    pub fn remove(&self, agent: &AgentName) {
        if let Some(lane) = self.lanes.write().unwrap_or_else(PoisonError::into_inner).remove(agent) {
            lane.stop.cancel();
        }
    }

    /// A free slot of an agent, where no older task waits for it and the operator has not paused it.
    pub fn reserve(&self, agent: &AgentName) -> Option<Slot> {
        if *self.phase.borrow() != Phase::Open || self.controls.pauses(agent) {
            return None;
        }
        // A budget is charged by a claim, and by nothing else.
        self.lane(agent).filter(|lane| lane.budget.is_none())?.slots.reserve()
    }

    /// Starts the attempt that a commit opened.
    pub fn start(self: &Arc<Self>, known: &Known, slot: Slot) {
        crash::pass(crash::CLAIMED);
        let Some(lane) = self.lane(&known.task().agent) else { return };
        let (dispatcher, known) = (Arc::clone(self), known.clone());
        let attempts = lane.attempts.clone();
        self.running.spawn(attempts.track_future(async move {
            attempt::work(&dispatcher, &lane, known, slot).await;
        }));
    }

    /// Runs something to its end, whoever waits for it.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.running.spawn(work)
    }

    /// Ends the attempts of earlier runs of this node: whoever worked on them is gone.
    pub async fn lapse_orphans(&self) -> Result<usize, baton_store::Error> {
        let mut lapsed = 0;
        loop {
            let orphans = self.store.orphaned(&self.boot, ORPHANS).await?;
            if orphans.is_empty() {
                return Ok(lapsed);
            }
            lapsed += orphans.len();
            let ended = futures_util::stream::iter(orphans).map(|(task, attempt)| {
                let input = Input::LeaseLapsed { attempt, loss: LeaseLoss::NodeDied };
                let op = Op {
                    id: new_id(),
                    task,
                    by: By::Node,
                    create: None,
                    inputs: vec![input],
                    push: None,
                    now: self.clock.now(),
                    repeat: false,
                };
                async move {
                    let applied = self.store.apply(op).await;
                    crash::pass(crash::LAPSED);
                    applied
                }
            });
            let results: Vec<_> = ended.buffer_unordered(ORPHANS).collect().await;
            if let Some(Err(why)) = results.into_iter().find(Result::is_err) {
                return Err(why);
            }
        }
    }

    /// No new attempt from now on; runners hear of it.
    pub fn drain(&self) {
        self.phase.send_if_modified(|phase| {
            let begins = *phase == Phase::Open;
            if begins {
                *phase = Phase::Draining;
            }
            begins
        });
    }

    /// Lets attempts finish, then ends them, and waits until all are over and the warm children are gone. What takes longer
    /// is given up: wardens end its children with the node, and the next start ends its attempts.
    pub async fn stop(&self, finish_within: Duration, end_within: Duration) {
        self.drain();
        self.running.close();
        if tokio::time::timeout(finish_within, self.running.wait()).await.is_err() {
            info!(attempts = self.running(), "ending what still runs");
            crash::pass(crash::STOPPING);
            self.phase.send_replace(Phase::Stopping);
            if tokio::time::timeout(end_within, self.running.wait()).await.is_err() {
                warn!(attempts = self.running(), "could not end everything in time");
            }
        }
    }

    fn lane(&self, agent: &AgentName) -> Option<Arc<Lane>> {
        self.lanes.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }

    async fn run(self: &Arc<Self>, lane: &Arc<Lane>) {
        let ready = self.hub.ready(&lane.agent);
        let mut phase = self.phase.subscribe();
        loop {
            let wait = match self.sweep(lane).await {
                Ok(wait) => wait,
                Err(why) => {
                    error!(agent = %lane.agent, error = %why, "could not claim tasks");
                    Duration::from_secs(1)
                }
            };
            let until = tokio::time::Instant::now() + wait;
            loop {
                tokio::select! {
                    () = ready.notified() => break,
                    // A slot that nobody waits for is no reason to ask the store.
                    () = lane.slots.freed() => if lane.slots.has_backlog() { break },
                    () = tokio::time::sleep_until(until) => break,
                    () = lane.stop.cancelled() => return,
                    _ = phase.wait_for(|phase| *phase != Phase::Open) => return,
                }
            }
        }
    }

    /// Claims and starts what can be; answers how long nothing more will be due.
    async fn sweep(self: &Arc<Self>, lane: &Arc<Lane>) -> Result<Duration, baton_store::Error> {
        loop {
            if self.controls.pauses(&lane.agent) {
                // Whoever ends the pause wakes this loop.
                lane.slots.something_may_wait();
                return Ok(self.idle());
            }
            let slots = lane.slots.take_free();
            if slots.is_empty() {
                lane.slots.something_may_wait();
                return Ok(self.idle());
            }
            let claim = Claim {
                agent: lane.agent.clone(),
                holder: Holder { kind: HolderKind::Node, name: self.boot.as_str().into() },
                by: None,
                lease: self.lease(),
                task: None,
                most: slots.len(),
                concurrency: None,
                budget: lane.budget,
                now: self.clock.now(),
            };
            let Claimed { tasks, held_back } = match self.store.claim(claim).await {
                Ok(claimed) => claimed,
                Err(why) => {
                    slots.into_iter().for_each(Slot::unused);
                    return Err(why);
                }
            };
            debug!(agent = %lane.agent, claimed = tasks.len(), "looked for work");
            let all_used = tasks.len() == slots.len();
            let mut slots = slots.into_iter();
            for (snapshot, slot) in tasks.into_iter().zip(&mut slots) {
                self.start(&Known::Whole(snapshot), slot);
            }
            slots.for_each(Slot::unused);
            if let Some(HeldBack::Budget { until }) = held_back {
                // New tasks are not begun past the budget: they wait with the others.
                lane.slots.something_may_wait();
                return Ok(until.since(self.clock.now()).clamp(PAUSE, self.idle()));
            }
            if !all_used {
                lane.slots.nothing_waits();
                let next = self.store.next_ready(&lane.agent).await?;
                let wait = next.map_or(IDLE, |at| at.since(self.clock.now()).max(PAUSE));
                return Ok(wait.min(self.idle()));
            }
        }
    }
}
