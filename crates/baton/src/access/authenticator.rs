//! From credentials to a [`Caller`]. What proves nothing, and what matches no rule, is nobody: never more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use baton_store::{Access, Store};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tracing::warn;

use super::jwt::{Issuers, Refused};
use super::peer::{Peer, Shown, User};
use super::{Caller, Certificate, Door, Origin, Proof, Resource, Token};
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
    /// Names of rules that are those of no grant (true) or of several, and of which that was said.
    told: Arc<Mutex<HashSet<(String, bool)>>>,
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

    /// The caller behind a request at a door; whether its grant takes calls is asked elsewhere. A token that is sent counts,
    /// on whatever connection: a wrong one is refused, not ignored, and so is one that is for another door.
    pub async fn caller(
        &self,
        door: Door<'_>,
        (peer, origin): (Peer, Origin),
        shown: Option<&Shown>,
        headers: &HeaderMap,
    ) -> Result<Caller, Error> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        if let Some(value) = sent.next() {
            let only = sent.next().is_none();
            let token = bearer(value.as_bytes()).filter(|_| only).ok_or(Error::Unauthenticated)?;
            let caller = self.token(token, origin).await?;
            return if caller.is_for(door) { Ok(caller) } else { Err(Error::Unauthenticated) };
        }
        if let Some(shown) = shown
            && let Some(caller) = Box::pin(self.shown(shown, origin)).await?
        {
            return Ok(caller);
        }
        let local = self.dev && matches!(peer, Peer::Tcp { loopback: true, .. });
        if local { Ok(Caller::local(origin)) } else { Err(Error::Unauthenticated) }
    }

    /// The holder of a token.
    async fn token(&self, token: &[u8], origin: Origin) -> Result<Caller, Error> {
        let is_access = Token::is_like_access(token);
        if !is_access && !Token::is_like(token) {
            return Box::pin(self.jwt(token, origin)).await;
        }
        let digest = Token::digest_of(token);
        let found = Access::find_credential(&*self.store, &digest, self.clock.now()).await?;
        let opened = found.ok_or(Error::Unauthenticated)?;
        let taken = match (is_access, &opened.resource) {
            (false, _) => self.rules.tokens,
            (true, None) => self.rules.client_credentials,
            (true, Some(_)) => self.rules.authorization_code,
        };
        // What it is for must be known here: nothing is for everything by mistake.
        let resource =
            opened.resource.as_deref().map(|path| Resource::parse(path).ok_or(Error::Unauthenticated));
        let resource = resource.transpose()?;
        if !taken {
            return Err(Error::Unauthenticated);
        }
        let nobody = Arc::clone(&self.nobody);
        let holder = Caller::holder(opened.grant, nobody, Proof::Token(digest), origin);
        Ok(holder.limited_to(opened.verbs).meant_for(resource))
    }

    /// The holder of a token that somebody else made.
    async fn jwt(&self, token: &[u8], origin: Origin) -> Result<Caller, Error> {
        if !self.issuers.take(token) {
            return Err(Error::Unauthenticated);
        }
        let bearer = self.issuers.judge(token).await.map_err(|why| match why {
            Refused::Token => Error::Unauthenticated,
            Refused::Unreachable => Error::IssuerUnreachable,
        })?;
        let proof = Proof::Until(bearer.until);
        let caller = self.named(&bearer.grant, bearer.subject, proof, origin).await?;
        caller.ok_or(Error::Unauthenticated)
    }

    /// Who a connection shows itself to be, where a rule says whom that is to be.
    async fn shown(&self, shown: &Shown, origin: Origin) -> Result<Option<Caller>, Error> {
        match shown {
            Shown::Certificate(certificate) => self.certificate(certificate, origin).await,
            Shown::User(user) => self.user(*user, origin).await,
        }
    }

    /// The first rule decides, by the first name that it is about.
    async fn certificate(&self, certificate: &Certificate, origin: Origin) -> Result<Option<Caller>, Error> {
        if certificate.until <= self.clock.now() {
            return Ok(None);
        }
        let mut rules = self.rules.certificates.iter();
        let found = rules.find_map(|rule| Some((rule, rule.name.find_in(&certificate.names)?)));
        let Some((rule, subject)) = found else { return Ok(None) };
        self.named(&rule.grant, subject.into(), Proof::Until(certificate.until), origin).await
    }

    async fn user(&self, user: User, origin: Origin) -> Result<Option<Caller>, Error> {
        let Some(rule) = self.rules.users.iter().find(|rule| rule.is_about(user)) else { return Ok(None) };
        self.named(&rule.grant, format!("uid:{}", user.uid).into(), Proof::Lasting, origin).await
    }

    /// The holder of the grant that a rule names. A label that is that of several grants names none.
    async fn named(
        &self,
        name: &str,
        subject: Arc<str>,
        proof: Proof,
        origin: Origin,
    ) -> Result<Option<Caller>, Error> {
        let found = Access::find_grants_named(&*self.store, name, self.clock.now()).await?;
        match <[_; 1]>::try_from(found) {
            Ok([grant]) => Ok(Some(Caller::holder(grant, subject, proof, origin))),
            Err(found) => {
                self.tell(name, found.len());
                Ok(None)
            }
        }
    }

    /// Says once of a rule that it lets nobody in, and why: whoever comes by it hears 401 and no more.
    fn tell(&self, name: &str, grants: usize) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.insert((name.to_owned(), grants == 0)) {
            return;
        }
        if grants == 0 {
            warn!(grant.name = name, "a rule of [auth] names no grant that is open: see `baton grants list`");
        } else {
            warn!(
                grant.label = name,
                grants, "a rule of [auth] names several grants, and so nobody: name the grant by its id"
            );
        }
    }
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}
