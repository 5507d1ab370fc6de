//! Grants: made, changed and ended by the operator, and by time.

mod draft;
mod words;

use std::sync::Arc;
use std::time::Duration;

use baton_core::task::Input;
use baton_core::time::Timestamp;
use baton_store::{Actor, By, Error as StoreError, Grant, GrantChange, GrantRecord, NewCredential, NewGrant};
use futures_util::future::join_all;
use tracing::{info, warn};

use super::{Error, Service};
use crate::access::{Caller, Proof, Token};
use crate::clock::new_id;
use crate::config::parse_duration;
use crate::crash;
pub(super) use draft::known_verb;
pub use draft::{Draft, WantedGrant, WantedLimits, spell_rate};

/// How long the tokens of before go on after a rotation, where nobody says.
const OVERLAP: Duration = Duration::from_hours(24);

/// The longest that they may go on: a token that is to live longer need not be rotated.
const OVERLAP_MAX: Duration = Duration::from_hours(30 * 24);

/// Tasks of ended grants that are looked for at a time.
const ENDED: usize = 256;

impl Service {
    /// Makes a grant; the token is to be had here and never again.
    pub async fn create_grant(&self, wanted: WantedGrant, by: &Actor) -> Result<(Arc<Grant>, Token), Error> {
        let Draft { label, agents, verbs, limits, expires_at } = self.draft_grant(wanted)?;
        let token = Token::random();
        let grant = NewGrant {
            id: new_id().to_string(),
            label,
            agents,
            verbs,
            limits,
            expires_at,
            credential: Some(credential(&token)),
            by: by.clone(),
            now: self.now(),
        };
        let grant = self.store.create_grant(grant).await?;
        info!(grant.id = %grant.id, "grant created");
        Ok((grant, token))
    }

    pub async fn load_grant(&self, id: &str) -> Result<GrantRecord, Error> {
        self.store.find_grant(id).await?.ok_or(Error::GrantNotFound)
    }

    /// The holder's calls are refused from now on, and its streams end. Its tokens stay, and what it handed in goes on.
    pub async fn pause_grant(&self, id: &str, by: &Actor) -> Result<GrantRecord, Error> {
        self.change_grant(id, GrantChange::Pause, by).await
    }

    pub async fn resume_grant(&self, id: &str, by: &Actor) -> Result<GrantRecord, Error> {
        self.change_grant(id, GrantChange::Resume, by).await
    }

    /// A new token. Those of before go on for `overlap`, a day where that is not said.
    pub async fn rotate_grant(
        &self,
        id: &str,
        overlap: Option<&str>,
        by: &Actor,
    ) -> Result<(GrantRecord, Token), Error> {
        let overlap = overlap.map(parse_duration).transpose();
        let overlap = overlap.map_err(|what| Error::invalid("overlap", what))?.unwrap_or(OVERLAP);
        if overlap > OVERLAP_MAX {
            return Err(Error::invalid(
                "overlap",
                "is at most \"30d\"; a token that is to live on needs no rotation",
            ));
        }
        let token = Token::random();
        let until = self.now().after(overlap);
        let change = GrantChange::Rotate { credential: credential(&token), until };
        Ok((self.change_grant(id, change, by).await?, token))
    }

    /// Ends a grant, its tokens, its streams, its webhooks, and the work that came in by it.
    pub async fn revoke_grant(&self, id: &str, by: &Actor) -> Result<GrantRecord, Error> {
        let revoked = self.change_grant(id, GrantChange::Revoke, by).await?;
        crash::pass(crash::REVOKED);
        if let Err(why) = self.end_work_of_ended().await {
            warn!(grant.id = id, error = %why, "the work of a revoked grant goes on until the reaper looks");
        }
        Ok(revoked)
    }

    /// Ends the grants whose time is over, as a revocation would. For a timer.
    pub async fn end_expired(&self) -> Result<(), StoreError> {
        for id in self.store.expired_grants(self.now()).await? {
            self.store.change_grant(&id, GrantChange::Expire, &Actor::node(), self.now()).await?;
            self.ring();
            info!(grant.id = %id, "grant expired");
        }
        self.end_work_of_ended().await
    }

    /// How long until the next grant is over by itself, at most `most`.
    pub async fn until_expiry(&self, most: Duration) -> Duration {
        let (records, now) = (self.store.list_grants().await.unwrap_or_default(), self.now());
        let open = records.iter().filter(|record| !record.grant.state.is_over());
        let next = open.filter_map(|record| record.grant.expires_at).min();
        next.map_or(most, |at| at.since(now).min(most))
    }

    /// Asks for the end of all work of ended grants. Also for a timer: a node may die between a revocation and this.
    async fn end_work_of_ended(&self) -> Result<(), StoreError> {
        loop {
            let open = self.store.open_of_revoked(ENDED).await?;
            // At the same time, so that they share their commits.
            let ended = open.iter().map(|task| self.apply(By::Node, *task, vec![Input::GrantRevoked]));
            for ended in join_all(ended).await {
                match ended {
                    Ok(_) | Err(StoreError::Refused(_)) => {}
                    Err(why) => return Err(why),
                }
            }
            if open.len() < ENDED {
                return Ok(());
            }
        }
    }

    /// Seen through, so that whoever serves the grant hears of it.
    async fn change_grant(&self, id: &str, change: GrantChange, by: &Actor) -> Result<GrantRecord, Error> {
        let (service, id, by) = (self.clone(), id.to_owned(), by.clone());
        let changed = self.see_through(async move {
            let action = change.action();
            service.store.change_grant(&id, change, &by, service.now()).await?;
            service.ring();
            info!(grant.id = id, action, "grant changed");
            service.store.find_grant(&id).await?.ok_or(StoreError::NotFound)
        });
        match changed.await? {
            Ok(record) => Ok(record),
            Err(StoreError::NotFound) => Err(Error::GrantNotFound),
            Err(StoreError::Barred(_)) => {
                Err(Error::Unsupported("the grant is over, and nothing brings it back: create another"))
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Whether a caller would be let in again now, by what it was let in before; and until when, where that ends.
    pub async fn standing(&self, caller: &Caller) -> Result<Option<Timestamp>, Error> {
        let Some(grant) = caller.of_grant() else { return Ok(None) };
        let now = self.now();
        let (grant, until) = match caller.proof {
            Proof::Token(digest) => {
                let opened = self.store.find_credential(&digest, now).await?;
                opened.map(|opened| (opened.grant, opened.until)).ok_or(Error::Unauthenticated)?
            }
            Proof::Until(at) if at <= now => return Err(Error::Unauthenticated),
            proof @ (Proof::Until(_) | Proof::Lasting) => {
                let record = self.store.find_grant(&grant.id).await?.ok_or(Error::Unauthenticated)?;
                let known = if let Proof::Until(at) = proof { Some(at) } else { None };
                let until = [known, record.grant.expires_at].into_iter().flatten().min();
                (record.grant, until)
            }
        };
        grant.admits(now)?;
        Ok(until)
    }

    /// Whether the grant that a caller came by lets anybody in, whatever has become of what this one brought.
    pub async fn has_grant(&self, caller: &Caller) -> Result<bool, Error> {
        let Some(grant) = caller.of_grant() else { return Ok(true) };
        let record = self.store.find_grant(&grant.id).await?;
        Ok(record.is_some_and(|record| record.grant.admits(self.now()).is_ok()))
    }
}

pub(super) fn credential(token: &Token) -> NewCredential {
    NewCredential { digest: token.digest(), hint: token.hint() }
}
