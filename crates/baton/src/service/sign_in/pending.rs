//! Sign-ins that have begun and from which nobody has come back yet.
//!
//! In this node's memory, found by the SHA-256 of their `state`, bounded in number and time. Each belongs to the browser that
//! began it: whoever brings somebody else's answer (a login CSRF, or a stolen code) has not that browser's secret.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::time::Timestamp;
use subtle::ConstantTimeEq as _;

use crate::access::{Digest, Secret};

/// How long somebody may take at the provider.
pub const LIFE: Duration = Duration::from_mins(10);

/// Sign-ins at a time; the oldest goes.
const PENDING: usize = 1_024;

/// What is kept of a sign-in until somebody comes back from it.
#[derive(Debug)]
pub struct Waiting {
    browser: Digest,
    until: Timestamp,
    /// What the ID token must repeat.
    pub nonce: Secret,
    /// What the challenge was made of (RFC 7636).
    pub verifier: Secret,
    /// The page that is wanted.
    pub to: String,
}

/// What goes out when a sign-in begins.
#[derive(Debug)]
pub struct Opened {
    pub state: Secret,
    pub nonce: Secret,
    pub challenge: String,
    /// For the browser's cookie.
    pub browser: Secret,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Pending(Mutex<HashMap<Digest, Waiting>>);

impl Pending {
    pub fn open(&self, to: String, now: Timestamp) -> Opened {
        let (state, browser) = (Secret::random(), Secret::random());
        let (nonce, verifier) = (Secret::random(), Secret::random());
        let opened = Opened { challenge: challenge(verifier.reveal()), nonce: nonce.clone(), state, browser };
        let browser = Secret::digest(opened.browser.reveal());
        let waiting = Waiting { browser, until: now.after(LIFE), nonce, verifier, to };
        let mut all = self.all();
        all.retain(|_, waiting| waiting.until > now);
        if all.len() >= PENDING {
            let oldest = all.iter().min_by_key(|(_, waiting)| waiting.until).map(|(state, _)| *state);
            oldest.and_then(|state| all.remove(&state));
        }
        all.insert(Secret::digest(opened.state.reveal()), waiting);
        opened
    }

    /// The sign-in of this state, once, where it was begun by this browser. Another's leaves it as it is.
    pub fn take(&self, state: &str, browser: &str, now: Timestamp) -> Option<Waiting> {
        let (state, browser) = (Secret::digest(state), Secret::digest(browser));
        let mut all = self.all();
        let waiting = all.get(&state)?;
        let same = bool::from(waiting.browser.ct_eq(&browser));
        let waiting = if same { all.remove(&state) } else { None };
        waiting.filter(|waiting| waiting.until > now)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Digest, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `S256` of a verifier (RFC 7636 §4.2).
fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Secret::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(Duration::from_secs(seconds))
    }

    #[test]
    fn the_example_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_verifier_is_its_own_and_long_enough() {
        let pending = Pending::default();
        let (one, two) = (pending.open(String::new(), at(0)), pending.open(String::new(), at(0)));
        let take =
            |opened: &Opened| pending.take(opened.state.reveal(), opened.browser.reveal(), at(1)).unwrap();
        let (first, second) = (take(&one), take(&two));
        assert_eq!(challenge(first.verifier.reveal()), one.challenge);
        assert_ne!(first.verifier.reveal(), second.verifier.reveal());
        assert_ne!(first.nonce.reveal(), first.verifier.reveal());
        assert_eq!(first.nonce.reveal(), one.nonce.reveal());
        assert!((43..=128).contains(&first.verifier.reveal().len()), "RFC 7636 §4.1");
        assert!(!format!("{first:?} {one:?}").contains(first.verifier.reveal()));
    }

    #[test]
    fn it_is_taken_once_and_by_its_own_browser() {
        let pending = Pending::default();
        let (one, two) = (pending.open("/console".to_owned(), at(0)), pending.open(String::new(), at(0)));
        let (state, browser) = (one.state.reveal(), one.browser.reveal());
        assert!(pending.take(state, two.browser.reveal(), at(1)).is_none(), "another browser's");
        assert!(pending.take(state, "", at(1)).is_none(), "nobody's");
        assert!(pending.take("guess", browser, at(1)).is_none());
        assert_eq!(pending.take(state, browser, at(1)).unwrap().to, "/console");
        assert!(pending.take(state, browser, at(1)).is_none(), "once");
    }

    #[test]
    fn it_is_short_lived() {
        let pending = Pending::default();
        let in_time = pending.open(String::new(), at(0));
        let late = pending.open(String::new(), at(0));
        assert!(pending.take(in_time.state.reveal(), in_time.browser.reveal(), at(599)).is_some());
        assert!(pending.take(late.state.reveal(), late.browser.reveal(), at(600)).is_none());
        pending.open(String::new(), at(0));
        pending.open(String::new(), at(601));
        assert_eq!(pending.all().len(), 1, "what is over is forgotten");
    }

    #[test]
    fn they_are_bounded() {
        let pending = Pending::default();
        let first = pending.open(String::new(), at(0));
        let second = pending.open(String::new(), at(1));
        for _ in 0..PENDING - 1 {
            pending.open(String::new(), at(2));
        }
        assert_eq!(pending.all().len(), PENDING);
        assert!(pending.take(first.state.reveal(), first.browser.reveal(), at(3)).is_none(), "pushed out");
        assert!(pending.take(second.state.reveal(), second.browser.reveal(), at(3)).is_some());
    }
}
