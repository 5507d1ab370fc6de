//! Clients of OAuth inside the writer's transaction: taken in, allowed, given tokens, and ended.

use std::sync::Arc;

use baton_core::limits::{OAUTH_APPROVALS, OAUTH_CLIENTS, OAUTH_CLIENTS_EACH};
use baton_core::time::Timestamp;
use rusqlite::{Connection, params};
use serde_json::json;

use super::apply::Group;
use super::approvals::{find, list};
use super::{access, audit};
use crate::stored::to_json;
use crate::{
    AccessToken, Actor, Approval, ApprovalKey, ApprovalState, Barred, Bound, Brought, Error, Foul, Grant,
    GrantChange, GrantOf, NewApproval, NewAudit, Redeem, Registration, Turn, Withdrawn,
};

const INSERT_CLIENT: &str = "-- store.insert_client
INSERT INTO oauth_client (id, name, redirects, origin, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";

/// All of them, those that were never used, and those of these of one address.
const COUNT_CLIENTS: &str = "-- store.count_clients
SELECT (SELECT count(*) FROM oauth_client),
    (SELECT count(*) FROM oauth_client WHERE used_at IS NULL),
    (SELECT count(*) FROM oauth_client WHERE used_at IS NULL AND origin = ?1)";

/// The oldest that was never used, of one address or of all. What an operator has just allowed something stays.
const DELETE_OLDEST_CLIENT: &str = "-- store.delete_oldest_client
DELETE FROM oauth_client WHERE id =
    (SELECT id FROM oauth_client WHERE used_at IS NULL AND (?1 IS NULL OR origin = ?1) ORDER BY created_at, id LIMIT 1)";

const USE_CLIENT: &str = "-- store.use_client
UPDATE oauth_client SET used_at = ?2 WHERE id = ?1";

const PRUNE_CLIENTS: &str = "-- store.prune_clients
DELETE FROM oauth_client WHERE id IN (SELECT id FROM oauth_client
    WHERE ((used_at IS NULL AND created_at < ?1) OR used_at < ?2)
        AND NOT EXISTS (SELECT 1 FROM approval WHERE client = oauth_client.id)
    ORDER BY created_at LIMIT ?3)";

const INSERT_APPROVAL: &str = "-- store.insert_approval
INSERT INTO approval (id, grant_id, made_grant, client, name, redirect, resource, verbs, code, state, challenge, until,
    created_at, created_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'coded', ?10, ?11, ?12, ?13)";

const UPDATE_APPROVAL: &str = "-- store.update_approval
UPDATE approval SET state = 'open', challenge = NULL, family = ?2, refresh = ?3, before = ?4, turned_at = ?5, until = ?6
WHERE id = ?1";

const DELETE_APPROVAL: &str = "-- store.delete_approval
DELETE FROM approval WHERE id = ?1";

pub(super) const LIST_LAPSED_APPROVALS: &str = "-- store.list_lapsed_approvals
SELECT id FROM approval WHERE until <= ?1 ORDER BY until LIMIT ?2";

/// What the writer is asked about clients of OAuth.
pub enum ApprovalWrite {
    Register(Registration),
    Prune { unused: Timestamp, used: Timestamp, most: usize },
    Create(NewApproval),
    Redeem(Redeem),
    End { id: String, by: Actor, now: Timestamp },
    Lapse { now: Timestamp, most: usize },
}

/// What it answers.
pub enum ApprovalAnswer {
    Registered(bool),
    Approval(Option<Box<Approval>>),
    Count(usize),
}

impl Group<'_> {
    pub fn approval(&mut self, write: &ApprovalWrite) -> Result<ApprovalAnswer, Error> {
        let approval = match write {
            ApprovalWrite::Register(new) => return register(self.db, new).map(ApprovalAnswer::Registered),
            ApprovalWrite::Prune { unused, used, most } => {
                let mut statement = self.db.prepare_cached(PRUNE_CLIENTS)?;
                let pruned = statement.execute(params![unused.as_millis(), used.as_millis(), most])?;
                return Ok(ApprovalAnswer::Count(pruned));
            }
            ApprovalWrite::Lapse { now, most } => return self.lapse(*now, *most).map(ApprovalAnswer::Count),
            ApprovalWrite::Create(new) => Some(self.create_approval(new)?),
            ApprovalWrite::Redeem(redeem) => self.redeem(redeem)?,
            ApprovalWrite::End { id, by, now } => {
                let approval = find(self.db, &ApprovalKey::Id(id.clone()))?.ok_or(Error::NotFound)?;
                self.end(&approval, *now)?;
                let detail = json!({"client": approval.client, "grant": approval.grant}).to_string();
                audit::note(self.db, (by, *now), ("oauth.sign-out", id), detail)?;
                Some(approval)
            }
        };
        Ok(ApprovalAnswer::Approval(approval.map(Box::new)))
    }

    fn create_approval(&mut self, new: &NewApproval) -> Result<Approval, Error> {
        let (grant, made_grant) = match &new.grant {
            GrantOf::New(grant) => (access::create(self.db, grant)?, true),
            GrantOf::Known(id) => (Grant::clone(&*self.grant(id).ok_or(Error::NotFound)?), false),
        };
        if grant.state_at(new.now).is_over() {
            return Err(Barred::Over.into());
        }
        let grant = Arc::new(grant);
        if made_grant {
            self.altered.insert(Arc::clone(&grant.id), Arc::clone(&grant));
        }
        self.make_room(&grant.id, new.now)?;
        let NewApproval {
            id, client, name, redirect, resource, verbs, code, challenge, until, by, now, ..
        } = new;
        self.db.prepare_cached(INSERT_APPROVAL)?.execute(params![
            id,
            &*grant.id,
            made_grant,
            client,
            name,
            redirect,
            resource,
            to_json(verbs),
            code,
            challenge,
            until.as_millis(),
            now.as_millis(),
            by.name
        ])?;
        self.db.prepare_cached(USE_CLIENT)?.execute(params![client, now.as_millis()])?;
        let detail = json!({"client": client, "name": name, "grant": grant.id, "redirect": redirect,
            "resource": resource, "verbs": verbs});
        audit::note(self.db, (by, *now), ("oauth.approve", id), detail.to_string())?;
        find(self.db, &ApprovalKey::Id(id.clone()))?.ok_or(Error::NotFound)
    }

    /// The client that was silent the longest makes room where there are too many.
    fn make_room(&mut self, grant: &str, now: Timestamp) -> Result<(), Error> {
        let there = list(self.db, grant)?;
        if there.len() < OAUTH_APPROVALS {
            return Ok(());
        }
        match there.iter().min_by_key(|approval| approval.until) {
            Some(silent) => self.end(silent, now),
            None => Ok(()),
        }
    }

    fn redeem(&mut self, redeem: &Redeem) -> Result<Option<Approval>, Error> {
        let Redeem { brought, next, token, resource, origin, now } = redeem;
        let key = match brought {
            Brought::Code { code, .. } => ApprovalKey::Code(*code),
            Brought::Refresh(brought) => ApprovalKey::Family(brought.family),
        };
        let Some(approval) = find(self.db, &key)? else { return Ok(None) };
        let Some(grant) = self.grant(&approval.grant) else { return Ok(None) };
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
                self.end(&approval, *now)?;
                tell_foul(self.db, by, &approval, foul)?;
                return Ok(None);
            }
        };
        update(self.db, &turned)?;
        let bound = Bound { approval: Arc::clone(&turned.id), resource: Arc::clone(resource) };
        let token = AccessToken { bound: Some(bound), ..token.clone() };
        self.change(&grant, &GrantChange::Hand { token }, *now)?;
        if matches!(brought, Brought::Code { .. }) {
            let detail = json!({"client": turned.client, "grant": turned.grant}).to_string();
            audit::note(self.db, by, ("oauth.sign-in", &turned.id), detail)?;
        }
        Ok(Some(turned))
    }

    /// Deletes an approval and its tokens, and ends the grant that was made for it where nothing came of it: nobody can use
    /// that.
    fn end(&mut self, approval: &Approval, now: Timestamp) -> Result<(), Error> {
        self.db.prepare_cached(DELETE_APPROVAL)?.execute([&*approval.id])?;
        let Some(grant) = self.grant(&approval.grant) else { return Ok(()) };
        let withdrawn = Withdrawn::Of(Arc::clone(&approval.id));
        self.change(&grant, &GrantChange::Withdraw(withdrawn), now)?;
        let came_to_nothing = matches!(approval.state, ApprovalState::Coded { .. }) && approval.made_grant;
        if came_to_nothing && grant.credentials.is_empty() && list(self.db, &grant.id)?.is_empty() {
            self.change(&grant, &GrantChange::Revoke, now)?;
        }
        Ok(())
    }

    fn change(&mut self, grant: &Grant, change: &GrantChange, now: Timestamp) -> Result<(), Error> {
        if let Some(changed) = access::change(self.db, grant, change, (&Actor::node(), now))? {
            self.altered.insert(Arc::clone(&changed.id), Arc::new(changed));
        }
        Ok(())
    }

    fn lapse(&mut self, now: Timestamp, most: usize) -> Result<usize, Error> {
        let lapsed = lapsed(self.db, now, most)?;
        for id in &lapsed {
            let Some(approval) = find(self.db, &ApprovalKey::Id(id.clone()))? else { continue };
            self.end(&approval, now)?;
            let detail = json!({"client": approval.client, "grant": approval.grant}).to_string();
            audit::note(self.db, (&Actor::node(), now), ("oauth.lapse", id), detail)?;
        }
        Ok(lapsed.len())
    }
}

