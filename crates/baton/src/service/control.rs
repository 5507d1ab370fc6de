//! What the operator does to a node and to its parts: drain, lame duck, pause and resume, freeze and unfreeze.
//!
//! A pause and a freeze are stored and outlive the node. Draining ends the node, and being a lame duck ends with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use baton_core::ident::AgentName;
use baton_core::task::{Holder, HolderKind};
use baton_store::{Actor, By, Claim, Error as StoreError, Held, Hold, LOCAL, NODE};
use futures_util::future::join_all;
use tracing::{info, warn};

use super::{Error, Service};
use crate::runner::echo;

/// Tasks of an inline agent that are worked on at a time.
const BATCH: usize = 256;

/// What is held back now, in memory: asked at every message.
#[derive(Debug, Default)]
pub struct Controls {
    /// Whether anything is held back at all. Mostly nothing is, and then nobody takes a lock.
    any: AtomicBool,
    held: RwLock<BTreeMap<Hold, Held>>,
    lame_duck: AtomicBool,
    /// One change at a time, so that memory follows the store in its order.
    turn: tokio::sync::Mutex<()>,
}

impl Controls {
    pub fn new(held: Vec<Held>) -> Self {
        let controls = Self::default();
        for held in held {
            controls.put(held);
        }
        controls
    }

