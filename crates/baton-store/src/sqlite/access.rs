//! Grants and credentials: their rows, and the verbs of [`Access`].

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use baton_core::time::Timestamp;
use rusqlite::{Connection, Row, params};
use serde_json::json;

use super::grants::Stored;
use super::rows::{self, json as read_json, optional_text, optional_time, text, time};
use super::writer::Write;
use super::{Sqlite, audit};
use crate::stored::named::grant_state;
use crate::stored::to_json;
use crate::{
    Access, AccessToken, Actor, Bound, Credential, Error, Grant, GrantChange, GrantRecord, GrantState,
    NewGrant, Opened, Usage, Verb,
};

const LIST_GRANTS: &str = r#"-- store.list_grants
SELECT id, label, agents, verbs, limits, expires_at, state, state_at, created_at, created_by, changed_at, changed_by,
    last_used_at, open_tasks, day, made
FROM "grant" ORDER BY created_at, id"#;

const LIST_CREDENTIALS: &str = "-- store.list_credentials
SELECT digest, grant_id, hint, created_at, expires_at FROM credential ORDER BY created_at, digest";

const INSERT_GRANT: &str = r#"-- store.insert_grant
INSERT INTO "grant" (id, label, agents, verbs, limits, expires_at, state, state_at, created_at, created_by, changed_at,
    changed_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'active', ?7, ?7, ?8, ?7, ?8)"#;

const UPDATE_GRANT: &str = r#"-- store.update_grant
UPDATE "grant" SET state = ?2, state_at = CASE WHEN state = ?2 THEN state_at ELSE ?3 END, changed_at = ?4, changed_by = ?5 WHERE id = ?1"#;

