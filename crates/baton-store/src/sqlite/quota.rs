//! What a grant's limits say of its tasks, inside the writer's transaction: who may still hand something in, and the counts
//! that are kept of it.

use std::sync::Arc;

use baton_core::ident::Owner;
use baton_core::time::Timestamp;

use super::access::{self, AccessWrite};
use super::apply::Group;
use crate::{By, Error, Grant, GrantLimits, Usage};

impl Group<'_> {
    /// Makes or changes a grant. What comes after it in the group meets it as it is then.
    pub fn access(&mut self, write: &AccessWrite) -> Result<Arc<Grant>, Error> {
        let grant = match write {
            AccessWrite::Create(new) => access::create(self.db, new)?,
            AccessWrite::Change { id, change, by, now } => {
                let before = self.grant(id).ok_or(Error::NotFound)?;
                match access::change(self.db, &before, change, (by, *now))? {
                    Some(after) => after,
                    None => return Ok(before),
                }
            }
        };
        let grant = Arc::new(grant);
        self.altered.insert(Arc::clone(&grant.id), Arc::clone(&grant));
        Ok(grant)
    }

    /// A grant as this transaction leaves it.
    pub fn grant(&self, id: &str) -> Option<Arc<Grant>> {
        self.altered.get(id).cloned().or_else(|| self.grants.find(id))
    }

    /// Refuses a caller whose grant takes no calls any more.
    pub fn check_grant(&self, by: &By, now: Timestamp) -> Result<(), Error> {
        by.caller().map_or(Ok(()), |owner| self.check_owner(owner, now))
    }

    /// The same, of the grant of this owner.
    pub fn check_owner(&self, owner: &Owner, now: Timestamp) -> Result<(), Error> {
        let admitted = match self.altered.get(&owner.grant) {
            Some(grant) => grant.admits(now),
            None => self.grants.admits(&owner.grant, now),
        };
        Ok(admitted?)
    }

    /// Counts a new task; refuses one more than its grant may have.
    pub fn count_task(&mut self, by: &By, owner: &Owner, now: Timestamp) -> Result<(), Error> {
        let Some((limits, usage)) = self.counted(owner) else { return Ok(()) };
        if matches!(by, By::Owner(..)) {
            usage.check(limits, now)?;
        }
        usage.add(now);
        Ok(())
    }

    /// Counts a task that begins or ends to be open.
    pub fn count_open(&mut self, owner: &Owner, before: bool, after: bool) {
        if before == after {
            return;
        }
        if let Some((_, usage)) = self.counted(owner) {
            usage.open = if after { usage.open.saturating_add(1) } else { usage.open.saturating_sub(1) };
        }
    }

    /// What is counted of a grant, where its tasks are counted.
    fn counted(&mut self, owner: &Owner) -> Option<&mut (GrantLimits, Usage)> {
        let id = &owner.grant;
        if !self.usage.contains_key(id) {
            let fresh = self.altered.get(id).filter(|grant| grant.limits.counts_tasks());
            let counted = self.grants.counted(id);
            let counted = counted.or_else(|| fresh.map(|grant| (grant.limits, Usage::default())))?;
            self.usage.insert(Arc::clone(id), counted);
        }
        self.usage.get_mut(id)
    }
}
