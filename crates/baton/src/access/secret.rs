//! 256 random bits as text, for whatever is known by its SHA-256 here and by its text elsewhere.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::Token;
use crate::clock::random_bytes;

/// The text. It prints as `[redacted]`.
#[derive(Clone)]
pub struct Secret(String);

/// What such a text, or somebody else's, is known by.
pub type Digest = [u8; 32];

impl Secret {
    pub fn random() -> Self {
        Self(BASE64_URL_SAFE_NO_PAD.encode(random_bytes()))
    }

    pub fn digest(text: &str) -> Digest {
        Token::digest_of(text.as_bytes())
    }

    /// The secret itself, for the one whom it is for.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
