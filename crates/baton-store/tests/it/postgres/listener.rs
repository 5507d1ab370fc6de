//! Who listens to a store: what it was told, and waiting for more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_store::{Committed, Elsewhere, Observer};
use tokio::sync::Notify;

/// Far longer than anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub struct Listener {
    own: Mutex<Vec<Committed>>,
    elsewhere: Mutex<Vec<Elsewhere>>,
    watched: Mutex<Vec<TaskId>>,
    more: Notify,
}

impl Observer for Listener {
    fn committed(&self, commits: &[Committed]) {
        self.own.lock().unwrap().extend_from_slice(commits);
    }

    fn elsewhere(&self, changed: &[Elsewhere]) {
        self.elsewhere.lock().unwrap().extend_from_slice(changed);
        self.more.notify_waiters();
    }

    fn watched(&self) -> Vec<TaskId> {
        self.watched.lock().unwrap().clone()
    }
}

impl Listener {
    pub fn watching(tasks: Vec<TaskId>) -> Arc<Self> {
        Arc::new(Self { watched: Mutex::new(tasks), ..Self::default() })
    }

    /// What it was told of other nodes so far.
    pub fn told(&self) -> Vec<Elsewhere> {
        self.elsewhere.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.elsewhere.lock().unwrap().clear();
    }

    /// Waits until it was told this.
    pub async fn hears(&self, change: Elsewhere) {
        let heard = async {
            loop {
                let more = self.more.notified();
                if self.told().contains(&change) {
                    return;
                }
                more.await;
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        assert!(heard.is_ok(), "{change:?} was not told, but {:?}", self.told());
    }
}
