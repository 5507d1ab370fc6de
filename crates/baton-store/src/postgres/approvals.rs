//! Clients of OAuth: their rows, what is read of them, and the verbs of [`Approvals`]. What is written is in
//! [`approve`](super::approve).

use std::sync::LazyLock;

use async_trait::async_trait;
use baton_core::time::Timestamp;
use tokio_postgres::Row;

use super::access::optional_digest;
use super::approve::{self, CreateApproval, EndApproval, LapseApproval, Register};
use super::failure::Failure;
use super::pool::Ask;
use super::rows::{self, digest, escaped, int, optional_time, text, time, unreadable};
use super::{Postgres, approve::PRUNE_CLIENTS};
use crate::{
    Actor, Approval, ApprovalKey, ApprovalState, Approvals, Elsewhere, Error, NewApproval, Redeem,
    Registration, Turn,
};

const FIND_CLIENT: &str = "-- store.find_client
SELECT id, name, redirects, origin, created_at, used_at FROM oauth_client WHERE id = $1";

/// The columns of [`approval`], in its order.
const APPROVAL: &str =
    "id, grant_id, made_grant, client, name, redirect, resource, verbs, code, state, challenge, family,
    refresh, before, turned_at, until, created_at, created_by";

fn statement(name: &str, rest: &str) -> String {
    format!("-- store.{name}\nSELECT {APPROVAL} FROM approval {rest}")
}

static FIND_APPROVAL: LazyLock<String> = LazyLock::new(|| statement("find_approval", "WHERE id = $1"));

static FIND_APPROVAL_OF_CODE: LazyLock<String> =
    LazyLock::new(|| statement("find_approval_of_code", "WHERE code = $1"));

static FIND_APPROVAL_OF_FAMILY: LazyLock<String> =
    LazyLock::new(|| statement("find_approval_of_family", "WHERE family = $1"));

static LIST_APPROVALS: LazyLock<String> =
    LazyLock::new(|| statement("list_approvals", "WHERE grant_id = $1 ORDER BY id DESC"));

static LIST_ALL_APPROVALS: LazyLock<String> =
    LazyLock::new(|| statement("list_all_approvals", "ORDER BY id DESC"));

fn client(row: &Row) -> Result<Registration, Failure> {
    Ok(Registration {
        id: text(row, 0)?,
        name: text(row, 1)?,
        redirects: rows::json(row, 2)?,
        origin: text(row, 3)?,
        created_at: time(row, 4)?,
        used_at: optional_time(row, 5)?,
    })
}

fn approval(row: &Row) -> Result<Approval, Failure> {
    let state = match row.try_get(9)? {
        "coded" => ApprovalState::Coded { challenge: digest(row, 10)? },
        "open" => ApprovalState::Open(Turn {
            family: digest(row, 11)?,
            refresh: digest(row, 12)?,
            before: optional_digest(row, 13)?,
            turned_at: time(row, 14)?,
        }),
        _ => return Err(unreadable("unknown state of an approval")),
    };
    Ok(Approval {
        id: text(row, 0)?.into(),
        grant: text(row, 1)?.into(),
        made_grant: row.try_get(2)?,
        client: text(row, 3)?,
        name: text(row, 4)?,
        redirect: text(row, 5)?,
        resource: text(row, 6)?.into(),
        verbs: rows::json(row, 7)?,
        code: digest(row, 8)?,
        state,
        until: time(row, 15)?,
        created_at: time(row, 16)?,
        created_by: text(row, 17)?,
    })
}

pub async fn find(db: &impl Ask, key: &ApprovalKey) -> Result<Option<Approval>, Failure> {
    let row = match key {
        ApprovalKey::Id(id) => db.first(&FIND_APPROVAL, &[&escaped(id)]).await?,
        ApprovalKey::Code(digest) => db.first(&FIND_APPROVAL_OF_CODE, &[&&digest[..]]).await?,
        ApprovalKey::Family(digest) => db.first(&FIND_APPROVAL_OF_FAMILY, &[&&digest[..]]).await?,
    };
    row.as_ref().map(approval).transpose()
}

/// Those of a grant, the newest first.
pub async fn list(db: &impl Ask, grant: &str) -> Result<Vec<Approval>, Failure> {
    let rows = db.query(&LIST_APPROVALS, &[&escaped(grant)]).await?;
    rows.iter().map(approval).collect()
}

#[async_trait]
impl Approvals for Postgres {
    async fn register_client(&self, new: Registration) -> Result<bool, Error> {
        self.inner.connections.run("register_client", &Register(new)).await
    }

    async fn find_client(&self, id: &str) -> Result<Option<Registration>, Error> {
        let row = self.inner.connections.first(FIND_CLIENT, &[&escaped(id)]).await?;
        Ok(row.as_ref().map(client).transpose()?)
    }

    async fn prune_clients(&self, unused: Timestamp, used: Timestamp, most: usize) -> Result<usize, Error> {
        let bind: rows::Bind<'_> = &[&unused.as_millis(), &used.as_millis(), &int(most)];
        Ok(self.inner.connections.query(PRUNE_CLIENTS, bind).await?.len())
    }

    async fn create_approval(&self, new: NewApproval) -> Result<Approval, Error> {
        let approval = self.inner.connections.run("create_approval", &CreateApproval(new)).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(approval)
    }

    async fn find_approval(&self, key: ApprovalKey) -> Result<Option<Approval>, Error> {
        Ok(find(&*self.inner.connections, &key).await?)
    }

    async fn list_approvals(&self, grant: Option<&str>) -> Result<Vec<Approval>, Error> {
        let db = &*self.inner.connections;
        let Some(grant) = grant else {
            let rows = db.query(&LIST_ALL_APPROVALS, &[]).await?;
            return Ok(rows.iter().map(approval).collect::<Result<_, _>>()?);
        };
        Ok(list(db, grant).await?)
    }

    async fn redeem(&self, redeem: Redeem) -> Result<Option<Approval>, Error> {
        let redeemed = self.inner.connections.run("redeem", &redeem).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(redeemed)
    }

    async fn end_approval(&self, id: &str, by: &Actor, now: Timestamp) -> Result<Approval, Error> {
        let end = EndApproval { id: id.to_owned(), by: by.clone(), now };
        let ended = self.inner.connections.run("end_approval", &end).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(ended)
    }

    async fn lapse_approvals(&self, now: Timestamp, most: usize) -> Result<usize, Error> {
        let lapsed = approve::lapsed(&*self.inner.connections, now, most).await?;
        // One by one: a transaction that has told of one locks no other.
        for id in &lapsed {
            let lapse = LapseApproval { id: id.clone(), now };
            self.inner.connections.run("lapse_approval", &lapse).await?;
        }
        if !lapsed.is_empty() {
            self.inner.teller.tell(Elsewhere::Grants);
        }
        Ok(lapsed.len())
    }
}
