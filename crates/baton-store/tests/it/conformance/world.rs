//! An open store, and who listens to it.

use std::sync::{Arc, Mutex};

use baton_core::ident::TaskId;
use baton_core::task::{Event, Input, Snapshot};
use baton_core::time::Timestamp;
use baton_store::{Applied, By, Claim, Committed, Error, Observer, Op, Tasks};
use tokio::task::JoinSet;

use super::Backend;
use super::script::{agent, at, change, node};

/// Keeps what it is told.
#[derive(Default)]
pub struct Heard(Mutex<Vec<Committed>>);

impl Observer for Heard {
    fn committed(&self, commits: &[Committed]) {
        self.0.lock().unwrap().extend_from_slice(commits);
    }
}

impl Heard {
    /// The events of one task, in the order in which they were told.
    pub fn events(&self, id: TaskId) -> Vec<Arc<Event>> {
        let heard = self.0.lock().unwrap();
        let of_task = heard.iter().filter(|commit| commit.known.task().id == id);
        of_task.flat_map(|commit| commit.events.iter().cloned()).collect()
    }
}

pub struct World<B: Backend> {
    backend: B,
    pub store: Arc<B::Store>,
    pub heard: Arc<Heard>,
}

impl<B: Backend> World<B> {
    pub async fn new() -> Self {
        Self::over(B::fresh().await).await
    }

    async fn over(backend: B) -> Self {
        let heard = Arc::new(Heard::default());
        let store = Arc::new(backend.open(Arc::clone(&heard) as Arc<dyn Observer>).await);
        Self { backend, store, heard }
    }

    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// Closes the store and opens it again: all that is known is what was stored.
    pub async fn reopen(self) -> Self {
        Self::over(self.close().await).await
    }

    /// Closes the store; what it stored is there.
    pub async fn close(self) -> B {
        B::close(Arc::into_inner(self.store).expect("nobody else uses the store")).await;
        self.backend
    }

    pub async fn apply(&self, op: Op) -> Applied {
        self.store.apply(op).await.unwrap()
    }

    /// The node's own change of a task.
    pub async fn change(&self, id: TaskId, inputs: Vec<Input>, now: Timestamp) -> Applied {
        self.apply(change(id, inputs, now)).await
    }

    /// The task as the node sees it.
    pub async fn load(&self, id: TaskId) -> Arc<Snapshot> {
        self.store.find(&By::Node, id).await.unwrap().expect("the task is there")
    }

    pub async fn log(&self, id: TaskId) -> Vec<Arc<Event>> {
        self.store.events(id, 0, 20_000).await.unwrap()
    }

    /// Claims for the agent `echo`.
    pub async fn claim(&self, most: usize, now: i64) -> Vec<Arc<Snapshot>> {
        self.store.claim(claim(most, now)).await.unwrap().tasks
    }

    /// Applies all at the same time; answers in the order of `ops`.
    pub async fn apply_all(&self, ops: Vec<Op>) -> Vec<Result<Applied, Error>> {
        let mut running = JoinSet::new();
        for (at, op) in ops.into_iter().enumerate() {
            let store = Arc::clone(&self.store);
            running.spawn(async move { (at, store.apply(op).await) });
        }
        let mut answers = running.join_all().await;
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// A claim of the agent `echo` by the node `boot`.
pub fn claim(most: usize, now: i64) -> Claim {
    Claim {
        agent: agent("echo"),
        holder: node("boot"),
        by: None,
        lease: None,
        task: None,
        most,
        concurrency: None,
        budget: None,
        now: at(now),
    }
}
