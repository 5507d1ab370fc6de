//! Clients of OAuth inside a transaction: taken in, allowed, given tokens, and ended. A grant is locked before what was
//! allowed by it is looked at.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::limits::{OAUTH_APPROVALS, OAUTH_CLIENTS, OAUTH_CLIENTS_EACH};
use baton_core::time::Timestamp;
use serde_json::json;

use super::approvals::{find, list};
use super::failure::Failure;
use super::pool::{Ask, Tx, Work};
use super::rows::{Bind, escaped, int, number, text};
use super::{access, audit};
use crate::stored::to_json;
use crate::{
    AccessToken, Actor, Approval, ApprovalKey, ApprovalState, Barred, Bound, Brought, Error, Foul, Grant,
    GrantChange, GrantOf, NewApproval, NewAudit, Redeem, Registration, Turn, Withdrawn,
};

/// Registrations are counted one after the other.
const LOCK_CLIENTS: &str = "-- store.lock_clients
SELECT pg_advisory_xact_lock(hashtext('baton.clients'), hashtext(current_schema()))";

const INSERT_CLIENT: &str = "-- store.insert_client
INSERT INTO oauth_client (id, name, redirects, origin, created_at) VALUES ($1, $2, $3, $4, $5)";

/// All of them, those that were never used, and those of these of one address.
pub const COUNT_CLIENTS: &str = "-- store.count_clients
SELECT (SELECT count(*) FROM oauth_client),
    (SELECT count(*) FROM oauth_client WHERE used_at IS NULL),
    (SELECT count(*) FROM oauth_client WHERE used_at IS NULL AND origin = $1)";

/// The oldest that was never used, of one address or of all. What an operator has just allowed something stays.
const DELETE_OLDEST_CLIENT: &str = "-- store.delete_oldest_client
DELETE FROM oauth_client WHERE used_at IS NULL AND id =
    (SELECT id FROM oauth_client WHERE used_at IS NULL AND ($1::text IS NULL OR origin = $1) ORDER BY created_at, id LIMIT 1)";

const USE_CLIENT: &str = "-- store.use_client
UPDATE oauth_client SET used_at = $2 WHERE id = $1";

pub const PRUNE_CLIENTS: &str = "-- store.prune_clients
DELETE FROM oauth_client WHERE id IN (SELECT id FROM oauth_client
    WHERE ((used_at IS NULL AND created_at < $1) OR used_at < $2)
        AND NOT EXISTS (SELECT 1 FROM approval WHERE client = oauth_client.id)
    ORDER BY created_at LIMIT $3) RETURNING id";

const INSERT_APPROVAL: &str = "-- store.insert_approval
INSERT INTO approval (id, grant_id, made_grant, client, name, redirect, resource, verbs, code, state, challenge, until,
    created_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'coded', $10, $11, $12, $13)";

const UPDATE_APPROVAL: &str = "-- store.update_approval
UPDATE approval SET state = 'open', challenge = NULL, family = $2, refresh = $3, before = $4, turned_at = $5, until = $6
WHERE id = $1";

const DELETE_APPROVAL: &str = "-- store.delete_approval
DELETE FROM approval WHERE id = $1";

pub const LIST_LAPSED_APPROVALS: &str = "-- store.list_lapsed_approvals
SELECT id FROM approval WHERE until <= $1 ORDER BY until LIMIT $2";

/// A client that registers itself.
pub struct Register(pub Registration);

/// What an operator allows.
pub struct CreateApproval(pub NewApproval);

/// What somebody ends.
pub struct EndApproval {
    pub id: String,
    pub by: Actor,
    pub now: Timestamp,
}

/// What time ended.
pub struct LapseApproval {
    pub id: String,
    pub now: Timestamp,
}

#[async_trait]
impl Work for Register {
    /// Whether there was room.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Registration { id, name, redirects, origin, created_at, used_at: _ } = &self.0;
        let origin = escaped(origin);
        tx.query(LOCK_CLIENTS, &[]).await?;
        let counted = tx.one(COUNT_CLIENTS, &[&origin]).await?;
        let (all, unused, of_address): (usize, usize, usize) =
            (number(&counted, 0)?, number(&counted, 1)?, number(&counted, 2)?);
        if of_address >= OAUTH_CLIENTS_EACH {
            tx.execute(DELETE_OLDEST_CLIENT, &[&origin]).await?;
        } else if all >= OAUTH_CLIENTS {
            if unused == 0 {
                return Ok(false);
            }
            tx.execute(DELETE_OLDEST_CLIENT, &[&None::<String>]).await?;
        }
        let bind: Bind<'_> =
            &[&escaped(id), &escaped(name), &to_json(redirects), &origin, &created_at.as_millis()];
        tx.execute(INSERT_CLIENT, bind).await?;
        Ok(true)
    }
}

