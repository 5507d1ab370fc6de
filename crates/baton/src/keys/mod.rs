//! The node's signing keys: what they are for, where they are kept, and their public halves for everybody.
//!
//! A private key is a file of its own below the data folder, for its owner's eyes only. Every key of a purpose signs, and
//! its public half stands in the node's JWKS, until it is retired: so a new key and an old one overlap for as long as the
//! operator wants.

mod folder;
mod jwk;
mod public;
mod secret;
#[cfg(test)]
mod tests;

pub use folder::{Error, Keys};
pub use jwk::{Jwk, Jwks, Unusable};
pub use public::{Algorithm, PublicKey};
pub use secret::SecretKey;

use std::sync::Arc;

use baton_core::time::Timestamp;

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Agent cards.
    Card,
    /// Webhook deliveries.
    Webhook,
}

impl Purpose {
    pub const ALL: [Self; 2] = [Self::Card, Self::Webhook];

    /// The folder of its keys.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Webhook => "webhook",
        }
    }
}

/// A key with its name.
#[derive(Clone, Debug)]
pub struct Key {
    /// 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`; no other key of the node has it.
    pub kid: Arc<str>,
    pub secret: Arc<SecretKey>,
    pub created_at: Timestamp,
}

impl Key {
    /// What verifiers need of it.
    pub fn jwk(&self) -> Jwk {
        Jwk {
            kid: Some(self.kid.to_string()),
            algorithm: Some(self.secret.algorithm()),
            key: self.secret.public(),
        }
    }
}

/// Whether a text can name a key: it is a file's name and a header's value.
pub fn is_kid(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    plain && (1..=64).contains(&text.len()) && !text.starts_with(['.', '-'])
}
