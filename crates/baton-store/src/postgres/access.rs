//! Grants and credentials: their rows, and the verbs of [`Access`]. Nothing of them is kept in memory but when they were
//! used: what one node revokes is over on all of them at once.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use baton_core::time::Timestamp;
use serde_json::json;
use tokio_postgres::Row;

use super::failure::Failure;
use super::pool::{Ask, Tx, Work};
use super::rows::{self, digest, escaped, millis, number, optional_time, text, time, unescaped};
use super::{Postgres, audit};
use crate::stored::named::grant_state;
use crate::stored::to_json;
use crate::{
    Access, AccessToken, Actor, Bound, Credential, Elsewhere, Error, Grant, GrantChange, GrantRecord,
    GrantState, NewGrant, Opened, Usage, Verb,
};

/// The columns of [`stored`], in its order, without tokens.
pub const GRANT: &str = r#""grant".id, label, agents, verbs, limits, expires_at, state, state_at, created_at, created_by, changed_at, changed_by,
    last_used_at, open_tasks, day, made"#;

/// A grant with its tokens: a column of arrays for each of what they have.
const WITH_TOKENS: &str = r#"SELECT {}, known.digests, known.hints, known.starts, known.ends,
    lent.digests, lent.of, lent.starts, lent.ends, lent.approvals, lent.resources
FROM "grant" CROSS JOIN LATERAL (
    SELECT array_agg(digest ORDER BY created_at, digest) AS digests, array_agg(hint ORDER BY created_at, digest) AS hints,
        array_agg(created_at ORDER BY created_at, digest) AS starts, array_agg(expires_at ORDER BY created_at, digest) AS ends
    FROM credential WHERE grant_id = "grant".id) AS known
CROSS JOIN LATERAL (
    SELECT array_agg(digest ORDER BY created_at, digest) AS digests, array_agg(verbs ORDER BY created_at, digest) AS of,
        array_agg(approval ORDER BY created_at, digest) AS approvals, array_agg(resource ORDER BY created_at, digest) AS resources,
        array_agg(created_at ORDER BY created_at, digest) AS starts, array_agg(expires_at ORDER BY created_at, digest) AS ends
    FROM access_token WHERE grant_id = "grant".id) AS lent"#;

fn with_tokens(name: &str, rest: &str) -> String {
    format!("-- store.{name}\n{} {rest}", WITH_TOKENS.replace("{}", GRANT))
}

