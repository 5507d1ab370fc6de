//! Somebody with a right to call, and what it extends to.

use std::sync::Arc;

use baton_core::ident::{AgentName, Owner};
use baton_core::time::Timestamp;
use baton_store::{Grant, LOCAL, Verb};

use super::{Door, Origin, Resource};

/// Somebody with a right to call, and what it extends to.
#[derive(Clone, Debug)]
pub struct Caller {
    pub owner: Owner,
    pub origin: Origin,
    /// What it is known by, as far as that can end before its grant does.
    pub proof: Proof,
    rights: Rights,
    /// What of its rights it was let in for; none where it is all.
    verbs: Option<Arc<[Verb]>>,
    /// What its token is for; none where it is all.
    resource: Option<Resource>,
}

/// What a caller is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing that ends before the grant does.
    Lasting,
    /// Good until then.
    Until(Timestamp),
    /// A token that the store knows by this SHA-256.
    Token([u8; 32]),
}

#[derive(Clone, Debug)]
enum Rights {
    /// Every agent, every verb.
    Local,
    Grant(Arc<Grant>),
}

impl Caller {
    /// The built-in grant of dev mode.
    pub fn local(origin: Origin) -> Self {
        let owner = Owner::new(LOCAL, "");
        Self { owner, origin, proof: Proof::Lasting, rights: Rights::Local, verbs: None, resource: None }
    }

    /// A holder of a grant. `subject` tells the users of one grant apart, as those of one issuer or certificate rule; it
    /// is empty where all of them are one, as with a token.
    pub fn holder(grant: Arc<Grant>, subject: Arc<str>, proof: Proof, origin: Origin) -> Self {
        let owner = Owner { grant: Arc::clone(&grant.id), subject };
        Self { owner, origin, proof, rights: Rights::Grant(grant), verbs: None, resource: None }
    }

    /// The same with no more than these verbs, where they are given.
    #[must_use]
    pub fn limited_to(self, verbs: Option<Arc<[Verb]>>) -> Self {
        Self { verbs, ..self }
    }

    /// The same by a token that is for this, where it is for less than all.
    #[must_use]
    pub fn meant_for(self, resource: Option<Resource>) -> Self {
        Self { resource, ..self }
    }

    /// Whether what it brings is for this door.
    pub fn is_for(&self, door: Door<'_>) -> bool {
        self.resource.as_ref().is_none_or(|resource| resource.opens(door))
    }

    pub fn allows(&self, verb: Verb) -> bool {
        match &self.rights {
            Rights::Local => true,
            Rights::Grant(grant) => {
                grant.verbs.contains(&verb) && self.verbs.as_ref().is_none_or(|verbs| verbs.contains(&verb))
            }
        }
    }

    pub fn reaches(&self, agent: &AgentName) -> bool {
        match &self.rights {
            Rights::Local => true,
            Rights::Grant(grant) => grant.agents.contains(agent),
        }
    }

    /// The grant; none for the built-in one.
    pub const fn of_grant(&self) -> Option<&Arc<Grant>> {
        match &self.rights {
            Rights::Local => None,
            Rights::Grant(grant) => Some(grant),
        }
    }

    /// Bytes that the body of a request may have, where the node takes `most`.
    pub fn body_limit(&self, most: usize) -> usize {
        let limit = self.of_grant().and_then(|grant| grant.limits.body);
        limit.map_or(most, |limit| most.min(usize::try_from(limit).unwrap_or(most)))
    }

    /// Whether this is a name of the caller's grant: its id or its label.
    pub fn is_named(&self, name: &str) -> bool {
        match &self.rights {
            Rights::Local => name == LOCAL,
            Rights::Grant(grant) => *grant.id == *name || grant.label == name,
        }
    }

    pub const fn is_local(&self) -> bool {
        matches!(self.rights, Rights::Local)
    }
}
