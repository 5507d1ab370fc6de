//! The node's own signature on its cards.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::model::AgentCardSignature;
use sha2::{Digest as _, Sha256};
use tracing::error;

use super::sign;
use crate::keys::{Keys, Purpose};

/// Signatures that are kept: an ECDSA signature is another each time, and a card that does not change should not look as
/// if it did. Extended cards can be many; past this they are signed anew.
const KEPT: usize = 1_024;

/// Signs cards with every key that the node has for them.
pub struct Signer {
    keys: Arc<Keys>,
    /// Where the public keys are, for those who trust this node's word on it.
    jku: String,
    kept: Mutex<HashMap<[u8; 32], Vec<AgentCardSignature>>>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("jku", &self.jku).finish_non_exhaustive()
    }
}

impl Signer {
    /// `base`: what cards advertise.
    pub fn new(keys: Arc<Keys>, base: &str) -> Self {
        Self { keys, jku: format!("{base}/.well-known/jwks.json"), kept: Mutex::default() }
    }

    /// The signatures of a card, given as JSON; none where there is no key.
    pub fn sign(&self, card: &str) -> Vec<AgentCardSignature> {
        let keys = self.keys.list(Purpose::Card);
        if keys.is_empty() {
            return Vec::new();
        }
        let mut digest = Sha256::new_with_prefix(card);
        for key in &keys {
            // No kid holds a line feed.
            digest.update(b"\n");
            digest.update(key.kid.as_bytes());
            digest.update(key.created_at.as_millis().to_be_bytes());
        }
        let digest = digest.finalize().into();
        if let Some(kept) = self.kept().get(&digest) {
            return kept.clone();
        }
        let signed = keys.iter().map(|key| sign(card, &key.kid, &key.secret, Some(&self.jku)));
        match signed.collect::<Result<Vec<_>, _>>() {
            Ok(signatures) => {
                let signatures = signatures.concat();
                let mut kept = self.kept();
                if kept.len() >= KEPT {
                    kept.clear();
                }
                kept.insert(digest, signatures.clone());
                signatures
            }
            Err(why) => {
                error!(error = %why, "a card cannot be signed, and is served without a signature");
                Vec::new()
            }
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Vec<AgentCardSignature>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
