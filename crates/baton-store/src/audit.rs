//! The audit log: who did what to which object, when and from where, and whether it was allowed.
//!
//! Rows are only ever added. Each carries the SHA-256 of the hash before it and of itself in canonical form, the first
//! that of the node's own random genesis: what is changed, removed or put in between later breaks the chain there.

use async_trait::async_trait;
use baton_core::canonical::canonical;
use baton_core::time::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::Error;

/// Who does something, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// `operator`, `node`, `anonymous`, or the id of a grant.
    pub name: String,
    /// An address, `socket` for the node's own, `unix` for another, `node` for the node itself. Where a provider said who it
    /// is, ` as SUBJECT at ISSUER` follows: an address has no space, and an issuer none.
    pub origin: String,
}

impl Actor {
    pub fn new(name: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { name: name.into(), origin: origin.into() }
    }

    /// What the node does by itself.
    pub fn node() -> Self {
        Self::new("node", "node")
    }
}

/// Something to be kept. Never secrets, and nothing of what a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAudit {
    pub at: Timestamp,
    pub by: Actor,
    /// Such as `grant.revoke`.
    pub action: String,
    /// What it was done to.
    pub target: String,
    pub allowed: bool,
    /// A JSON object; empty where there is nothing to add.
    pub detail: String,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// From 1, without gaps.
    pub id: u64,
    pub entry: NewAudit,
    pub hash: [u8; 32],
}

/// The form of a row that is hashed.
#[derive(Serialize)]
struct Hashed<'a> {
    id: u64,
    at: i64,
    actor: &'a str,
    origin: &'a str,
    action: &'a str,
    target: &'a str,
    allowed: bool,
    detail: &'a str,
}

/// The hash of a row that follows one with the hash `before`.
pub fn chained(before: &[u8; 32], id: u64, entry: &NewAudit) -> Result<[u8; 32], Error> {
    let NewAudit { at, by, action, target, allowed, detail } = entry;
    let (at, allowed) = (at.as_millis(), *allowed);
    let row = Hashed { id, at, actor: &by.name, origin: &by.origin, action, target, allowed, detail };
    let unreadable = |why: String| Error::Corrupt(format!("row {id} of the audit log: {why}"));
    let json = serde_json::to_string(&row).map_err(|why| unreadable(why.to_string()))?;
    let text = canonical(&json).map_err(|why| unreadable(why.to_string()))?;
    Ok(Sha256::new().chain_update(before).chain_update(text).finalize().into())
}

/// Part of the log, the newest first.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Not before.
    pub since: Option<Timestamp>,
    /// Rows before this id.
    pub before: Option<u64>,
    pub actor: Option<String>,
    pub target: Option<String>,
    /// The whole action, or its first part: `grant` for all of `grant.…`.
    pub action: Option<String>,
    pub allowed: Option<bool>,
    /// At least 1.
    pub size: usize,
}

/// What a look at the chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditReport {
    /// Rows that were looked at and are as they were written.
    pub rows: u64,
    /// The id and the hash of the last of them; of the genesis (0) where there is none.
    pub head: (u64, [u8; 32]),
    /// The first row that is not as it was written, or where one is missing.
    pub broken: Option<Broken>,
}

/// Where the chain breaks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub id: u64,
    pub what: String,
}

/// A walk along the chain, row by row.
#[derive(Clone, Debug)]
pub struct Walk {
    report: AuditReport,
}

impl Walk {
    /// Begins after a row, or at the genesis with id 0.
    pub const fn after(id: u64, hash: [u8; 32]) -> Self {
        Self { report: AuditReport { rows: 0, head: (id, hash), broken: None } }
    }

    /// Looks at the next row; whether the chain holds.
    pub fn step(&mut self, row: &AuditRow) -> bool {
        let (last, before) = self.report.head;
        let expected = last + 1;
        let broken = if row.id == expected {
            let as_written = chained(&before, row.id, &row.entry).is_ok_and(|hash| hash == row.hash);
            (!as_written).then(|| "is not as it was written, or the row before it is not".to_owned())
        } else {
            Some(format!("is missing: row {} follows row {last}", row.id))
        };
        if let Some(what) = broken {
            self.report.broken = Some(Broken { id: expected, what });
            return false;
        }
        self.report.rows += 1;
        self.report.head = (row.id, row.hash);
        true
    }

    /// The id of the last row that holds.
    pub const fn head(&self) -> u64 {
        self.report.head.0
    }

    pub fn report(self) -> AuditReport {
        self.report
    }
}

/// The audit log. What changes something is written in the same transaction as the change.
#[async_trait]
pub trait Audit: Send + Sync + 'static {
    /// Adds what has no change of the store beside it, in one transaction.
    async fn append_audit(&self, entries: Vec<NewAudit>) -> Result<(), Error>;

    async fn list_audit(&self, query: AuditQuery) -> Result<Vec<AuditRow>, Error>;

    /// Looks at every row from the first that is not before `since` on.
    async fn verify_audit(&self, since: Option<Timestamp>) -> Result<AuditReport, Error>;
}
