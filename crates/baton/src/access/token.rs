//! Bearer tokens: `bt_` and 32 random bytes. What is stored is their SHA-256.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::clock::random_bytes;

const PREFIX: &str = "bt_";

/// Characters of a token that may be shown to tell it from others.
const HINT: usize = 8;

/// A token's text. It prints as `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random_bytes())))
    }

    /// A text that has the form of a token.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (bytes.len() == 32).then(|| Self(text.to_owned()))
    }

    /// SHA-256 of the text: with 256 random bits behind it, nothing slower is needed, and a lookup by it leaks nothing
    /// of the token through its time.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
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
    fn tokens_are_random_and_read_back() {
        let (a, b) = (Token::random(), Token::random());
        assert_ne!(a, b);
        assert_eq!(Token::parse(a.reveal()), Some(a.clone()));
        assert_eq!(a.reveal().len(), 3 + 43);
        assert_eq!(format!("{a:?}"), "[redacted]");
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in ["", "bt_", "bt_short", "xx_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Bearer x"] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
    }
}
