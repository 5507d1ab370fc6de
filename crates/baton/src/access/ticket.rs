//! The secret of a friend request: `fr_` and 32 random bytes. What is stored is its SHA-256. It opens its request and
//! nothing else.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;

use super::Token;
use super::authenticator::bearer;
use crate::clock::random_bytes;

const PREFIX: &str = "fr_";

/// The secret's text. It prints as `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(String);

impl Ticket {
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random_bytes())))
    }

    /// A text that has the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (bytes.len() == 32).then(|| Self(text.to_owned()))
    }

    /// The one that a request brings as its bearer token.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let value = sent.next().filter(|_| sent.next().is_none())?;
        Self::parse(std::str::from_utf8(bearer(value.as_bytes())?).ok()?)
    }

    pub fn digest(&self) -> [u8; 32] {
        Token::digest_of(self.0.as_bytes())
    }

    /// Whether this is the one with that digest; takes as long whatever the answer is.
    pub fn opens(&self, digest: &[u8; 32]) -> bool {
        self.digest().ct_eq(digest).into()
    }

    /// The secret itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn opens_its_own_request_only() {
        let (a, b) = (Ticket::random(), Ticket::random());
        assert_eq!(Ticket::parse(a.reveal()), Some(a.clone()));
        assert!(a.opens(&a.digest()) && !a.opens(&b.digest()) && !a.opens(&[0; 32]));
        assert_eq!(format!("{a:?}"), "[redacted]");
        for text in ["", "fr_", "fr_short", &a.reveal().replace("fr_", "bt_"), &format!("{} ", a.reveal())] {
            assert!(Ticket::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn comes_as_the_only_bearer_token() {
        let ticket = Ticket::random();
        let value = |text: &str| HeaderValue::try_from(text).unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(Ticket::of(&headers), None);
        headers.append(AUTHORIZATION, value(&format!("bearer {}", ticket.reveal())));
        assert_eq!(Ticket::of(&headers), Some(ticket.clone()));
        headers.append(AUTHORIZATION, value("Bearer other"));
        assert_eq!(Ticket::of(&headers), None);
    }
}
