//! Bearer tokens: a prefix and 32 random bytes, `bt_` for those of grants, `ba_` for those that are handed out for a while
//! in return. What is stored is their SHA-256.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use crate::clock::random_bytes;

const PREFIX: &str = "bt_";
const ACCESS_PREFIX: &str = "ba_";

/// Characters of a token: the prefix, and 32 bytes in base64.
const LENGTH: usize = PREFIX.len() + 43;

/// Characters of a token that may be shown to tell it from others.
const HINT: usize = 8;

/// A token's text. It prints as `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random_bytes())))
    }

    /// One that is good for a while.
    pub fn random_access() -> Self {
        Self(format!("{ACCESS_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random_bytes())))
    }

    /// Whether a text can be a token; whether it is one, only its digest says.
    pub fn is_like(text: &[u8]) -> bool {
        text.len() == LENGTH && text.starts_with(PREFIX.as_bytes())
    }

    /// The same for one that is good for a while.
    pub fn is_like_access(text: &[u8]) -> bool {
        text.len() == LENGTH && text.starts_with(ACCESS_PREFIX.as_bytes())
    }

    pub fn digest(&self) -> [u8; 32] {
        Self::digest_of(self.0.as_bytes())
    }

    /// SHA-256 of a token's text: with 256 random bits behind it, nothing slower is needed, and a lookup by it leaks
    /// nothing of the token through its time.
    pub fn digest_of(text: &[u8]) -> [u8; 32] {
        let digest = digest(&SHA256, text);
        *digest.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// The first characters, for people.
    pub fn hint(&self) -> String {
        self.0[..HINT].to_owned()
    }

    /// The secret itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random() {
        let (a, b) = (Token::random(), Token::random());
        assert_ne!(a, b);
        assert!(Token::is_like(a.reveal().as_bytes()));
        assert_eq!(a.digest(), Token::digest_of(a.reveal().as_bytes()));
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.reveal().len(), 3 + 43);
        let access = Token::random_access();
        assert!(
            Token::is_like_access(access.reveal().as_bytes()) && !Token::is_like(access.reveal().as_bytes())
        );
        assert!(!Token::is_like_access(a.reveal().as_bytes()));
        assert_eq!(format!("{a:?}"), "[redacted]");
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in ["", "bt_", "bt_short", "xx_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Bearer x"] {
            assert!(!Token::is_like(text.as_bytes()), "{text}");
        }
    }
}