#[async_trait]
impl Work for CreateApproval {
    type Answer = Approval;

    async fn run(&self, tx: &Tx<'_>) -> Result<Approval, Failure> {
        let new = &self.0;
        let (grant, made_grant) = match &new.grant {
            GrantOf::New(grant) => (access::create(tx, grant).await?, true),
            GrantOf::Known(id) => (access::load(tx, id).await?.ok_or(Error::NotFound)?, false),
        };
        if grant.state_at(new.now).is_over() {
            return Err(Barred::Over.into());
        }
        make_room(tx, &grant, new.now).await?;
        insert(tx, new, &grant, made_grant).await?;
        let NewApproval { id, client, name, redirect, resource, verbs, by, now, .. } = new;
        tx.execute(USE_CLIENT, &[&escaped(client), &now.as_millis()]).await?;
        let detail = json!({"client": client, "name": name, "grant": grant.id, "redirect": redirect,
            "resource": resource, "verbs": verbs});
        audit::note(tx, (by, *now), ("oauth.approve", id), detail.to_string()).await?;
        Ok(find(tx, &ApprovalKey::Id(id.clone())).await?.ok_or(Error::NotFound)?)
    }
}

async fn insert(tx: &Tx<'_>, new: &NewApproval, grant: &Grant, made_grant: bool) -> Result<(), Failure> {
    let NewApproval { id, client, name, redirect, resource, verbs, code, challenge, until, by, now, .. } =
        new;
    tx.execute(
        INSERT_APPROVAL,
        &[
            &escaped(id),
            &escaped(&grant.id),
            &made_grant,
            &escaped(client),
            &escaped(name),
            &escaped(redirect),
            &escaped(resource),
            &to_json(verbs),
            &&code[..],
            &&challenge[..],
            &until.as_millis(),
            &now.as_millis(),
            &escaped(&by.name),
        ],
    )
    .await?;
    Ok(())
}

/// The client that was silent the longest makes room where there are too many.
async fn make_room(tx: &Tx<'_>, grant: &Grant, now: Timestamp) -> Result<(), Failure> {
    let there = list(tx, &grant.id).await?;
    if there.len() < OAUTH_APPROVALS {
        return Ok(());
    }
    match there.iter().min_by_key(|approval| approval.until) {
        Some(silent) => end(tx, silent, grant.clone(), now).await,
        None => Ok(()),
    }
}

/// An approval with its grant, which nobody else changes before this transaction ends.
async fn load(tx: &Tx<'_>, key: &ApprovalKey) -> Result<Option<(Approval, Grant)>, Failure> {
    let Some(found) = find(tx, key).await? else { return Ok(None) };
    let Some(grant) = access::load(tx, &found.grant).await? else { return Ok(None) };
    // It may have changed while the grant was waited for.
    Ok(find(tx, key).await?.filter(|approval| approval.id == found.id).map(|approval| (approval, grant)))
}

#[async_trait]
impl Work for Redeem {
    type Answer = Option<Approval>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Option<Approval>, Failure> {
        let Self { brought, next, token, resource, origin, now } = self;
        let key = match brought {
            Brought::Code { code, .. } => ApprovalKey::Code(*code),
            Brought::Refresh(brought) => ApprovalKey::Family(brought.family),
        };
        let Some((approval, grant)) = load(tx, &key).await? else { return Ok(None) };
        match grant.admits(*now) {
            Ok(()) => {}
            // What is brought is good again when the grant is.
            Err(Barred::Paused) => return Err(Barred::Paused.into()),
            Err(Barred::Over | Barred::OpenTasks { .. } | Barred::TasksPerDay { .. }) => return Ok(None),
        }
        if matches!(approval.state, ApprovalState::Open(_)) && approval.until <= *now {
            return Ok(None);
        }
        let turned = match brought {
            Brought::Code { proven, .. } => approval.redeem(*next, *proven, *now),
            Brought::Refresh(brought) => approval.refresh(brought.refresh, next.refresh, *now),
        };
        let by = (&Actor::new(&*grant.id, origin.clone()), *now);
        let turned = match turned {
            Ok(turned) => turned,
            Err(foul) => {
                end(tx, &approval, grant, *now).await?;
                tell_foul(tx, by, &approval, foul).await?;
                return Ok(None);
            }
        };
        update(tx, &turned).await?;
        let bound = Bound { approval: Arc::clone(&turned.id), resource: Arc::clone(resource) };
        let token = AccessToken { bound: Some(bound), ..token.clone() };
        access::change(tx, &grant, &GrantChange::Hand { token }, (&Actor::node(), *now)).await?;
        if matches!(brought, Brought::Code { .. }) {
            let detail = json!({"client": turned.client, "grant": turned.grant}).to_string();
            audit::note(tx, by, ("oauth.sign-in", &turned.id), detail).await?;
        }
        Ok(Some(turned))
    }
}

