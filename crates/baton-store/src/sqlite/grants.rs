//! All grants in memory: they are few, asked for at every request, and changed by the writer only.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use baton_core::time::Timestamp;
use rusqlite::Connection;

use super::access;
use crate::{Barred, Error, Grant, GrantLimits, GrantRecord, GrantState, LOCAL, Opened, Usage, Verb};

/// A time at which nothing was used.
const NEVER: i64 = i64::MIN;

/// Grants by id, and by the SHA-256 of their tokens.
#[derive(Debug, Default)]
pub struct Grants {
    known: RwLock<Known>,
    /// Grants whose tasks are counted. Where there are none, no task asks for them.
    counted: AtomicUsize,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<Arc<str>, Entry>,
    /// A label may be that of several; it stays what it is.
    labels: HashMap<String, Vec<Arc<str>>>,
    by_digest: HashMap<[u8; 32], Key, BuildHasherDefault<First>>,
}

#[derive(Debug)]
struct Entry {
    grant: Arc<Grant>,
    usage: Usage,
    used: Arc<Used>,
}

/// When a grant was used last, in milliseconds, and what of that is stored.
#[derive(Debug)]
pub struct Used {
    at: AtomicI64,
    stored: AtomicI64,
}

impl Used {
    fn note(&self, grant: &Grant, now: Timestamp) {
        if grant.state == GrantState::Active {
            self.at.store(now.as_millis(), Ordering::Relaxed);
        }
    }
}

/// What one token opens, and until when.
#[derive(Debug)]
struct Key {
    grant: Arc<Grant>,
    until: Option<Timestamp>,
    verbs: Option<Arc<[Verb]>>,
    resource: Option<Arc<str>>,
    used: Arc<Used>,
}

/// A digest is as good as random: its first bytes are hash enough, and nobody chooses which digests are stored.
#[derive(Debug, Default)]
struct First(u64);

impl Hasher for First {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length of an array, which is always the same.
    fn write_usize(&mut self, _: usize) {}
}

/// A grant as it is stored.
pub struct Stored {
    pub grant: Grant,
    pub usage: Usage,
    pub last_used_at: Option<Timestamp>,
}

impl Grants {
    pub fn load(connection: &Connection) -> Result<Self, Error> {
        let grants = Self::default();
        for Stored { grant, usage, last_used_at } in access::load(connection)? {
            let at = last_used_at.map_or(NEVER, Timestamp::as_millis);
            let used = Arc::new(Used { at: AtomicI64::new(at), stored: AtomicI64::new(at) });
            grants.put_entry(Entry { grant: Arc::new(grant), usage, used });
        }
        Ok(grants)
    }

    /// A grant as a commit left it.
    pub fn put(&self, grant: Arc<Grant>) {
        let kept = self.known().by_id.get(&grant.id).map(|entry| (entry.usage, Arc::clone(&entry.used)));
        let never = || Used { at: AtomicI64::new(NEVER), stored: AtomicI64::new(NEVER) };
        let (usage, used) = kept.unwrap_or_else(|| (Usage::default(), Arc::new(never())));
        self.put_entry(Entry { grant, usage, used });
    }

