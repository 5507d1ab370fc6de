//! Refresh tokens: `br_` and two halves of 32 random bytes each. The first is the same in all tokens of one approval, so that
//! one whose place another has taken is known as one of them; the second is the token's own. What is stored is SHA-256.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_store::Refresh;

use super::Token;
use crate::clock::random_bytes;

const PREFIX: &str = "br_";

/// Characters of a half.
const HALF: usize = 43;

/// A refresh token's text. It prints as `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken(String);

impl RefreshToken {
    /// The first of an approval.
    pub fn random() -> Self {
        Self::of(&half())
    }

    /// The next one of the same approval.
    #[must_use]
    pub fn next(&self) -> Self {
        Self::of(self.family())
    }

    fn of(family: &str) -> Self {
        Self(format!("{PREFIX}{family}{}", half()))
    }

    /// A text that has the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let halves = text.strip_prefix(PREFIX)?;
        let whole = halves.len() == 2 * HALF && halves.is_ascii();
        let (family, own) = whole.then(|| halves.split_at(HALF))?;
        let is_half = |half: &str| BASE64_URL_SAFE_NO_PAD.decode(half).is_ok();
        (is_half(family) && is_half(own)).then(|| Self(text.to_owned()))
    }

    fn family(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + HALF]
    }

    /// As it is stored.
    pub fn digest(&self) -> Refresh {
        Refresh {
            family: Token::digest_of(self.family().as_bytes()),
            refresh: Token::digest_of(self.0.as_bytes()),
        }
    }

    /// The secret itself, for the one whom it is for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

fn half() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(random_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_and_its_tokens_are_told_apart() {
        let (one, other) = (RefreshToken::random(), RefreshToken::random());
        let next = one.next();
        assert_eq!(one.digest().family, next.digest().family);
        assert_ne!(one.digest().refresh, next.digest().refresh);
        assert_ne!(one.digest().family, other.digest().family);
        assert_eq!(RefreshToken::parse(next.reveal()), Some(next.clone()));
        assert_eq!(next.reveal().len(), 3 + 2 * HALF);
        assert_eq!(format!("{next:?}"), "[redacted]");
    }

    #[test]
    fn other_texts_are_none() {
        let good = RefreshToken::random().reveal().to_owned();
        let cut = &good[..good.len() - 1];
        let umlaut = format!("{}ä", &good[..good.len() - 2]);
        for text in
            ["", "br_", cut, &format!("{good}x"), &good.replace("br_", "bt_"), &umlaut, &format!("{cut}!")]
        {
            assert!(RefreshToken::parse(text).is_none(), "{text}");
        }
    }
}