#[async_trait]
impl Work for EndApproval {
    type Answer = Approval;

    async fn run(&self, tx: &Tx<'_>) -> Result<Approval, Failure> {
        let Self { id, by, now } = self;
        let (approval, grant) = load(tx, &ApprovalKey::Id(id.clone())).await?.ok_or(Error::NotFound)?;
        end(tx, &approval, grant, *now).await?;
        let detail = json!({"client": approval.client, "grant": approval.grant}).to_string();
        audit::note(tx, (by, *now), ("oauth.sign-out", id), detail).await?;
        Ok(approval)
    }
}

#[async_trait]
impl Work for LapseApproval {
    type Answer = ();

    async fn run(&self, tx: &Tx<'_>) -> Result<(), Failure> {
        let Self { id, now } = self;
        let found = load(tx, &ApprovalKey::Id(id.clone())).await?;
        // Another node may have come first, or the client.
        let Some((approval, grant)) = found.filter(|(approval, _)| approval.until <= *now) else {
            return Ok(());
        };
        end(tx, &approval, grant, *now).await?;
        let detail = json!({"client": approval.client, "grant": approval.grant}).to_string();
        audit::note(tx, (&Actor::node(), *now), ("oauth.lapse", id), detail).await
    }
}

/// Deletes an approval and its tokens, and ends the grant that was made for it where nothing came of it: nobody can use
/// that.
async fn end(tx: &Tx<'_>, approval: &Approval, grant: Grant, now: Timestamp) -> Result<(), Failure> {
    tx.execute(DELETE_APPROVAL, &[&escaped(&approval.id)]).await?;
    let by = &Actor::node();
    let withdrawn = GrantChange::Withdraw(Withdrawn::Of(Arc::clone(&approval.id)));
    let grant = access::change(tx, &grant, &withdrawn, (by, now)).await?.unwrap_or(grant);
    let came_to_nothing = matches!(approval.state, ApprovalState::Coded { .. }) && approval.made_grant;
    if came_to_nothing && grant.credentials.is_empty() && list(tx, &grant.id).await?.is_empty() {
        access::change(tx, &grant, &GrantChange::Revoke, (by, now)).await?;
    }
    Ok(())
}

/// Approvals that time has ended, and that are still there.
pub async fn lapsed(db: &impl Ask, now: Timestamp, most: usize) -> Result<Vec<String>, Failure> {
    let rows = db.query(LIST_LAPSED_APPROVALS, &[&now.as_millis(), &int(most)]).await?;
    rows.iter().map(|row| text(row, 0)).collect()
}

async fn update(tx: &Tx<'_>, approval: &Approval) -> Result<(), Failure> {
    let ApprovalState::Open(Turn { family, refresh, before, turned_at }) = &approval.state else {
        return Err(Error::Corrupt("an approval went back to its code".to_owned()).into());
    };
    tx.execute(
        UPDATE_APPROVAL,
        &[
            &escaped(&approval.id),
            &&family[..],
            &&refresh[..],
            &before.as_ref().map(|before| &before[..]),
            &turned_at.as_millis(),
            &approval.until.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

async fn tell_foul(
    tx: &Tx<'_>,
    (by, at): (&Actor, Timestamp),
    approval: &Approval,
    foul: Foul,
) -> Result<(), Failure> {
    let detail = json!({"reason": foul.as_str(), "client": approval.client, "grant": approval.grant});
    let entry = NewAudit {
        at,
        by: by.clone(),
        action: "oauth.foul".to_owned(),
        target: approval.id.to_string(),
        allowed: false,
        detail: detail.to_string(),
    };
    audit::append(tx, &entry).await
}
