//! When grants were used, until that is stored. Everything else about them is asked of the database each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::time::Timestamp;

use crate::{Grant, GrantState};

/// The last use of each grant on this node, in milliseconds, and what of that is stored.
#[derive(Debug, Default)]
pub struct Uses(Mutex<HashMap<Arc<str>, Used>>);

#[derive(Clone, Copy, Debug)]
struct Used {
    at: i64,
    stored: Option<i64>,
}

impl Uses {
    /// A grant was used; `stored` is when it was last, as the database knows.
    pub fn note(&self, grant: &Grant, stored: Option<Timestamp>, now: Timestamp) {
        if grant.state == GrantState::Active {
            let stored = stored.map(Timestamp::as_millis);
            let mut uses = self.uses();
            let used = uses.entry(Arc::clone(&grant.id)).or_insert(Used { at: 0, stored });
            used.at = now.as_millis();
        }
    }

    pub fn find(&self, id: &str) -> Option<Timestamp> {
        self.uses().get(id).map(|used| Timestamp::from_millis(used.at))
    }

    pub fn unstored(&self) -> Vec<(Arc<str>, i64)> {
        let uses = self.uses();
        let unstored = uses.iter().filter(|(_, used)| used.stored != Some(used.at));
        unstored.map(|(id, used)| (Arc::clone(id), used.at)).collect()
    }

    pub fn are_stored(&self, uses: &[(Arc<str>, i64)]) {
        let mut known = self.uses();
        for (id, at) in uses {
            if let Some(used) = known.get_mut(id) {
                used.stored = Some(*at);
            }
        }
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<Arc<str>, Used>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
