//! The rows of the audit log, and the verbs of [`Audit`]. One lock orders those who add to it, on whatever node.

use async_trait::async_trait;
use baton_core::time::Timestamp;
use tokio_postgres::Row;

use super::Postgres;
use super::failure::Failure;
use super::pool::{Ask, Tx, Work};
use super::rows::{count, digest, escaped, int, text, time};
use crate::{Actor, Audit, AuditQuery, AuditReport, AuditRow, Error, NewAudit, Walk, chained};

/// Rows that are looked at in one statement.
const BATCH: usize = 4_096;

/// Until the transaction ends. By the name of the schema: another one has another log.
const LOCK_AUDIT: &str = "-- store.lock_audit
SELECT pg_advisory_xact_lock(hashtext('baton.audit'), hashtext(current_schema()))";

const LAST_AUDIT: &str = "-- store.last_audit
SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1";

const GENESIS: &str = "-- store.genesis
SELECT value FROM meta WHERE key = 'audit_genesis'";

const INSERT_AUDIT: &str = "-- store.insert_audit
INSERT INTO audit (id, at, actor, origin, action, target, allowed, detail, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

pub const LIST_AUDIT: &str = "-- store.list_audit
SELECT id, at, actor, origin, action, target, allowed, detail, hash FROM audit
WHERE id < $1 AND at >= $2 AND ($3::text IS NULL OR actor = $3) AND ($4::text IS NULL OR target = $4)
    AND ($5::text IS NULL OR action = $5 OR substr(action, 1, length($5) + 1) = $5 || '.')
    AND ($6::boolean IS NULL OR allowed = $6)
ORDER BY id DESC LIMIT $7";

pub const WALK_AUDIT: &str = "-- store.walk_audit
SELECT id, at, actor, origin, action, target, allowed, detail, hash FROM audit WHERE id > $1 ORDER BY id LIMIT $2";

pub const FIRST_AUDIT_SINCE: &str = "-- store.first_audit_since
SELECT min(id) FROM audit WHERE at >= $1";

const FIND_AUDIT_HASH: &str = "-- store.find_audit_hash
SELECT hash FROM audit WHERE id = $1";

/// Adds rows behind the last one.
struct Append(Vec<NewAudit>);

#[async_trait]
impl Work for Append {
    type Answer = ();

    async fn run(&self, tx: &Tx<'_>) -> Result<(), Failure> {
        for entry in &self.0 {
            append(tx, entry).await?;
        }
        Ok(())
    }
}

/// Adds a row behind the last one. Call it last: everybody else who adds one waits until this transaction is over.
pub async fn append(tx: &Tx<'_>, entry: &NewAudit) -> Result<(), Failure> {
    tx.query(LOCK_AUDIT, &[]).await?;
    let (last, before) = match tx.first(LAST_AUDIT, &[]).await? {
        Some(row) => (count(&row, 0)?, digest(&row, 1)?),
        None => (0, genesis(tx).await?),
    };
    let hash = chained(&before, last + 1, entry)?;
    let NewAudit { at, by, action, target, allowed, detail } = entry;
    let (name, origin, action, target) =
        (escaped(&by.name), escaped(&by.origin), escaped(action), escaped(target));
    tx.execute(
        INSERT_AUDIT,
        &[&int(last + 1), &at.as_millis(), &name, &origin, &action, &target, allowed, detail, &&hash[..]],
    )
    .await?;
    Ok(())
}

/// As [`append`], of something that was done.
pub async fn note(
    tx: &Tx<'_>,
    (by, at): (&Actor, Timestamp),
    (action, target): (&str, &str),
    detail: String,
) -> Result<(), Failure> {
    let (action, target) = (action.to_owned(), target.to_owned());
    append(tx, &NewAudit { at, by: by.clone(), action, target, allowed: true, detail }).await
}

async fn genesis(db: &impl Ask) -> Result<[u8; 32], Failure> {
    digest(&db.one(GENESIS, &[]).await?, 0)
}

fn audit_row(row: &Row) -> Result<AuditRow, Failure> {
    let entry = NewAudit {
        at: time(row, 1)?,
        by: Actor { name: text(row, 2)?, origin: text(row, 3)? },
        action: text(row, 4)?,
        target: text(row, 5)?,
        allowed: row.try_get(6)?,
        detail: row.try_get(7)?,
    };
    Ok(AuditRow { id: count(row, 0)?, entry, hash: digest(row, 8)? })
}

/// Where a walk begins: before the first row that is not before `since`.
async fn begin(db: &impl Ask, since: Option<Timestamp>) -> Result<Walk, Failure> {
    let first = match since {
        Some(since) => {
            let row = db.one(FIRST_AUDIT_SINCE, &[&since.as_millis()]).await?;
            row.try_get::<_, Option<i64>>(0)?.map(int)
        }
        None => Some(1),
    };
    let anchor = match first {
        Some(1) => None,
        Some(first) => {
            let row = db.first(FIND_AUDIT_HASH, &[&(first - 1)]).await?;
            // Where the row before is gone, the first one says so itself.
            let hash = row.map(|row| digest(&row, 0)).transpose()?.unwrap_or_default();
            Some((u64::try_from(first - 1).unwrap_or(0), hash))
        }
        None => {
            let row = db.first(LAST_AUDIT, &[]).await?;
            row.map(|row| Ok::<_, Failure>((count(&row, 0)?, digest(&row, 1)?))).transpose()?
        }
    };
    let (id, hash) = match anchor {
        Some(anchor) => anchor,
        None => (0, genesis(db).await?),
    };
    Ok(Walk::after(id, hash))
}

/// The id of the last row, after up to [`BATCH`] more; none at the end of the walk.
async fn go_on(db: &impl Ask, walk: &mut Walk, after: u64) -> Result<Option<u64>, Failure> {
    let mut last = None;
    for row in db.query(WALK_AUDIT, &[&int(after), &int(BATCH)]).await? {
        let row = audit_row(&row)?;
        if !walk.step(&row) {
            return Ok(None);
        }
        last = Some(row.id);
    }
    Ok(last)
}

#[async_trait]
impl Audit for Postgres {
    async fn append_audit(&self, entries: Vec<NewAudit>) -> Result<(), Error> {
        self.inner.connections.run("append_audit", &Append(entries)).await
    }

    async fn list_audit(&self, query: AuditQuery) -> Result<Vec<AuditRow>, Error> {
        let before = query.before.map_or(i64::MAX, int);
        let since = query.since.map_or(i64::MIN, Timestamp::as_millis);
        let AuditQuery { actor, target, action, allowed, size, .. } = &query;
        let [actor, target, action] =
            [actor, target, action].map(|text| text.as_deref().map(|text| escaped(text).into_owned()));
        let rows = self
            .inner
            .connections
            .query(LIST_AUDIT, &[&before, &since, &actor, &target, &action, allowed, &int(*size)])
            .await?;
        Ok(rows.iter().map(audit_row).collect::<Result<_, _>>()?)
    }

    async fn verify_audit(&self, since: Option<Timestamp>) -> Result<AuditReport, Error> {
        let db = &*self.inner.connections;
        let mut walk = begin(db, since).await?;
        let mut after = walk.head();
        while let Some(last) = go_on(db, &mut walk, after).await? {
            after = last;
        }
        Ok(walk.report())
    }
}
