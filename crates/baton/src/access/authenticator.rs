//! From credentials to a [`Caller`]. What proves nothing, and what matches no rule, is nobody: never more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use baton_store::{Access, Store};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tracing::warn;

use super::jwt::{Issuers, Refused};
use super::peer::{Peer, Shown, User};
use super::{Caller, Certificate, Proof, Token};
use crate::clock::Clock;
use crate::config::settings::Auth;
use crate::service::Error;

/// Reads credentials.
#[derive(Clone)]
pub struct Authenticator {
    store: Arc<dyn Store>,
    clock: Clock,
    /// The subject of those who have none.
    nobody: Arc<str>,
    dev: bool,
    rules: Arc<Auth>,
    issuers: Issuers,
    /// Names of rules that are those of several grants, and of which that was said.
    told: Arc<Mutex<HashSet<String>>>,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").field("dev", &self.dev).finish_non_exhaustive()
    }
}

impl Authenticator {
    pub fn new(store: Arc<dyn Store>, clock: Clock, dev: bool, rules: Auth, issuers: Issuers) -> Self {
        Self { store, clock, nobody: "".into(), dev, rules: Arc::new(rules), issuers, told: Arc::default() }
    }

    /// The caller behind a request; whether its grant takes calls is asked elsewhere. A token that is sent counts, on
    /// whatever connection: a wrong one is refused, not ignored.
    pub async fn caller(
        &self,
        peer: Peer,
        shown: Option<&Shown>,
        headers: &HeaderMap,
    ) -> Result<Caller, Error> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        if let Some(value) = sent.next() {
            let only = sent.next().is_none();
            let token = bearer(value.as_bytes()).filter(|_| only).ok_or(Error::Unauthenticated)?;
            return self.token(token).await;
        }
        if let Some(shown) = shown
            && let Some(caller) = Box::pin(self.shown(shown)).await?
        {
            return Ok(caller);
        }
        let local = self.dev && matches!(peer, Peer::Tcp { loopback: true, .. });
        if local { Ok(Caller::local()) } else { Err(Error::Unauthenticated) }
    }

    /// The holder of a token.
    async fn token(&self, token: &[u8]) -> Result<Caller, Error> {
        let taken = if Token::is_like(token) {
            self.rules.tokens
        } else if Token::is_like_access(token) {
            self.rules.client_credentials
        } else {
            return Box::pin(self.jwt(token)).await;
        };
        if !taken {
            return Err(Error::Unauthenticated);
        }
        let digest = Token::digest_of(token);
        let found = Access::find_credential(&*self.store, &digest, self.clock.now()).await?;
        let opened = found.ok_or(Error::Unauthenticated)?;
        let holder = Caller::holder(opened.grant, Arc::clone(&self.nobody), Proof::Token(digest));
        Ok(holder.limited_to(opened.verbs))
    }

    /// The holder of a token that somebody else made.
    async fn jwt(&self, token: &[u8]) -> Result<Caller, Error> {
        if !self.issuers.take(token) {
            return Err(Error::Unauthenticated);
        }
        let bearer = self.issuers.judge(token).await.map_err(|why| match why {
            Refused::Token | Refused::Nobody => Error::Unauthenticated,
            Refused::Unreachable => Error::IssuerUnreachable,
        })?;
        let caller = self.named(&bearer.grant, bearer.subject, Proof::Until(bearer.until)).await?;
        caller.ok_or(Error::Unauthenticated)
    }

    /// Who a connection shows itself to be, where a rule says whom that is to be.
    async fn shown(&self, shown: &Shown) -> Result<Option<Caller>, Error> {
        match shown {
            Shown::Certificate(certificate) => self.certificate(certificate).await,
            Shown::User(user) => self.user(*user).await,
        }
    }

    /// The first rule decides, by the first name that it is about.
    async fn certificate(&self, certificate: &Certificate) -> Result<Option<Caller>, Error> {
        if certificate.until <= self.clock.now() {
            return Ok(None);
        }
        let mut rules = self.rules.certificates.iter();
        let found = rules.find_map(|rule| Some((rule, rule.name.find_in(&certificate.names)?)));
        let Some((rule, subject)) = found else { return Ok(None) };
        self.named(&rule.grant, subject.into(), Proof::Until(certificate.until)).await
    }

    async fn user(&self, user: User) -> Result<Option<Caller>, Error> {
        let Some(rule) = self.rules.users.iter().find(|rule| rule.is_about(user)) else { return Ok(None) };
        self.named(&rule.grant, format!("uid:{}", user.uid).into(), Proof::Lasting).await
    }

    /// The holder of the grant that a rule names. A label that is that of several grants names none.
    async fn named(&self, name: &str, subject: Arc<str>, proof: Proof) -> Result<Option<Caller>, Error> {
        let found = Access::find_grants_named(&*self.store, name, self.clock.now()).await?;
        match <[_; 1]>::try_from(found) {
            Ok([grant]) => Ok(Some(Caller::holder(grant, subject, proof))),
            Err(found) => {
                let new = || {
                    let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                    told.insert(name.to_owned())
                };
                if !found.is_empty() && new() {
                    warn!(
                        grant.label = name,
                        grants = found.len(),
                        "a rule of [auth] names several grants, and so nobody: name the grant by its id"
                    );
                }
                Ok(None)
            }
        }
    }
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}
