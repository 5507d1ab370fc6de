//! Clients of OAuth: their rows, what is read of them, and the verbs of [`Approvals`]. What is written is in
//! [`approve`](super::approve).

use async_trait::async_trait;
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::approve::{ApprovalAnswer, ApprovalWrite};
use super::rows::{self, json as read_json, optional_time, text, time, unreadable};
use super::writer::Write;
use super::{Sqlite, approve};
use crate::{
    Actor, Approval, ApprovalKey, ApprovalState, Approvals, Error, NewApproval, Redeem, Registration, Turn,
};

const FIND_CLIENT: &str = "-- store.find_client
SELECT id, name, redirects, origin, created_at, used_at FROM oauth_client WHERE id = ?1";

/// The columns of [`approval`], in its order.
const APPROVAL: &str =
    "id, grant_id, made_grant, client, name, redirect, resource, verbs, code, state, challenge, family,
    refresh, before, turned_at, until, created_at, created_by";

const FIND_APPROVAL: &str = "-- store.find_approval
SELECT {} FROM approval WHERE id = ?1";

const FIND_APPROVAL_OF_CODE: &str = "-- store.find_approval_of_code
SELECT {} FROM approval WHERE code = ?1";

const FIND_APPROVAL_OF_FAMILY: &str = "-- store.find_approval_of_family
SELECT {} FROM approval WHERE family = ?1";

pub(super) const LIST_APPROVALS: &str = "-- store.list_approvals
SELECT {} FROM approval WHERE grant_id = ?1 ORDER BY id DESC";

pub(super) const LIST_ALL_APPROVALS: &str = "-- store.list_all_approvals
SELECT {} FROM approval ORDER BY id DESC";

const HAS_CLIENTS_TO_PRUNE: &str = "-- store.has_clients_to_prune
SELECT EXISTS (SELECT 1 FROM oauth_client WHERE (used_at IS NULL AND created_at < ?1) OR used_at < ?2)";

fn client(row: &Row<'_>) -> rusqlite::Result<Registration> {
    Ok(Registration {
        id: row.get(0)?,
        name: row.get(1)?,
        redirects: read_json(row, 2)?,
        origin: row.get(3)?,
        created_at: time(row, 4)?,
        used_at: optional_time(row, 5)?,
    })
}

fn approval(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let state = match text(row, 9)? {
        "coded" => ApprovalState::Coded { challenge: row.get(10)? },
        "open" => ApprovalState::Open(Turn {
            family: row.get(11)?,
            refresh: row.get(12)?,
            before: row.get(13)?,
            turned_at: time(row, 14)?,
        }),
        _ => return Err(unreadable(9, "unknown state of an approval")),
    };
    Ok(Approval {
        id: text(row, 0)?.into(),
        grant: text(row, 1)?.into(),
        made_grant: row.get(2)?,
        client: row.get(3)?,
        name: row.get(4)?,
        redirect: row.get(5)?,
        resource: text(row, 6)?.into(),
        verbs: read_json(row, 7)?,
        code: row.get(8)?,
        state,
        until: time(row, 15)?,
        created_at: time(row, 16)?,
        created_by: row.get(17)?,
    })
}

pub fn find(db: &Connection, key: &ApprovalKey) -> Result<Option<Approval>, Error> {
    let sql = match key {
        ApprovalKey::Id(_) => FIND_APPROVAL,
        ApprovalKey::Code(_) => FIND_APPROVAL_OF_CODE,
        ApprovalKey::Family(_) => FIND_APPROVAL_OF_FAMILY,
    };
    let mut statement = db.prepare_cached(&sql.replace("{}", APPROVAL))?;
    let found = match key {
        ApprovalKey::Id(id) => statement.query_row([id], approval),
        ApprovalKey::Code(digest) | ApprovalKey::Family(digest) => statement.query_row([digest], approval),
    };
    Ok(found.optional()?)
}

pub fn list(db: &Connection, grant: &str) -> Result<Vec<Approval>, Error> {
    let mut statement = db.prepare_cached(&LIST_APPROVALS.replace("{}", APPROVAL))?;
    Ok(statement.query_map([grant], approval)?.collect::<Result<_, _>>()?)
}