    /// Refuses what may not come in by this grant now.
    pub fn admits(&self, grant: &Arc<str>) -> Result<(), Error> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.holds(&Hold::FreezeNode) {
            return Err(Error::Frozen("the operator has frozen this node: it takes no messages for now"));
        }
        if self.holds(&Hold::FreezeGrant(Arc::clone(grant))) {
            return Err(Error::Frozen(
                "the operator has frozen this grant: no messages are taken by it for now",
            ));
        }
        Ok(())
    }

    /// Whether nothing is to be claimed for this agent.
    pub fn pauses(&self, agent: &AgentName) -> bool {
        self.any.load(Ordering::Acquire)
            && (self.holds(&Hold::PauseNode) || self.holds(&Hold::PauseAgent(agent.clone())))
    }

    pub fn holds(&self, hold: &Hold) -> bool {
        self.held().contains_key(hold)
    }

    /// All that is held back.
    pub fn list(&self) -> Vec<Held> {
        self.held().values().cloned().collect()
    }

    /// The node says that it is not ready, and serves on.
    pub fn is_lame_duck(&self) -> bool {
        self.lame_duck.load(Ordering::Acquire)
    }

    /// What another node changed as well: takes on all that is held back by now. Answers whether something was let go.
    async fn replace(
        &self,
        read: impl Future<Output = Result<Vec<Held>, StoreError>>,
    ) -> Result<bool, StoreError> {
        let _turn = self.turn.lock().await;
        let now: BTreeMap<_, _> = read.await?.into_iter().map(|held| (held.hold.clone(), held)).collect();
        let mut all = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let let_go = all.keys().any(|hold| !now.contains_key(hold));
        self.any.store(!now.is_empty(), Ordering::Release);
        *all = now;
        Ok(let_go)
    }

    fn put(&self, held: Held) {
        let mut all = self.held.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(held.hold.clone()).or_insert(held);
        self.any.store(true, Ordering::Release);
    }

    fn remove(&self, hold: &Hold) {
        let mut all = self.held.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(hold);
        self.any.store(!all.is_empty(), Ordering::Release);
    }

    fn held(&self) -> RwLockReadGuard<'_, BTreeMap<Hold, Held>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Pauses or freezes, until [`Service::release`]. A second time changes nothing.
    pub async fn hold(&self, hold: Hold, by: &Actor) -> Result<(), Error> {
        self.check_target(&hold).await?;
        let (service, by) = (self.clone(), by.clone());
        self.see_through(async move {
            let _turn = service.controls.turn.lock().await;
            let since = service.now();
            if service.store.hold(hold.clone(), true, (&by, since)).await? {
                info!(action = hold.action(true), target = hold.target(), "held back by the operator");
            }
            // Also where it was stored before: what is on disk is in force.
            service.controls.put(Held { hold, since, by: by.name });
            Ok(())
        })
        .await?
    }

    /// Resumes or unfreezes. What was handed in during a pause is worked on from now on.
    pub async fn release(&self, hold: Hold, by: &Actor) -> Result<(), Error> {
        // What is held back can be let go, also where its agent or grant is no more.
        if !self.controls.holds(&hold) {
            self.check_target(&hold).await?;
        }
        let (service, by) = (self.clone(), by.clone());
        self.see_through(async move {
            let _turn = service.controls.turn.lock().await;
            if service.store.hold(hold.clone(), false, (&by, service.now())).await? {
                info!(action = hold.action(false), target = hold.target(), "let go by the operator");
            }
            // Also where the store had let it go before.
            service.controls.remove(&hold);
            match hold {
                Hold::PauseNode | Hold::PauseAgent(_) => service.wake(),
                Hold::FreezeNode | Hold::FreezeGrant(_) => {}
            }
            Ok(())
        })
        .await?
    }

    /// Takes on what was held back and let go at another node on the same store.
    pub async fn read_holds(&self) -> Result<(), StoreError> {
        if self.controls.replace(self.store.list_holds()).await? {
            self.wake();
        }
        Ok(())
    }

    /// Begins or ends to be a lame duck: not ready for those who ask, and serving all the same.
    pub async fn set_lame_duck(&self, on: bool, by: &Actor) -> Result<(), Error> {
        let _turn = self.controls.turn.lock().await;
        if self.controls.is_lame_duck() == on {
            return Ok(());
        }
        let action = if on { "node.lame-duck" } else { "node.end-lame-duck" };
        self.tell_audit(by, (action, NODE)).await;
        info!(action, "readiness changed by the operator");
        self.controls.lame_duck.store(on, Ordering::Release);
        self.ring();
        Ok(())
    }

    /// Stops the node as a signal does: no new work from now on, and its end once what runs is over.
    pub async fn drain_by(&self, by: &Actor) -> Result<(), Error> {
        let _turn = self.controls.turn.lock().await;
        if !self.draining.is_cancelled() {
            self.tell_audit(by, ("node.drain", NODE)).await;
            info!("the operator drains the node");
            self.drain();
        }
        Ok(())
    }

    /// Works on what inline agents were handed while they were paused: no runner asks for it. Safe to repeat.
    pub async fn work_inline(&self) -> Result<(), baton_store::Error> {
        for agent in self.agents.list() {
            let (name, mut more) = (agent.name(), agent.is_inline());
            while more && !self.controls.pauses(name) && !self.draining.is_cancelled() {
                more = self.store.next_ready(name).await?.is_some_and(|at| at <= self.now())
                    && self.work_inline_of(name).await?;
            }
        }
        Ok(())
    }

    /// As many tasks as are done at a time; whether there may be more.
    async fn work_inline_of(&self, agent: &AgentName) -> Result<bool, baton_store::Error> {
        let claim = Claim {
            agent: agent.clone(),
            holder: Holder { kind: HolderKind::Node, name: self.dispatcher.boot().into() },
            by: None,
            lease: self.dispatcher.lease(),
            task: None,
            most: BATCH,
            concurrency: None,
            budget: None,
            now: self.now(),
        };
        let claimed = self.store.claim(claim).await?.tasks;
        let answers = claimed.iter().filter_map(|snapshot| {
            let (_, message) = snapshot.messages.last()?;
            let attempt = snapshot.task.state.open_attempt()?;
            let inputs = echo::answer(attempt.number, message).to_vec();
            Some(self.apply(By::Node, snapshot.task.id, inputs))
        });
        // At the same time, so that they share their commits; all of them, whatever becomes of one.
        for answered in join_all(answers).await {
            match answered {
                Ok(_) | Err(baton_store::Error::Refused(_)) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(!claimed.is_empty())
    }

    /// A pause is over: who looks for work looks now.
    fn wake(&self) {
        for agent in self.agents.list() {
            self.hub.ready(agent.name()).notify_one();
        }
        let service = self.clone();
        self.dispatcher.spawn(async move {
            if let Err(why) = service.work_inline().await {
                warn!(error = %why, "what was handed in during a pause waits until the reaper looks");
            }
        });
    }

    /// Refuses what is nowhere.
    async fn check_target(&self, hold: &Hold) -> Result<(), Error> {
        match hold {
            Hold::FreezeNode | Hold::PauseNode => Ok(()),
            Hold::PauseAgent(name) => self.agents.find(name).map(drop).ok_or(Error::AgentNotFound),
            Hold::FreezeGrant(id) => {
                let known = **id == *LOCAL || self.store.find_grant(id).await?.is_some();
                known.then_some(()).ok_or(Error::GrantNotFound)
            }
        }
    }
}
