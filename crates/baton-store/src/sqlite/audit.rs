//! The rows of the audit log, and the verbs of [`Audit`].

use async_trait::async_trait;
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::Sqlite;
use super::rows::time;
use super::writer::Write;
use crate::{Actor, Audit, AuditQuery, AuditReport, AuditRow, Error, NewAudit, Walk, chained};

/// Rows that are looked at in one read transaction.
const BATCH: usize = 4_096;

const LAST_AUDIT: &str = "-- store.last_audit
SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1";

const GENESIS: &str = "-- store.genesis
SELECT value FROM meta WHERE key = 'audit_genesis'";

const INSERT_AUDIT: &str = "-- store.insert_audit
INSERT INTO audit (id, at, actor, origin, action, target, allowed, detail, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// The time of the first is looked up, since ids grow with the rows and times only nearly so.
pub(super) const LIST_AUDIT: &str = "-- store.list_audit
SELECT id, at, actor, origin, action, target, allowed, detail, hash FROM audit
WHERE id < ?1 AND at >= ?2 AND (?3 IS NULL OR actor = ?3) AND (?4 IS NULL OR target = ?4)
    AND (?5 IS NULL OR action = ?5 OR substr(action, 1, length(?5) + 1) = ?5 || '.') AND (?6 IS NULL OR allowed = ?6)
ORDER BY id DESC LIMIT ?7";

pub(super) const WALK_AUDIT: &str = "-- store.walk_audit
SELECT id, at, actor, origin, action, target, allowed, detail, hash FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2";

pub(super) const FIRST_AUDIT_SINCE: &str = "-- store.first_audit_since
SELECT min(+id) FROM audit WHERE at >= ?1";

const FIND_AUDIT_HASH: &str = "-- store.find_audit_hash
SELECT hash FROM audit WHERE id = ?1";

/// Adds a row behind the last one.
pub fn append(db: &Connection, entry: &NewAudit) -> Result<(), Error> {
    let (last, before) = match db.prepare_cached(LAST_AUDIT)?.query_row([], id_and_hash).optional()? {
        Some(last) => last,
        None => (0, genesis(db)?),
    };
    let hash = chained(&before, last + 1, entry)?;
    let NewAudit { at, by, action, target, allowed, detail } = entry;
    db.prepare_cached(INSERT_AUDIT)?.execute(params![
        last + 1,
        at.as_millis(),
        by.name,
        by.origin,
        action,
        target,
        allowed,
        detail,
        hash
    ])?;
    Ok(())
}

/// As [`append`], of something that was done.
pub fn note(
    db: &Connection,
    (by, at): (&Actor, Timestamp),
    (action, target): (&str, &str),
    detail: String,
) -> Result<(), Error> {
    let (action, target) = (action.to_owned(), target.to_owned());
    append(db, &NewAudit { at, by: by.clone(), action, target, allowed: true, detail })
}

fn genesis(db: &Connection) -> Result<[u8; 32], Error> {
    Ok(db.prepare_cached(GENESIS)?.query_row([], |row| row.get(0))?)
}

fn id_and_hash(row: &Row<'_>) -> rusqlite::Result<(u64, [u8; 32])> {
    Ok((row.get(0)?, row.get(1)?))
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let entry = NewAudit {
        at: time(row, 1)?,
        by: Actor { name: row.get(2)?, origin: row.get(3)? },
        action: row.get(4)?,
        target: row.get(5)?,
        allowed: row.get(6)?,
        detail: row.get(7)?,
    };
    Ok(AuditRow { id: row.get(0)?, entry, hash: row.get(8)? })
}

fn list(db: &Connection, query: &AuditQuery) -> Result<Vec<AuditRow>, Error> {
    let before = query.before.and_then(|id| i64::try_from(id).ok()).unwrap_or(i64::MAX);
    let since = query.since.map_or(i64::MIN, Timestamp::as_millis);
    let bind = params![before, since, query.actor, query.target, query.action, query.allowed, query.size];
    let mut statement = db.prepare_cached(LIST_AUDIT)?;
    Ok(statement.query_map(bind, audit_row)?.collect::<Result<_, _>>()?)
}

/// Where a walk begins: before the first row that is not before `since`.
fn begin(db: &Connection, since: Option<Timestamp>) -> Result<Walk, Error> {
    let first = match since {
        Some(since) => db
            .prepare_cached(FIRST_AUDIT_SINCE)?
            .query_row([since.as_millis()], |row| row.get::<_, Option<u64>>(0))?,
        None => Some(1),
    };
    let last = || db.prepare_cached(LAST_AUDIT)?.query_row([], id_and_hash).optional();
    let anchor = match first {
        Some(1) => None,
        Some(first) => {
            let hash = db.prepare_cached(FIND_AUDIT_HASH)?.query_row([first - 1], |row| row.get(0));
            // Where the row before is gone, the first one says so itself.
            Some((first - 1, hash.optional()?.unwrap_or_default()))
        }
        None => last()?,
    };
    let (id, hash) = match anchor {
        Some(anchor) => anchor,
        None => (0, genesis(db)?),
    };
    Ok(Walk::after(id, hash))
}

/// The walk after up to [`BATCH`] more rows, and whether it is at its end.
fn go_on(db: &Connection, mut walk: Walk, after: u64) -> Result<(Walk, Option<u64>), Error> {
    let mut statement = db.prepare_cached(WALK_AUDIT)?;
    let mut rows = statement.query(params![after, BATCH])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let row = audit_row(row)?;
        if !walk.step(&row) {
            return Ok((walk, None));
        }
        last = Some(row.id);
    }
    Ok((walk, last))
}

#[async_trait]
impl Audit for Sqlite {
    async fn append_audit(&self, entries: Vec<NewAudit>) -> Result<(), Error> {
        self.inner.writer.write(|reply| Write::Audit(entries, reply)).await
    }

    async fn list_audit(&self, query: AuditQuery) -> Result<Vec<AuditRow>, Error> {
        self.inner.readers.run(move |db| list(db, &query)).await
    }

    async fn verify_audit(&self, since: Option<Timestamp>) -> Result<AuditReport, Error> {
        let mut walk = self.inner.readers.run(move |db| begin(db, since)).await?;
        let mut after = walk.head();
        loop {
            let (walked, last) = self.inner.readers.run(move |db| go_on(db, walk, after)).await?;
            walk = walked;
            match last {
                Some(last) => after = last,
                None => return Ok(walk.report()),
            }
        }
    }
}
