//! How many attempts of one agent run at the same time, and who waits for answers without running.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::ident::TaskId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::runner::Signal;

/// Attempts of one agent that may wait for answers with their holder alive.
const WAITING: usize = 16;

/// An agent's slots.
#[derive(Debug)]
pub struct Slots {
    free: Arc<Semaphore>,
    freed: Arc<Notify>,
    /// Tasks wait in the store: a new one may not overtake them.
    backlog: AtomicBool,
    waiting: Mutex<VecDeque<(TaskId, mpsc::Sender<Signal>)>>,
}

/// The right to run one attempt now; free again when it is dropped.
#[derive(Debug)]
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    free: Arc<Semaphore>,
    freed: Arc<Notify>,
}

impl Slots {
    pub fn new(concurrency: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(concurrency)),
            freed: Arc::new(Notify::new()),
            // Until the first sweep has looked.
            backlog: AtomicBool::new(true),
            waiting: Mutex::default(),
        }
    }

    /// A slot for a task that is being created, unless older ones wait.
    pub fn reserve(&self) -> Option<Slot> {
        if self.backlog.load(Ordering::Acquire) {
            return None;
        }
        let slot = self.take_one();
        if slot.is_none() {
            self.backlog.store(true, Ordering::Release);
        }
        slot
    }

    /// Every slot that is free now.
    pub fn take_free(&self) -> Vec<Slot> {
        std::iter::from_fn(|| self.take_one()).collect()
    }

    /// The store had fewer tasks than there were slots.
    pub fn nothing_waits(&self) {
        self.backlog.store(false, Ordering::Release);
    }

    /// There was no slot to look for tasks with: the next that is freed is one.
    pub fn something_may_wait(&self) {
        self.backlog.store(true, Ordering::Release);
    }

    /// Whether tasks may wait in the store for a slot.
    pub fn has_backlog(&self) -> bool {
        self.backlog.load(Ordering::Acquire)
    }

    /// Waits until a slot was given back since the last call.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Notes that an attempt waits for its answer. Where too many do, the one that waits longest is told to go.
    pub fn wait(&self, task: TaskId, signals: mpsc::Sender<Signal>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((task, signals));
        if waiting.len() > WAITING
            && let Some((_, longest)) = waiting.pop_front()
        {
            // A full queue means that its runner has other things to hear first; it is asked again by the next one.
            let _ = longest.try_send(Signal::Evict);
        }
    }

    /// Notes that an attempt waits no more.
    pub fn goes_on(&self, task: TaskId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).retain(|(waiting, _)| *waiting != task);
    }

    fn take_one(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Slot { permit: Some(permit), free: Arc::clone(&self.free), freed: Arc::clone(&self.freed) })
    }
}

impl Slot {
    /// Gives back a slot that was taken for nothing: nobody waits for it, so nobody is woken.
    pub fn unused(mut self) {
        self.permit = None;
    }

    /// Gives the slot back while its attempt waits.
    pub fn rest(&mut self) {
        if self.permit.take().is_some() {
            self.freed.notify_one();
        }
    }

    /// Takes a slot again, waiting for one where all are taken.
    pub async fn wake(&mut self) {
        if self.permit.is_none() {
            self.permit = Arc::clone(&self.free).acquire_owned().await.ok();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.rest();
    }
}
