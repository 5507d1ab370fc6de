//! Operators sign in at an OpenID provider: the authorization code flow with PKCE (OpenID Connect Core §3.1, RFC 7636,
//! RFC 9700), and the list of those who are operators.
//!
//! Knows no page, no cookie and no session. Codes, tokens and secrets are in nothing that it says or logs.

mod exchange;
mod pending;

use std::sync::Arc;

use baton_core::time::Timestamp;
use tokio::sync::Semaphore;
use tracing::warn;
use url::Url;

use crate::access::Secret;
use crate::access::jwt::{self, Endpoints, Issuer, is_meant};
use crate::clock::Clock;
use crate::config::settings::{self, Oidc};
use crate::net::dialer::Dialer;
use exchange::{Failed, Proof};
pub use pending::LIFE;
use pending::{Pending, Waiting};

/// Where the provider sends people back to, below the node's address: it is registered there.
pub const CALLBACK: &str = "/console/login/callback";

/// The provider is asked so often at a time: whoever signs in makes the node ask.
const AT_A_TIME: usize = 8;

/// Signing in at one provider.
#[derive(Debug)]
pub struct SignIn {
    client: Oidc,
    issuer: Arc<Issuer>,
    /// Where the provider sends people back to.
    redirect: String,
    pending: Pending,
    places: Semaphore,
}

/// A sign-in that has begun.
#[derive(Debug)]
pub struct Begun {
    /// Where the person goes.
    pub url: Url,
    /// What this browser must bring along when the person comes back.
    pub browser: Secret,
}

/// What somebody comes back with.
#[derive(Clone, Copy, Default)]
pub struct Returned<'a> {
    pub state: &'a str,
    pub code: &'a str,
    /// What the provider says instead of a code.
    pub error: &'a str,
    /// Who the provider says it is (RFC 9207).
    pub issuer: Option<&'a str>,
    /// What the browser was given when it began.
    pub browser: &'a str,
}

/// A code is a secret until it was used.
impl std::fmt::Debug for Returned<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Returned").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Somebody whom the provider has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Its name at its issuer.
    pub subject: String,
    pub issuer: String,
}

impl std::fmt::Display for Person {
    /// The last word is the issuer, which has no white space.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.subject, self.issuer)
    }
}

/// Why nobody is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No sign-in waits for this: it is too old, was used, or another browser's.
    Unknown,
    /// The provider said no, in its own word: the person declined, or the client is not set up right there.
    Declined(String),
    /// The provider said that it knows nothing of the code.
    Code,
    /// What the provider says proves nothing here.
    Unproven,
    /// The provider cannot be asked now.
    Unreachable,
    /// It is known who it is, and that is no operator.
    NotListed(Person),
}

impl SignIn {
    /// For a node that is reached at `base`.
    pub fn new(client: Oidc, base: &str, clock: Clock) -> Self {
        let redirect = format!("{base}{CALLBACK}");
        let settings = settings::Issuer {
            url: client.issuer.clone(),
            audience: vec![client.client_id.clone()],
            algorithms: client.algorithms.clone(),
            rules: Vec::new(),
        };
        let issuer = Arc::new(Issuer::new(settings, clock));
        Self { client, issuer, redirect, pending: Pending::default(), places: Semaphore::new(AT_A_TIME) }
    }

    /// Whose keys and endpoints are to be asked for.
    pub const fn issuer(&self) -> &Arc<Issuer> {
        &self.issuer
    }

    /// The provider, as a person knows it.
    pub fn provider(&self) -> String {
        let url = Url::parse(&self.client.issuer).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or(&self.client.issuer);
        host.to_owned()
    }

    /// Begins to sign in somebody who wants the page `to`.
    pub async fn begin(&self, to: String, now: Timestamp) -> Result<Begun, Refused> {
        let Some(endpoints) = self.issuer.endpoints().await else {
            self.tell("nobody can sign in at the provider", "nothing is known of where its people do");
            return Err(Refused::Unreachable);
        };
        let opened = self.pending.open(to, now);
        let mut url = endpoints.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.client_id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("scope", &self.client.scopes.join(" "))
            .append_pair("state", opened.state.reveal())
            .append_pair("nonce", opened.nonce.reveal())
            .append_pair("code_challenge", &opened.challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(Begun { url, browser: opened.browser })
    }

    /// Who somebody is who comes back, and the page that was wanted; only where that is an operator.
    pub async fn finish(
        &self,
        dialer: &Dialer,
        back: Returned<'_>,
        now: Timestamp,
    ) -> Result<(Person, String), Refused> {
        let waiting = self.pending.take(back.state, back.browser, now).ok_or(Refused::Unknown)?;
        let endpoints = self.issuer.endpoints().await.ok_or(Refused::Unreachable)?;
        self.check_who_answers(back.issuer, &endpoints)?;
        if !back.error.is_empty() {
            return Err(Refused::Declined(exchange::plain(back.error)));
        }
        if back.code.is_empty() {
            self.tell("somebody brought nothing back", "there is neither a code nor an error");
            return Err(Refused::Unproven);
        }
        let _place = self.places.try_acquire().map_err(|_| Refused::Unreachable)?;
        let token = self.exchange(dialer, &endpoints, back.code, &waiting).await?;
        let asked = (self.client.client_id.as_str(), waiting.nonce.reveal());
        let identified = self.issuer.identify(token.as_bytes(), asked, now).await;
        let (subject, claims) = identified.map_err(|(refused, why)| {
            self.tell("an ID token proves nothing here", why);
            match refused {
                jwt::Refused::Token => Refused::Unproven,
                jwt::Refused::Unreachable => Refused::Unreachable,
            }
        })?;
        let person = Person { subject, issuer: self.client.issuer.clone() };
        if self.client.operators.iter().any(|operator| is_meant(operator, &claims)) {
            Ok((person, waiting.to))
        } else {
            Err(Refused::NotListed(person))
        }
    }

    /// An answer of another issuer, sent on to this one, would hand its code to the wrong one (RFC 9207 §2.4).
    fn check_who_answers(&self, issuer: Option<&str>, endpoints: &Endpoints) -> Result<(), Refused> {
        match issuer {
            Some(issuer) if issuer == self.client.issuer => Ok(()),
            None if !endpoints.names_itself => Ok(()),
            Some(_) | None => {
                self.tell("what somebody brought back is another provider's answer", "`iss` says so");
                Err(Refused::Unproven)
            }
        }
    }

    /// For whoever set this up: people hear less.
    fn tell(&self, what: &str, why: &str) {
        warn!(issuer = self.client.issuer, error = why, "{what}");
    }

    async fn exchange(
        &self,
        dialer: &Dialer,
        endpoints: &Endpoints,
        code: &str,
        waiting: &Waiting,
    ) -> Result<String, Refused> {
        let proof = Proof { code, verifier: waiting.verifier.reveal(), redirect: &self.redirect };
        exchange::exchange(dialer, endpoints, &self.client, &proof).await.map_err(|why| match why {
            Failed::Refused(error) => {
                self.tell("the provider gives nothing for what somebody brought back", &error);
                Refused::Code
            }
            Failed::Unreachable(error) => {
                self.tell("the provider cannot be asked who has signed in", &error);
                Refused::Unreachable
            }
        })
    }
}