const PUT_CREDENTIAL: &str = "-- store.put_credential
INSERT INTO credential (digest, grant_id, hint, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE grant_id = excluded.grant_id";

const LIST_ACCESS_TOKENS: &str = "-- store.list_access_tokens
SELECT digest, grant_id, verbs, created_at, expires_at, approval, resource FROM access_token ORDER BY created_at, digest";

const INSERT_ACCESS_TOKEN: &str = "-- store.insert_access_token
INSERT INTO access_token (digest, grant_id, verbs, created_at, expires_at, approval, resource)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const DELETE_ACCESS_TOKEN: &str = "-- store.delete_access_token
DELETE FROM access_token WHERE digest = ?1";

/// What was owed to its webhooks is owed no more; a try under way settles nothing.
pub(super) const END_PUSH_CONFIGS: &str = "-- store.end_push_configs
UPDATE push_config SET state = 'ended', reason = 'revoked', failures = 0, due_at = NULL, revision = revision + 1
WHERE grant_id = ?1 AND reason IS NOT 'revoked'";

/// What clients were allowed ends with the grant.
const DELETE_APPROVALS: &str = "-- store.delete_approvals
DELETE FROM approval WHERE grant_id = ?1";

const PUT_USAGE: &str = r#"-- store.put_usage
UPDATE "grant" SET open_tasks = ?2, day = ?3, made = ?4 WHERE id = ?1"#;

const PUT_USE: &str = r#"-- store.put_use
UPDATE "grant" SET last_used_at = ?2 WHERE id = ?1"#;

/// What the writer is asked about grants.
pub enum AccessWrite {
    Create(NewGrant),
    Change { id: String, change: GrantChange, by: Actor, now: Timestamp },
}

/// Every grant with its tokens.
pub fn load(db: &Connection) -> Result<Vec<Stored>, Error> {
    let mut grants: Vec<Stored> =
        db.prepare(LIST_GRANTS)?.query_map([], stored)?.collect::<Result<_, _>>()?;
    let ids = grants.iter().enumerate().map(|(at, stored)| (Arc::clone(&stored.grant.id), at));
    let places: HashMap<Arc<str>, usize> = ids.collect();
    let mut statement = db.prepare(LIST_CREDENTIALS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(at) = places.get(text(row, 1)?) {
            grants[*at].grant.credentials.push(Credential {
                digest: row.get(0)?,
                hint: row.get(2)?,
                created_at: time(row, 3)?,
                expires_at: optional_time(row, 4)?,
            });
        }
    }
    let mut statement = db.prepare(LIST_ACCESS_TOKENS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(at) = places.get(text(row, 1)?) {
            let verbs: Option<Vec<Verb>> = rows::optional_json(row, 2)?;
            grants[*at].grant.access_tokens.push(AccessToken {
                digest: row.get(0)?,
                verbs: verbs.map(Arc::from),
                created_at: time(row, 3)?,
                expires_at: time(row, 4)?,
                bound: bound(row)?,
            });
        }
    }
    Ok(grants)
}

/// The columns approval and resource.
fn bound(row: &Row<'_>) -> rusqlite::Result<Option<Bound>> {
    let (approval, resource) = (optional_text(row, 5)?, optional_text(row, 6)?);
    Ok(approval
        .zip(resource)
        .map(|(approval, resource)| Bound { approval: approval.into(), resource: resource.into() }))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let state = grant_state(text(row, 6)?, time(row, 7)?)?;
    let grant = Grant {
        id: text(row, 0)?.into(),
        label: row.get(1)?,
        agents: read_json(row, 2)?,
        verbs: read_json(row, 3)?,
        limits: read_json(row, 4)?,
        expires_at: optional_time(row, 5)?,
        state,
        credentials: Vec::new(),
        access_tokens: Vec::new(),
        created_at: time(row, 8)?,
        created_by: row.get(9)?,
        changed_at: time(row, 10)?,
        changed_by: row.get(11)?,
    };
    let usage = Usage { open: row.get(13)?, day: row.get(14)?, made: row.get(15)? };
    Ok(Stored { grant, usage, last_used_at: optional_time(row, 12)? })
}

/// Writes a new grant.
pub fn create(db: &Connection, new: &NewGrant) -> Result<Grant, Error> {
    let NewGrant { id, label, agents, verbs, limits, expires_at, credential, by, now } = new;
    db.prepare_cached(INSERT_GRANT)?.execute(params![
        id,
        label,
        to_json(agents),
        to_json(verbs),
        to_json(limits),
        expires_at.map(Timestamp::as_millis),
        now.as_millis(),
        by.name
    ])?;
    let credential = credential.as_ref().map(|new| new.made(*now));
    let grant = Grant {
        id: id.as_str().into(),
        label: label.clone(),
        agents: agents.clone(),
        verbs: verbs.clone(),
        limits: *limits,
        expires_at: *expires_at,
        state: GrantState::Active,
        credentials: credential.into_iter().collect(),
        access_tokens: Vec::new(),
        created_at: *now,
        created_by: by.name.clone(),
        changed_at: *now,
        changed_by: by.name.clone(),
    };
    put_credentials(db, &[], &grant)?;
    let detail =
        json!({"label": label, "agents": agents, "verbs": verbs, "limits": limits, "expiresAt": expires_at});
    audit::note(db, (by, *now), ("grant.create", id), detail.to_string())?;
    Ok(grant)
}

/// Changes a grant as it is before; none where nothing changes.
pub fn change(
    db: &Connection,
    before: &Grant,
    change: &GrantChange,
    by: (&Actor, Timestamp),
) -> Result<Option<Grant>, Error> {
    let (actor, now) = by;
    let Some(mut grant) = change.apply(before, now)? else { return Ok(None) };
    put_access_tokens(db, before, &grant)?;
    if matches!(
        change,
        GrantChange::Issue { .. } | GrantChange::Hand { .. } | GrantChange::Withdraw(_) | GrantChange::Tidy
    ) {
        return Ok(Some(grant));
    }
    grant.changed_at = now;
    grant.changed_by.clone_from(&actor.name);
    let since = match grant.state {
        GrantState::Active => now,
        GrantState::Paused { at } | GrantState::Revoked { at } | GrantState::Expired { at } => at,
    };
    db.prepare_cached(UPDATE_GRANT)?.execute(params![
        &*grant.id,
        grant.state.as_str(),
        since.as_millis(),
        now.as_millis(),
        actor.name
    ])?;
    put_credentials(db, &before.credentials, &grant)?;
    if grant.state.is_over() {
        db.prepare_cached(END_PUSH_CONFIGS)?.execute([&*grant.id])?;
        db.prepare_cached(DELETE_APPROVALS)?.execute([&*grant.id])?;
    }
    let detail = match change {
        GrantChange::Rotate { until, .. } => json!({"overlapUntil": until}).to_string(),
        GrantChange::Pause
        | GrantChange::Resume
        | GrantChange::Issue { .. }
        | GrantChange::Hand { .. }
        | GrantChange::Withdraw(_)
        | GrantChange::Tidy
        | GrantChange::Revoke
        | GrantChange::Expire => String::new(),
    };
    audit::note(db, by, (change.action(), &grant.id), detail)?;
    Ok(Some(grant))
}

/// Writes the tokens of a grant that are not as they were before.
pub fn put_credentials(db: &Connection, before: &[Credential], after: &Grant) -> Result<(), Error> {
    let mut statement = db.prepare_cached(PUT_CREDENTIAL)?;
    for changed in after.credentials.iter().filter(|credential| !before.contains(credential)) {
        let Credential { digest, hint, created_at, expires_at } = changed;
        statement.execute(params![
            digest,
            &*after.id,
            hint,
            created_at.as_millis(),
            expires_at.map(Timestamp::as_millis)
        ])?;
    }
    Ok(())
}

/// Writes those that came, and deletes those that went.
fn put_access_tokens(db: &Connection, before: &Grant, after: &Grant) -> Result<(), Error> {
    let is_in = |grant: &Grant, token: &AccessToken| {
        grant.access_tokens.iter().any(|other| other.digest == token.digest)
    };
    for gone in before.access_tokens.iter().filter(|token| !is_in(after, token)) {
        db.prepare_cached(DELETE_ACCESS_TOKEN)?.execute([&gone.digest[..]])?;
    }
    for new in after.access_tokens.iter().filter(|token| !is_in(before, token)) {
        let AccessToken { digest, verbs, created_at, expires_at, bound } = new;
        let verbs = verbs.as_ref().map(|verbs| to_json(&verbs.to_vec()));
        db.prepare_cached(INSERT_ACCESS_TOKEN)?.execute(params![
            digest,
            &*after.id,
            verbs,
            created_at.as_millis(),
            expires_at.as_millis(),
            bound.as_ref().map(|bound| &*bound.approval),
            bound.as_ref().map(|bound| &*bound.resource)
        ])?;
    }
    Ok(())
}

pub fn put_usage(db: &Connection, id: &str, usage: Usage) -> Result<(), Error> {
    db.prepare_cached(PUT_USAGE)?.execute(params![id, usage.open, usage.day, usage.made])?;
    Ok(())
}

pub fn put_uses(db: &Connection, uses: &[(Arc<str>, i64)]) -> Result<usize, Error> {
    let mut statement = db.prepare_cached(PUT_USE)?;
    for (id, at) in uses {
        statement.execute(params![&**id, at])?;
    }
    Ok(uses.len())
}

#[async_trait]
impl Access for Sqlite {
    async fn create_grant(&self, new: NewGrant) -> Result<Arc<Grant>, Error> {
        self.inner.writer.write(|reply| Write::Access(Box::new(AccessWrite::Create(new)), reply)).await
    }

    async fn change_grant(
        &self,
        id: &str,
        change: GrantChange,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Arc<Grant>, Error> {
        let write = AccessWrite::Change { id: id.to_owned(), change, by: by.clone(), now };
        self.inner.writer.write(|reply| Write::Access(Box::new(write), reply)).await
    }

    async fn list_grants(&self) -> Result<Vec<GrantRecord>, Error> {
        Ok(self.inner.grants.list())
    }

    async fn find_grant(&self, id: &str) -> Result<Option<GrantRecord>, Error> {
        Ok(self.inner.grants.find_record(id))
    }

    async fn find_credential(&self, digest: &[u8; 32], now: Timestamp) -> Result<Option<Opened>, Error> {
        Ok(self.inner.grants.find_by_digest(digest, now))
    }

    async fn find_grants_named(&self, name: &str, now: Timestamp) -> Result<Vec<Arc<Grant>>, Error> {
        Ok(self.inner.grants.find_named(name, now))
    }

    async fn tidy_access_tokens(&self, now: Timestamp) -> Result<usize, Error> {
        let stale = self.inner.grants.with_stale_tokens(now);
        for id in &stale {
            self.change_grant(id, GrantChange::Tidy, &Actor::node(), now).await?;
        }
        Ok(stale.len())
    }

    async fn expired_grants(&self, now: Timestamp) -> Result<Vec<Arc<str>>, Error> {
        Ok(self.inner.grants.expired(now))
    }

    async fn store_uses(&self) -> Result<usize, Error> {
        let uses = self.inner.grants.uses();
        if uses.is_empty() {
            return Ok(0);
        }
        self.inner.writer.write(|reply| Write::Uses(uses, reply)).await
    }
}