static LIST_GRANTS: LazyLock<String> =
    LazyLock::new(|| with_tokens("list_grants", r#"ORDER BY "grant".created_at DESC, "grant".id DESC"#));

static FIND_GRANT: LazyLock<String> = LazyLock::new(|| with_tokens("find_grant", r#"WHERE "grant".id = $1"#));

static FIND_CREDENTIAL: LazyLock<String> = LazyLock::new(|| {
    let of = r#"WHERE "grant".id = (SELECT grant_id FROM credential WHERE digest = $1
    UNION ALL SELECT grant_id FROM access_token WHERE digest = $1 LIMIT 1)"#;
    with_tokens("find_credential", of)
});

/// The one with this id, else those with this label.
static FIND_NAMED: LazyLock<String> = LazyLock::new(|| {
    let of = r#"WHERE "grant".id = $1 OR (label = $1 AND NOT EXISTS (SELECT 1 FROM "grant" AS same WHERE same.id = $1))
ORDER BY "grant".created_at, "grant".id"#;
    with_tokens("find_grants_named", of)
});

const LOCK_GRANT: &str = r#"-- store.lock_grant
SELECT id FROM "grant" WHERE id = $1 FOR UPDATE"#;

const INSERT_GRANT: &str = r#"-- store.insert_grant
INSERT INTO "grant" (id, label, agents, verbs, limits, expires_at, state, state_at, created_at, created_by, changed_at,
    changed_by, counted)
VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, $7, $8, $7, $8, $9)"#;

const UPDATE_GRANT: &str = r#"-- store.update_grant
UPDATE "grant" SET state = $2, state_at = CASE WHEN state = $2 THEN state_at ELSE $3 END, changed_at = $4, changed_by = $5
WHERE id = $1"#;

const PUT_CREDENTIAL: &str = "-- store.put_credential
INSERT INTO credential (digest, grant_id, hint, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE credential.grant_id = excluded.grant_id";

const INSERT_ACCESS_TOKEN: &str = "-- store.insert_access_token
INSERT INTO access_token (digest, grant_id, verbs, created_at, expires_at, approval, resource)
VALUES ($1, $2, $3, $4, $5, $6, $7)";

const DELETE_ACCESS_TOKEN: &str = "-- store.delete_access_token
DELETE FROM access_token WHERE digest = $1";

/// What was owed to its webhooks is owed no more; a try under way settles nothing.
pub const END_PUSH_CONFIGS: &str = "-- store.end_push_configs
UPDATE push_config SET state = 'ended', reason = 'revoked', failures = 0, due_at = NULL, revision = revision + 1,
    held_by = NULL, held_until = NULL
WHERE grant_id = $1 AND reason IS DISTINCT FROM 'revoked'";

/// What clients were allowed ends with the grant.
const DELETE_APPROVALS: &str = "-- store.delete_approvals
DELETE FROM approval WHERE grant_id = $1";

const LIST_STALE: &str = "-- store.list_grants_with_stale_tokens
SELECT DISTINCT grant_id FROM access_token WHERE expires_at <= $1";

const LIST_EXPIRED: &str = r#"-- store.list_expired_grants
SELECT id FROM "grant" WHERE expires_at <= $1 AND state IN ('active', 'paused') ORDER BY id"#;

const PUT_USES: &str = r#"-- store.put_use
UPDATE "grant" SET last_used_at = greatest(last_used_at, used.at) FROM unnest($1::text[], $2::bigint[]) AS used (id, at)
WHERE "grant".id = used.id"#;

/// What is asked about grants.
pub enum AccessWrite {
    Create(NewGrant),
    Change { id: String, change: GrantChange, by: Actor, now: Timestamp },
}

#[async_trait]
impl Work for AccessWrite {
    /// The grant, and whether it is another than before.
    type Answer = (Arc<Grant>, bool);

    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure> {
        match self {
            Self::Create(new) => Ok((Arc::new(create(tx, new).await?), true)),
            Self::Change { id, change, by, now } => {
                let before = load(tx, id).await?.ok_or(Error::NotFound)?;
                match self::change(tx, &before, change, (by, *now)).await? {
                    Some(after) => Ok((Arc::new(after), true)),
                    None => Ok((Arc::new(before), false)),
                }
            }
        }
    }
}

/// A grant that nobody else changes before this transaction ends.
pub async fn load(tx: &Tx<'_>, id: &str) -> Result<Option<Grant>, Failure> {
    let id = escaped(id);
    tx.query(LOCK_GRANT, &[&id]).await?;
    Ok(find(tx, &id).await?.map(|stored| stored.grant))
}

async fn find(db: &impl Ask, id: &str) -> Result<Option<Stored>, Failure> {
    db.first(&FIND_GRANT, &[&escaped(id)]).await?.as_ref().map(stored_with_tokens).transpose()
}

/// A grant as it is stored.
pub struct Stored {
    pub grant: Grant,
    pub usage: Usage,
    pub last_used_at: Option<Timestamp>,
}

/// A grant from a row of [`GRANT`], without its tokens.
pub fn stored(row: &Row) -> Result<Stored, Failure> {
    let grant = Grant {
        id: text(row, 0)?.into(),
        label: text(row, 1)?,
        agents: rows::json(row, 2)?,
        verbs: rows::json(row, 3)?,
        limits: rows::json(row, 4)?,
        expires_at: optional_time(row, 5)?,
        state: grant_state(row.try_get(6)?, time(row, 7)?)?,
        credentials: Vec::new(),
        access_tokens: Vec::new(),
        created_at: time(row, 8)?,
        created_by: text(row, 9)?,
        changed_at: time(row, 10)?,
        changed_by: text(row, 11)?,
    };
    let usage = Usage { open: number(row, 13)?, day: row.try_get(14)?, made: number(row, 15)? };
    Ok(Stored { grant, usage, last_used_at: optional_time(row, 12)? })
}

fn stored_with_tokens(row: &Row) -> Result<Stored, Failure> {
    let mut stored = stored(row)?;
    let bytes = |at| -> Result<Vec<[u8; 32]>, Failure> {
        let digests: Vec<&[u8]> = row.try_get::<_, Option<_>>(at)?.unwrap_or_default();
        let read = |bytes: &[u8]| bytes.try_into().map_err(|_| rows::unreadable("a digest is 32 bytes long"));
        digests.into_iter().map(read).collect()
    };
    let times = |at| -> Result<Vec<Option<i64>>, Failure> {
        Ok(row.try_get::<_, Option<Vec<Option<i64>>>>(at)?.unwrap_or_default())
    };
    let at = |millis: Option<i64>| Timestamp::from_millis(millis.unwrap_or_default());
    let (starts, ends) = (times(18)?, times(19)?);
    let hints: Vec<&str> = row.try_get::<_, Option<_>>(17)?.unwrap_or_default();
    for (n, digest) in bytes(16)?.into_iter().enumerate() {
        let (created_at, expires_at) = (at(starts[n]), ends[n].map(Timestamp::from_millis));
        stored.grant.credentials.push(Credential {
            digest,
            hint: hints[n].to_owned(),
            created_at,
            expires_at,
        });
    }
    let (starts, ends) = (times(22)?, times(23)?);
    let texts = |at| -> Result<Vec<Option<&str>>, Failure> {
        Ok(row.try_get::<_, Option<Vec<Option<&str>>>>(at)?.unwrap_or_default())
    };
    let (approvals, resources) = (texts(24)?, texts(25)?);
    let verbs: Vec<Option<&str>> = row.try_get::<_, Option<_>>(21)?.unwrap_or_default();
    for (n, digest) in bytes(20)?.into_iter().enumerate() {
        let of: Option<Vec<Verb>> =
            verbs[n].map(serde_json::from_str).transpose().map_err(crate::stored::Unreadable::from)?;
        let (created_at, expires_at) = (at(starts[n]), at(ends[n]));
        stored.grant.access_tokens.push(AccessToken {
            digest,
            verbs: of.map(Arc::from),
            created_at,
            expires_at,
            bound: bound(&approvals, &resources, n),
        });
    }
    Ok(stored)
}

/// What the token in place `n` is tied to.
fn bound(approvals: &[Option<&str>], resources: &[Option<&str>], n: usize) -> Option<Bound> {
    let (approval, resource) = (approvals[n]?, resources[n]?);
    Some(Bound { approval: unescaped(approval).into(), resource: unescaped(resource).into() })
}

/// Writes a new grant.
pub async fn create(tx: &Tx<'_>, new: &NewGrant) -> Result<Grant, Failure> {
    let NewGrant { id, label, agents, verbs, limits, expires_at, credential, by, now } = new;
    tx.execute(
        INSERT_GRANT,
        &[
            &escaped(id),
            &escaped(label),
            &to_json(agents),
            &to_json(verbs),
            &to_json(limits),
            &millis(*expires_at),
            &now.as_millis(),
            &escaped(&by.name),
            &limits.counts_tasks(),
        ],
    )
    .await?;
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
    put_credentials(tx, &[], &grant).await?;
    let detail =
        json!({"label": label, "agents": agents, "verbs": verbs, "limits": limits, "expiresAt": expires_at});
    audit::note(tx, (by, *now), ("grant.create", id), detail.to_string()).await?;
    Ok(grant)
}

/// Changes a grant as it is before; none where nothing changes.
pub async fn change(
    tx: &Tx<'_>,
    before: &Grant,
    change: &GrantChange,
    by: (&Actor, Timestamp),
) -> Result<Option<Grant>, Failure> {
    let (actor, now) = by;
    let Some(mut grant) = change.apply(before, now)? else { return Ok(None) };
    put_access_tokens(tx, before, &grant).await?;
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
    let (id, by_name) = (escaped(&grant.id), escaped(&actor.name));
    tx.execute(UPDATE_GRANT, &[&id, &grant.state.as_str(), &since.as_millis(), &now.as_millis(), &by_name])
        .await?;
    put_credentials(tx, &before.credentials, &grant).await?;
    if grant.state.is_over() {
        tx.execute(END_PUSH_CONFIGS, &[&id]).await?;
        tx.execute(DELETE_APPROVALS, &[&id]).await?;
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
    audit::note(tx, by, (change.action(), &grant.id), detail).await?;
    Ok(Some(grant))
}

/// Writes the tokens of a grant that are not as they were before.
pub async fn put_credentials(tx: &Tx<'_>, before: &[Credential], after: &Grant) -> Result<(), Failure> {
    for changed in after.credentials.iter().filter(|credential| !before.contains(credential)) {
        let Credential { digest, hint, created_at, expires_at } = changed;
        let (grant, hint) = (escaped(&after.id), escaped(hint));
        tx.execute(
            PUT_CREDENTIAL,
            &[&&digest[..], &grant, &hint, &created_at.as_millis(), &millis(*expires_at)],
        )
        .await?;
    }
    Ok(())
}

/// Writes those that came, and deletes those that went.
async fn put_access_tokens(tx: &Tx<'_>, before: &Grant, after: &Grant) -> Result<(), Failure> {
    let is_in = |grant: &Grant, token: &AccessToken| {
        grant.access_tokens.iter().any(|other| other.digest == token.digest)
    };
    for gone in before.access_tokens.iter().filter(|token| !is_in(after, token)) {
        tx.execute(DELETE_ACCESS_TOKEN, &[&&gone.digest[..]]).await?;
    }
    for new in after.access_tokens.iter().filter(|token| !is_in(before, token)) {
        let AccessToken { digest, verbs, created_at, expires_at, bound } = new;
        let approval = bound.as_ref().map(|bound| escaped(&bound.approval));
        let resource = bound.as_ref().map(|bound| escaped(&bound.resource));
        let verbs = verbs.as_ref().map(|verbs| to_json(&verbs.to_vec()));
        let (from, until) = (created_at.as_millis(), expires_at.as_millis());
        let bind: rows::Bind<'_> =
            &[&&digest[..], &escaped(&after.id), &verbs, &from, &until, &approval, &resource];
        tx.execute(INSERT_ACCESS_TOKEN, bind).await?;
    }
    Ok(())
}

/// What a token opens, where neither it nor its grant is over.
fn opened(grant: Grant, token: &[u8; 32], now: Timestamp) -> Option<Opened> {
    if grant.state.is_over() {
        return None;
    }
    let known = grant.credentials.iter().find(|known| known.digest == *token);
    let lent = grant.access_tokens.iter().find(|lent| lent.digest == *token);
    let (until, verbs, resource) = match (known, lent) {
        (Some(known), _) => (known.expires_at, None, None),
        (None, Some(lent)) => {
            let resource = lent.bound.as_ref().map(|bound| Arc::clone(&bound.resource));
            (Some(lent.expires_at), lent.verbs.clone(), resource)
        }
        (None, None) => return None,
    };
    let until = [until, grant.expires_at].into_iter().flatten().min();
    let is_over = until.is_some_and(|until| until <= now);
    (!is_over).then(|| Opened { grant: Arc::new(grant), until, verbs, resource })
}

impl Postgres {
    fn record(&self, stored: Stored) -> GrantRecord {
        let Stored { grant, usage, last_used_at } = stored;
        let usage = grant.limits.counts_tasks().then_some(usage);
        let last_used_at = self.inner.uses.find(&grant.id).max(last_used_at);
        GrantRecord { grant: Arc::new(grant), last_used_at, usage }
    }
}

#[async_trait]
impl Access for Postgres {
    async fn create_grant(&self, new: NewGrant) -> Result<Arc<Grant>, Error> {
        let (grant, _) = self.inner.connections.run("create_grant", &AccessWrite::Create(new)).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(grant)
    }

    async fn change_grant(
        &self,
        id: &str,
        change: GrantChange,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Arc<Grant>, Error> {
        let write = AccessWrite::Change { id: id.to_owned(), change, by: by.clone(), now };
        let (grant, changed) = self.inner.connections.run("change_grant", &write).await?;
        if changed {
            self.inner.teller.tell(Elsewhere::Grants);
        }
        Ok(grant)
    }

    async fn list_grants(&self) -> Result<Vec<GrantRecord>, Error> {
        let rows = self.inner.connections.query(&LIST_GRANTS, &[]).await?;
        let records = rows.iter().map(|row| Ok(self.record(stored_with_tokens(row)?)));
        Ok(records.collect::<Result<_, Failure>>()?)
    }

    async fn find_grant(&self, id: &str) -> Result<Option<GrantRecord>, Error> {
        Ok(find(&*self.inner.connections, id).await?.map(|stored| self.record(stored)))
    }

    async fn find_credential(&self, digest: &[u8; 32], now: Timestamp) -> Result<Option<Opened>, Error> {
        let row = self.inner.connections.first(&FIND_CREDENTIAL, &[&&digest[..]]).await?;
        let Some(row) = row else { return Ok(None) };
        let Stored { grant, last_used_at, .. } = stored_with_tokens(&row)?;
        let opened = opened(grant, digest, now);
        if let Some(opened) = &opened {
            self.inner.uses.note(&opened.grant, last_used_at, now);
        }
        Ok(opened)
    }

    async fn find_grants_named(&self, name: &str, now: Timestamp) -> Result<Vec<Arc<Grant>>, Error> {
        let rows = self.inner.connections.query(&FIND_NAMED, &[&escaped(name)]).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let stored = stored_with_tokens(&row)?;
            if !stored.grant.state_at(now).is_over() {
                found.push((Arc::new(stored.grant), stored.last_used_at));
            }
        }
        if let [(only, last_used_at)] = found.as_slice() {
            self.inner.uses.note(only, *last_used_at, now);
        }
        Ok(found.into_iter().map(|(grant, _)| grant).collect())
    }

    async fn tidy_access_tokens(&self, now: Timestamp) -> Result<usize, Error> {
        let stale = self.inner.connections.query(LIST_STALE, &[&now.as_millis()]).await?;
        for row in &stale {
            self.change_grant(&text(row, 0)?, GrantChange::Tidy, &Actor::node(), now).await?;
        }
        Ok(stale.len())
    }

    async fn expired_grants(&self, now: Timestamp) -> Result<Vec<Arc<str>>, Error> {
        let rows = self.inner.connections.query(LIST_EXPIRED, &[&now.as_millis()]).await?;
        Ok(rows.iter().map(|row| Ok(text(row, 0)?.into())).collect::<Result<_, Failure>>()?)
    }

    async fn store_uses(&self) -> Result<usize, Error> {
        let uses = self.inner.uses.unstored();
        if uses.is_empty() {
            return Ok(0);
        }
        let ids: Vec<_> = uses.iter().map(|(id, _)| escaped(id).into_owned()).collect();
        let times: Vec<_> = uses.iter().map(|(_, at)| *at).collect();
        self.inner.connections.query(PUT_USES, &[&ids, &times]).await?;
        self.inner.uses.are_stored(&uses);
        Ok(uses.len())
    }
}

/// The digest of a token from a column.
pub fn optional_digest(row: &Row, at: usize) -> Result<Option<[u8; 32]>, Failure> {
    match row.try_get::<_, Option<&[u8]>>(at)? {
        Some(_) => digest(row, at).map(Some),
        None => Ok(None),
    }
}
