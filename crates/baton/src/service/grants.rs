//! Grants in their first form: made, listed and revoked by the operator.

use std::sync::Arc;

use baton_core::ident::AgentName;
use baton_core::task::Input;
use baton_store::{By, Grant, GrantState, NewCredential, NewGrant, Verb};
use tracing::{info, warn};

use super::{Error, Service};
use crate::access::Token;
use crate::clock::new_id;
use crate::crash;

/// Bytes of a label.
const LABEL: usize = 200;

/// Tasks of revoked grants that are looked for at a time.
const REVOKED: usize = 256;

/// A grant to be made.
#[derive(Clone, Debug)]
pub struct CreateGrant {
    pub label: String,
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
}

impl Service {
    /// Makes a grant; the token is to be had here and never again.
    pub async fn create_grant(&self, new: CreateGrant, actor: &str) -> Result<(Arc<Grant>, Token), Error> {
        if new.label.is_empty() || new.label.len() > LABEL || new.label.chars().any(char::is_control) {
            return Err(Error::invalid("label", format!("has 1 to {LABEL} bytes and no control characters")));
        }
        if new.agents.is_empty() {
            return Err(Error::invalid("agents", "name at least one agent: an empty scope means nothing"));
        }
        if new.verbs.is_empty() {
            return Err(Error::invalid("verbs", "name at least one verb: an empty scope means nothing"));
        }
        if let Some(unknown) = new.agents.iter().find(|name| self.agents.find(name).is_none()) {
            return Err(Error::invalid("agents", format!("there is no agent '{unknown}' on this node")));
        }
        let token = Token::random();
        let grant = NewGrant {
            id: new_id().to_string(),
            label: new.label,
            agents: new.agents,
            verbs: new.verbs,
            credential: NewCredential { digest: token.digest(), hint: token.hint() },
            actor: actor.to_owned(),
            now: self.now(),
        };
        let grant = self.store.create_grant(grant).await?;
        info!(grant.id = %grant.id, "grant created");
        Ok((grant, token))
    }

    /// Ends a grant, its tokens, its streams, and the work that came in by it.
    pub async fn revoke_grant(&self, id: &str, actor: &str) -> Result<Arc<Grant>, Error> {
        let grant = self.store.revoke_grant(id, actor, self.now()).await?;
        self.ring();
        info!(grant.id = %grant.id, "grant revoked");
        crash::pass(crash::REVOKED);
        if let Err(why) = self.end_revoked().await {
            warn!(grant.id = %grant.id, error = %why, "the work of a revoked grant goes on until the reaper looks");
        }
        Ok(grant)
    }

    /// Asks for the end of all work of revoked grants. Also for a timer: a node may die between a revocation and this.
    pub async fn end_revoked(&self) -> Result<(), baton_store::Error> {
        loop {
            let open = self.store.open_of_revoked(REVOKED).await?;
            for task in &open {
                match self.apply(By::Node, *task, vec![Input::GrantRevoked]).await {
                    Ok(_) | Err(baton_store::Error::Refused(_)) => {}
                    Err(why) => return Err(why),
                }
            }
            if open.len() < REVOKED {
                return Ok(());
            }
        }
    }

    /// Whether a grant is no more.
    pub async fn is_revoked(&self, id: &str) -> bool {
        let grants = self.store.list_grants().await.unwrap_or_default();
        !grants.iter().any(|grant| *grant.id == *id && grant.state == GrantState::Active)
    }
}
