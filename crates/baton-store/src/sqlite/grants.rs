//! All grants in memory: they are few, asked for at every request, and changed by the writer only.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rusqlite::Connection;

use super::access;
use crate::{Error, Grant, GrantState};

/// The built-in grant of dev mode; it is in no table.
const LOCAL: &str = "local";

/// Grants by id, and by the SHA-256 of their tokens.
#[derive(Debug, Default)]
pub struct Grants {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<Arc<str>, Arc<Grant>>,
    by_digest: HashMap<[u8; 32], Arc<str>>,
}

/// A grant as a commit left it, with the tokens that came with it.
pub struct Change {
    pub grant: Arc<Grant>,
    pub digests: Vec<[u8; 32]>,
}

impl Grants {
    pub fn load(connection: &Connection) -> Result<Self, Error> {
        let grants = Self::default();
        access::load(connection)?.into_iter().for_each(|change| grants.put(change));
        Ok(grants)
    }

    pub fn put(&self, change: Change) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for digest in change.digests {
            known.by_digest.insert(digest, Arc::clone(&change.grant.id));
        }
        known.by_id.insert(Arc::clone(&change.grant.id), change.grant);
    }

    pub fn find(&self, id: &str) -> Option<Arc<Grant>> {
        self.known().by_id.get(id).cloned()
    }

    /// The active grant of a token.
    pub fn find_by_digest(&self, digest: &[u8; 32]) -> Option<Arc<Grant>> {
        let known = self.known();
        let grant = known.by_id.get(known.by_digest.get(digest)?)?;
        (grant.state == GrantState::Active).then(|| Arc::clone(grant))
    }

    /// Whether work may still come in by this grant.
    pub fn is_usable(&self, id: &str) -> bool {
        id == LOCAL || self.known().by_id.get(id).is_some_and(|grant| grant.state == GrantState::Active)
    }

    /// Newest first.
    pub fn list(&self) -> Vec<Arc<Grant>> {
        let mut grants: Vec<_> = self.known().by_id.values().cloned().collect();
        grants.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        grants
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}
