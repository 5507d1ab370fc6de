//! What a grant's limits say of its tasks, inside a group's transaction: who may still hand something in, and the counts
//! that are kept of it.

use baton_core::ident::Owner;
use baton_core::time::Timestamp;

use super::apply::Group;
use crate::{Barred, By, Error, LOCAL};

impl Group<'_> {
    /// Refuses a caller whose grant takes no calls any more.
    pub fn check_grant(&self, by: &By, now: Timestamp) -> Result<(), Error> {
        by.caller().map_or(Ok(()), |owner| self.check_owner(owner, now))
    }

    /// The same, of the grant of this owner.
    pub fn check_owner(&self, owner: &Owner, now: Timestamp) -> Result<(), Error> {
        if &*owner.grant == LOCAL {
            return Ok(());
        }
        Ok(self.standing(&owner.grant).map_or(Err(Barred::Over), |grant| grant.admits(now))?)
    }

    /// Counts a new task; refuses one more than its grant may have.
    pub fn count_task(&mut self, by: &By, grant: &str, now: Timestamp) -> Result<(), Error> {
        let Some((limits, usage)) = self.counted(grant) else { return Ok(()) };
        if matches!(by, By::Owner(..)) {
            usage.check(limits, now)?;
        }
        usage.add(now);
        Ok(())
    }

    /// Counts a task that begins or ends to be open.
    pub fn count_open(&mut self, grant: &str, before: bool, after: bool) {
        if before == after {
            return;
        }
        if let Some((_, usage)) = self.counted(grant) {
            usage.open = if after { usage.open.saturating_add(1) } else { usage.open.saturating_sub(1) };
        }
    }
}
