//! The numbers that stand for an agent with an owner of tasks. A number that was given once never changes.

use std::collections::HashMap;

use baton_core::ident::{AgentName, Owner};

use super::failure::Failure;
use super::pool::Ask;
use super::rows::escaped;

pub const FIND_SCOPE: &str = "-- store.find_scope
SELECT key FROM scope WHERE agent = $1 AND grant_id = $2 AND subject = $3";

/// Waits for whoever makes the same one at that moment.
pub const INSERT_SCOPE: &str = "-- store.insert_scope
INSERT INTO scope (agent, grant_id, subject) VALUES ($1, $2, $3)
ON CONFLICT (agent, grant_id, subject) DO UPDATE SET agent = excluded.agent RETURNING key";

/// Numbers that are remembered. Past that, all are forgotten: they are looked up again.
const REMEMBERED: usize = 10_000;

/// An agent with an owner of its tasks.
pub type Named = (AgentName, Owner);

/// The number, where this owner ever had a task of the agent.
pub async fn find(db: &impl Ask, agent: &AgentName, owner: &Owner) -> Result<Option<i64>, Failure> {
    let (grant, subject) = (escaped(&owner.grant), escaped(&owner.subject));
    let row = db.first(FIND_SCOPE, &[&agent.as_str(), &grant, &subject]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Numbers that were committed.
#[derive(Debug, Default)]
pub struct Scopes(HashMap<Named, i64>);

impl Scopes {
    pub fn find(&self, named: &Named) -> Option<i64> {
        self.0.get(named).copied()
    }

    pub fn put(&mut self, found: impl IntoIterator<Item = (Named, i64)>) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.extend(found);
    }
}