fn list_all(db: &Connection) -> Result<Vec<Approval>, Error> {
    let mut statement = db.prepare_cached(&LIST_ALL_APPROVALS.replace("{}", APPROVAL))?;
    Ok(statement.query_map([], approval)?.collect::<Result<_, _>>()?)
}

fn find_client(db: &Connection, id: &str) -> Result<Option<Registration>, Error> {
    Ok(db.prepare_cached(FIND_CLIENT)?.query_row([id], client).optional()?)
}

impl Sqlite {
    async fn approval(&self, write: ApprovalWrite) -> Result<ApprovalAnswer, Error> {
        self.inner.writer.write(|reply| Write::Approval(Box::new(write), reply)).await
    }

    async fn approved(&self, write: ApprovalWrite) -> Result<Option<Approval>, Error> {
        match self.approval(write).await? {
            ApprovalAnswer::Approval(approval) => Ok(approval.map(|approval| *approval)),
            ApprovalAnswer::Registered(_) | ApprovalAnswer::Count(_) => Err(rows::other_answer()),
        }
    }

    async fn approvals_counted(&self, write: ApprovalWrite) -> Result<usize, Error> {
        match self.approval(write).await? {
            ApprovalAnswer::Count(count) => Ok(count),
            ApprovalAnswer::Registered(_) | ApprovalAnswer::Approval(_) => Err(rows::other_answer()),
        }
    }
}

#[async_trait]
impl Approvals for Sqlite {
    async fn register_client(&self, new: Registration) -> Result<bool, Error> {
        match self.approval(ApprovalWrite::Register(new)).await? {
            ApprovalAnswer::Registered(taken) => Ok(taken),
            ApprovalAnswer::Count(_) | ApprovalAnswer::Approval(_) => Err(rows::other_answer()),
        }
    }

    async fn find_client(&self, id: &str) -> Result<Option<Registration>, Error> {
        let id = id.to_owned();
        self.inner.readers.run(move |db| find_client(db, &id)).await
    }

    async fn prune_clients(&self, unused: Timestamp, used: Timestamp, most: usize) -> Result<usize, Error> {
        // Mostly there are none, and the writer is left alone.
        let times = [unused.as_millis(), used.as_millis()];
        let look = move |db: &Connection| {
            Ok(db.prepare_cached(HAS_CLIENTS_TO_PRUNE)?.query_row(times, |row| row.get::<_, bool>(0))?)
        };
        if !self.inner.readers.run(look).await? {
            return Ok(0);
        }
        self.approvals_counted(ApprovalWrite::Prune { unused, used, most }).await
    }

    async fn create_approval(&self, new: NewApproval) -> Result<Approval, Error> {
        self.approved(ApprovalWrite::Create(new)).await?.ok_or_else(rows::other_answer)
    }

    async fn find_approval(&self, key: ApprovalKey) -> Result<Option<Approval>, Error> {
        self.inner.readers.run(move |db| find(db, &key)).await
    }

    async fn list_approvals(&self, grant: Option<&str>) -> Result<Vec<Approval>, Error> {
        let grant = grant.map(str::to_owned);
        let look =
            move |db: &Connection| grant.as_ref().map_or_else(|| list_all(db), |grant| list(db, grant));
        self.inner.readers.run(look).await
    }

    async fn redeem(&self, redeem: Redeem) -> Result<Option<Approval>, Error> {
        self.approved(ApprovalWrite::Redeem(redeem)).await
    }

    async fn end_approval(&self, id: &str, by: &Actor, now: Timestamp) -> Result<Approval, Error> {
        let end = ApprovalWrite::End { id: id.to_owned(), by: by.clone(), now };
        self.approved(end).await?.ok_or_else(rows::other_answer)
    }

    async fn lapse_approvals(&self, now: Timestamp, most: usize) -> Result<usize, Error> {
        if self.inner.readers.run(move |db| approve::lapsed(db, now, 1)).await?.is_empty() {
            return Ok(0);
        }
        self.approvals_counted(ApprovalWrite::Lapse { now, most }).await
    }
}