/// Approvals that time has ended, and that are still there.
pub fn lapsed(db: &Connection, now: Timestamp, most: usize) -> Result<Vec<String>, Error> {
    let mut statement = db.prepare_cached(LIST_LAPSED_APPROVALS)?;
    let lapsed = statement.query_map(params![now.as_millis(), most], |row| row.get(0))?;
    Ok(lapsed.collect::<Result<_, _>>()?)
}

fn register(db: &Connection, new: &Registration) -> Result<bool, Error> {
    let Registration { id, name, redirects, origin, created_at, used_at: _ } = new;
    let (all, unused, of_address): (usize, usize, usize) = db
        .prepare_cached(COUNT_CLIENTS)?
        .query_row([origin], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if of_address >= OAUTH_CLIENTS_EACH {
        db.prepare_cached(DELETE_OLDEST_CLIENT)?.execute([Some(origin)])?;
    } else if all >= OAUTH_CLIENTS {
        if unused == 0 {
            return Ok(false);
        }
        db.prepare_cached(DELETE_OLDEST_CLIENT)?.execute([None::<String>])?;
    }
    let redirects = to_json(redirects);
    db.prepare_cached(INSERT_CLIENT)?.execute(params![
        id,
        name,
        redirects,
        origin,
        created_at.as_millis()
    ])?;
    Ok(true)
}

fn update(db: &Connection, approval: &Approval) -> Result<(), Error> {
    let ApprovalState::Open(Turn { family, refresh, before, turned_at }) = approval.state else {
        return Err(Error::Corrupt("an approval went back to its code".to_owned()));
    };
    db.prepare_cached(UPDATE_APPROVAL)?.execute(params![
        &*approval.id,
        family,
        refresh,
        before,
        turned_at.as_millis(),
        approval.until.as_millis()
    ])?;
    Ok(())
}

fn tell_foul(
    db: &Connection,
    (by, at): (&Actor, Timestamp),
    approval: &Approval,
    foul: Foul,
) -> Result<(), Error> {
    let detail = json!({"reason": foul.as_str(), "client": approval.client, "grant": approval.grant});
    let entry = NewAudit {
        at,
        by: by.clone(),
        action: "oauth.foul".to_owned(),
        target: approval.id.to_string(),
        allowed: false,
        detail: detail.to_string(),
    };
    audit::append(db, &entry)
}
