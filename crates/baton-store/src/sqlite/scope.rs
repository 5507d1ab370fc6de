//! The numbers that stand for an agent with an owner of tasks.

use baton_core::ident::{AgentName, Owner};
use rusqlite::{Connection, OptionalExtension as _};

pub(super) const FIND_SCOPE: &str = "-- store.find_scope
SELECT key FROM scope WHERE agent = ?1 AND grant_id = ?2 AND subject = ?3";

const INSERT_SCOPE: &str = "-- store.insert_scope
INSERT INTO scope (agent, grant_id, subject) VALUES (?1, ?2, ?3)";

/// The number, where this owner ever had a task of the agent.
pub fn find(db: &Connection, agent: &AgentName, owner: &Owner) -> rusqlite::Result<Option<i64>> {
    let bind = [agent.as_str(), &*owner.grant, &*owner.subject];
    db.prepare_cached(FIND_SCOPE)?.query_row(bind, |row| row.get(0)).optional()
}

/// The number; a new one where there is none.
pub fn find_or_insert(db: &Connection, agent: &AgentName, owner: &Owner) -> rusqlite::Result<i64> {
    if let Some(key) = find(db, agent, owner)? {
        return Ok(key);
    }
    db.prepare_cached(INSERT_SCOPE)?.insert([agent.as_str(), &*owner.grant, &*owner.subject])
}