    fn put_entry(&self, entry: Entry) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let (grant, used) = (Arc::clone(&entry.grant), Arc::clone(&entry.used));
        let before = known.by_id.insert(Arc::clone(&grant.id), entry).map(|entry| entry.grant);
        match &before {
            Some(before) => known.forget_tokens(before),
            None => known.labels.entry(grant.label.clone()).or_default().push(Arc::clone(&grant.id)),
        }
        known.add_tokens(&grant, &used);
        let counts = |grant: &Arc<Grant>| usize::from(grant.limits.counts_tasks());
        self.counted.fetch_add(counts(&grant), Ordering::Relaxed);
        self.counted.fetch_sub(before.as_ref().map_or(0, counts), Ordering::Relaxed);
    }

    /// What a commit left of the counts of a grant.
    pub fn put_usage(&self, id: &str, usage: Usage) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.by_id.get_mut(id) {
            entry.usage = usage;
        }
    }

    pub fn find(&self, id: &str) -> Option<Arc<Grant>> {
        self.known().by_id.get(id).map(|entry| Arc::clone(&entry.grant))
    }

    pub fn find_record(&self, id: &str) -> Option<GrantRecord> {
        self.known().by_id.get(id).map(Entry::record)
    }

    /// What a token opens; that it was used is kept.
    pub fn find_by_digest(&self, digest: &[u8; 32], now: Timestamp) -> Option<Opened> {
        let known = self.known();
        let key = known.by_digest.get(digest)?;
        if key.until.is_some_and(|until| until <= now) {
            return None;
        }
        key.used.note(&key.grant, now);
        let (grant, verbs, resource) = (Arc::clone(&key.grant), key.verbs.clone(), key.resource.clone());
        Some(Opened { grant, until: key.until, verbs, resource })
    }

    /// The grants of a name, by id or else by label; that the only one was used is kept.
    pub fn find_named(&self, name: &str, now: Timestamp) -> Vec<Arc<Grant>> {
        let known = self.known();
        let open = |entry: &&Entry| !entry.grant.state_at(now).is_over();
        let found: Vec<&Entry> = if let Some(entry) = known.by_id.get(name) {
            Some(entry).filter(open).into_iter().collect()
        } else {
            let ids = known.labels.get(name).into_iter().flatten();
            ids.filter_map(|id| known.by_id.get(id)).filter(open).collect()
        };
        if let [only] = found.as_slice() {
            only.used.note(&only.grant, now);
        }
        found.into_iter().map(|entry| Arc::clone(&entry.grant)).collect()
    }

    /// Whether work may still come in by this grant.
    pub fn admits(&self, id: &str, now: Timestamp) -> Result<(), Barred> {
        if id == LOCAL {
            return Ok(());
        }
        self.known().by_id.get(id).map_or(Err(Barred::Over), |entry| entry.grant.admits(now))
    }

    /// The limits and the counts of a grant whose tasks are counted.
    pub fn counted(&self, id: &str) -> Option<(GrantLimits, Usage)> {
        if self.counted.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let known = self.known();
        let entry = known.by_id.get(id).filter(|entry| entry.grant.limits.counts_tasks())?;
        Some((entry.grant.limits, entry.usage))
    }

    /// Newest first.
    pub fn list(&self) -> Vec<GrantRecord> {
        let mut grants: Vec<_> = self.known().by_id.values().map(Entry::record).collect();
        grants.sort_by(|a, b| (b.grant.created_at, &b.grant.id).cmp(&(a.grant.created_at, &a.grant.id)));
        grants
    }

    /// Grants that have access tokens whose time is over.
    pub fn with_stale_tokens(&self, now: Timestamp) -> Vec<Arc<str>> {
        let known = self.known();
        let grants = known.by_id.values().map(|entry| &entry.grant);
        let stale = grants.filter(|grant| grant.access_tokens.iter().any(|token| token.expires_at <= now));
        stale.map(|grant| Arc::clone(&grant.id)).collect()
    }

    /// Grants that time ended, and of which nobody has said so.
    pub fn expired(&self, now: Timestamp) -> Vec<Arc<str>> {
        let known = self.known();
        let grants = known.by_id.values().map(|entry| &entry.grant);
        let expired = grants.filter(|grant| !grant.state.is_over() && grant.state_at(now).is_over());
        expired.map(|grant| Arc::clone(&grant.id)).collect()
    }

    /// Uses that are not stored yet.
    pub fn uses(&self) -> Vec<(Arc<str>, i64)> {
        let known = self.known();
        let used = known.by_id.iter().map(|(id, entry)| (id, entry.used.at.load(Ordering::Relaxed), entry));
        let unstored = used.filter(|(_, at, entry)| *at != entry.used.stored.load(Ordering::Relaxed));
        unstored.map(|(id, at, _)| (Arc::clone(id), at)).collect()
    }

    /// These uses are stored.
    pub fn used_is_stored(&self, uses: &[(Arc<str>, i64)]) {
        let known = self.known();
        for (id, at) in uses {
            if let Some(entry) = known.by_id.get(id) {
                entry.used.stored.store(*at, Ordering::Relaxed);
            }
        }
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// What a grant's tokens open.
    fn add_tokens(&mut self, grant: &Arc<Grant>, used: &Arc<Used>) {
        if grant.state.is_over() {
            return;
        }
        let key = |until, verbs, resource| {
            let until = [until, grant.expires_at].into_iter().flatten().min();
            Key { grant: Arc::clone(grant), until, verbs, resource, used: Arc::clone(used) }
        };
        for credential in &grant.credentials {
            self.by_digest.insert(credential.digest, key(credential.expires_at, None, None));
        }
        for token in &grant.access_tokens {
            let resource = token.bound.as_ref().map(|bound| Arc::clone(&bound.resource));
            self.by_digest.insert(token.digest, key(Some(token.expires_at), token.verbs.clone(), resource));
        }
    }

    /// Those of the grant as it was.
    fn forget_tokens(&mut self, before: &Grant) {
        let credentials = before.credentials.iter().map(|credential| &credential.digest);
        for digest in credentials.chain(before.access_tokens.iter().map(|token| &token.digest)) {
            self.by_digest.remove(digest);
        }
    }
}

impl Entry {
    fn record(&self) -> GrantRecord {
        let at = self.used.at.load(Ordering::Relaxed);
        GrantRecord {
            grant: Arc::clone(&self.grant),
            last_used_at: (at != NEVER).then(|| Timestamp::from_millis(at)),
            usage: self.grant.limits.counts_tasks().then_some(self.usage),
        }
    }
}
