//! Grants and credentials: their rows, and the verbs of [`Access`].

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::time::Timestamp;
use rusqlite::{Connection, params};

use super::Sqlite;
use super::grants::{Change, Grants};
use super::rows::{json, optional_time, text, time, to_json};
use super::writer::Write;
use crate::{Access, Error, Grant, GrantState, NewGrant};

const LIST_GRANTS: &str = r#"-- store.list_grants
SELECT id, label, agents, verbs, created_at, revoked_at FROM "grant" ORDER BY created_at DESC, id DESC"#;

const LIST_CREDENTIALS: &str = "-- store.list_credentials
SELECT digest, grant_id, hint, revoked_at IS NULL FROM credential ORDER BY created_at, digest";

const INSERT_GRANT: &str = r#"-- store.insert_grant
INSERT INTO "grant" (id, label, agents, verbs, created_at) VALUES (?1, ?2, ?3, ?4, ?5)"#;

const INSERT_CREDENTIAL: &str = "-- store.insert_credential
INSERT INTO credential (digest, grant_id, hint, created_at) VALUES (?1, ?2, ?3, ?4)";

const REVOKE_GRANT: &str = r#"-- store.revoke_grant
UPDATE "grant" SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL"#;

const REVOKE_CREDENTIALS: &str = "-- store.revoke_credentials
UPDATE credential SET revoked_at = ?2 WHERE grant_id = ?1 AND revoked_at IS NULL";

/// What was owed to its webhooks is owed no more; a try under way settles nothing.
pub(super) const END_PUSH_CONFIGS: &str = "-- store.end_push_configs
UPDATE push_config SET state = 'ended', reason = 'revoked', failures = 0, due_at = NULL, revision = revision + 1
WHERE grant_id = ?1 AND state <> 'ended'";

const INSERT_AUDIT: &str = "-- store.insert_audit
INSERT INTO audit (at, actor, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Every grant with its live tokens.
pub fn load(db: &Connection) -> Result<Vec<Change>, Error> {
    let mut changes = db
        .prepare(LIST_GRANTS)?
        .query_map([], |row| {
            let revoked = optional_time(row, 5)?;
            Ok(Grant {
                id: text(row, 0)?.into(),
                label: row.get(1)?,
                agents: json(row, 2)?,
                verbs: json(row, 3)?,
                created_at: time(row, 4)?,
                state: revoked.map_or(GrantState::Active, |at| GrantState::Revoked { at }),
                hints: Vec::new(),
            })
        })?
        .map(|grant| grant.map(|grant| (grant, Vec::new())))
        .collect::<Result<Vec<_>, _>>()?;
    let mut statement = db.prepare(LIST_CREDENTIALS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let owner = text(row, 1)?;
        if let Some((grant, digests)) = changes.iter_mut().find(|(grant, _)| *grant.id == *owner) {
            grant.hints.push(row.get(2)?);
            if row.get(3)? {
                digests.push(row.get::<_, [u8; 32]>(0)?);
            }
        }
    }
    Ok(changes.into_iter().map(|(grant, digests)| Change { grant: Arc::new(grant), digests }).collect())
}

pub fn create(db: &Connection, new: &NewGrant, changes: &mut Vec<Change>) -> Result<Arc<Grant>, Error> {
    let at = new.now.as_millis();
    db.prepare_cached(INSERT_GRANT)?.execute(params![
        new.id,
        new.label,
        to_json(&new.agents),
        to_json(&new.verbs),
        at
    ])?;
    let credential = &new.credential;
    db.prepare_cached(INSERT_CREDENTIAL)?.execute(params![credential.digest, new.id, credential.hint, at])?;
    audit(db, new.now, &new.actor, "grant.create", &new.id)?;
    let grant = Arc::new(Grant {
        id: new.id.as_str().into(),
        label: new.label.clone(),
        agents: new.agents.clone(),
        verbs: new.verbs.clone(),
        created_at: new.now,
        state: GrantState::Active,
        hints: vec![credential.hint.clone()],
    });
    changes.push(Change { grant: Arc::clone(&grant), digests: vec![credential.digest] });
    Ok(grant)
}

pub fn revoke(
    db: &Connection,
    grants: &Grants,
    id: &str,
    by: (&str, Timestamp),
    changes: &mut Vec<Change>,
) -> Result<Arc<Grant>, Error> {
    let (actor, now) = by;
    // What this transaction did before stands in no memory yet.
    let earlier = changes.iter().rev().find(|change| *change.grant.id == *id);
    let grant =
        earlier.map(|change| Arc::clone(&change.grant)).or_else(|| grants.find(id)).ok_or(Error::NotFound)?;
    if db.prepare_cached(REVOKE_GRANT)?.execute(params![id, now.as_millis()])? == 0 {
        return Ok(grant);
    }
    db.prepare_cached(REVOKE_CREDENTIALS)?.execute(params![id, now.as_millis()])?;
    db.prepare_cached(END_PUSH_CONFIGS)?.execute([id])?;
    audit(db, now, actor, "grant.revoke", id)?;
    let grant = Arc::new(Grant { state: GrantState::Revoked { at: now }, ..Grant::clone(&grant) });
    changes.push(Change { grant: Arc::clone(&grant), digests: Vec::new() });
    Ok(grant)
}

pub fn audit(db: &Connection, now: Timestamp, actor: &str, action: &str, target: &str) -> Result<(), Error> {
    let detail: Option<&str> = None;
    db.prepare_cached(INSERT_AUDIT)?.execute(params![now.as_millis(), actor, action, target, detail])?;
    Ok(())
}

#[async_trait]
impl Access for Sqlite {
    async fn create_grant(&self, new: NewGrant) -> Result<Arc<Grant>, Error> {
        self.inner.writer.write(|reply| Write::CreateGrant(Box::new(new), reply)).await
    }

    async fn list_grants(&self) -> Result<Vec<Arc<Grant>>, Error> {
        Ok(self.inner.grants.list())
    }

    async fn revoke_grant(&self, id: &str, actor: &str, now: Timestamp) -> Result<Arc<Grant>, Error> {
        let (id, actor) = (id.to_owned(), actor.to_owned());
        self.inner.writer.write(|reply| Write::RevokeGrant { id, actor, now, reply }).await
    }

    async fn find_credential(&self, digest: &[u8; 32]) -> Result<Option<Arc<Grant>>, Error> {
        Ok(self.inner.grants.find_by_digest(digest))
    }
}
