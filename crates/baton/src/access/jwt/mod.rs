//! JWTs of issuers that the operator trusts (RFC 7519, RFC 8725): whose grant they open.
//!
//! A token is judged by the issuer that it names, with that issuer's keys, algorithms and audience. Whatever else it says
//! of keys (`jwk`, `jku`, `x5u`) is not looked at.

mod claims;
mod crypto;
mod discovery;
mod identity;
mod keys;

use std::sync::{Arc, PoisonError, RwLock};

use baton_core::time::Timestamp;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde::Deserialize;

use crate::clock::Clock;
use crate::config::settings;
use claims::Claims;
pub use claims::is_meant;
pub use discovery::{Discovery, Endpoints};
pub use keys::{Keys, Missing};

/// Bytes of a token: those with many groups in them have a few thousand, and all headers of HTTP/2 have 16 KiB.
const BYTES: usize = 12 * 1024;

/// What `typ` may say (RFC 8725 §3.11): an ID token, or an access token of RFC 9068. Others are for something else.
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

/// An issuer, its keys, and where people sign in there.
#[derive(Debug)]
pub struct Issuer {
    pub settings: settings::Issuer,
    pub keys: Keys,
    endpoints: RwLock<Option<Arc<Endpoints>>>,
}

/// All of them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Issuers {
    all: Arc<[Arc<Issuer>]>,
    clock: Clock,
}

/// Whose grant a token opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The grant's id or its label.
    pub grant: String,
    /// The issuer and its name for whoever it is. No URL has a space in it.
    pub subject: Arc<str>,
    pub until: Timestamp,
}

/// Why a token opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It proves nothing here, now; or it does, and no rule is about it.
    Token,
    /// Nobody can say: its issuer's keys cannot be had.
    Unreachable,
}

/// The issuer that a token names, before anything of it is believed.
#[derive(Deserialize)]
struct Named {
    iss: String,
}

impl Issuers {
    pub fn new(issuers: Vec<settings::Issuer>, clock: Clock) -> Self {
        let known = |settings| Arc::new(Issuer::new(settings, clock.clone()));
        Self { all: issuers.into_iter().map(known).collect(), clock }
    }

    pub fn list(&self) -> &[Arc<Issuer>] {
        &self.all
    }

    /// Whether a text can be a token of one of them.
    pub fn take(&self, token: &[u8]) -> bool {
        !self.all.is_empty() && token.len() <= BYTES && token.split(|byte| *byte == b'.').count() == 3
    }

    /// Whose grant a token opens. The first rule that is about it decides.
    pub async fn judge(&self, token: &[u8]) -> Result<Bearer, Refused> {
        let (issuer, claims) = self.read(token).await?;
        let until = claims::good_until(&claims, self.clock.now()).ok_or(Refused::Token)?;
        let subject = claims::subject(&claims).ok_or(Refused::Token)?;
        let mut rules = issuer.settings.rules.iter();
        let rule = rules.find(|rule| is_meant(&rule.claim, &claims)).ok_or(Refused::Token)?;
        let subject = format!("{} {subject}", issuer.settings.url).into();
        Ok(Bearer { grant: rule.grant.clone(), subject, until })
    }

    /// Whom an issuer vouches for by a token that was good at `at`, whether a rule is about it or not: the issuer, and its name
    /// for whoever it is. That opens nothing.
    pub async fn vouch(&self, token: &[u8], at: Timestamp) -> Result<(String, String), Refused> {
        let (issuer, claims) = self.read(token).await?;
        claims::good_until(&claims, at).ok_or(Refused::Token)?;
        let subject = claims::subject(&claims).ok_or(Refused::Token)?;
        Ok((issuer.settings.url.clone(), subject.to_owned()))
    }

    /// The issuer of a token and its claims, whose times nobody has looked at.
    async fn read(&self, token: &[u8]) -> Result<(&Issuer, Claims), Refused> {
        let header = decode_header(token).ok().filter(is_plain).ok_or(Refused::Token)?;
        let Named { iss } = insecure_decode_claims(token).map_err(|_| Refused::Token)?;
        let issuer = self.all.iter().find(|issuer| issuer.settings.url == iss).ok_or(Refused::Token)?;
        let claims = issuer.verify(token, &header).await?;
        Ok((issuer, claims))
    }
}

impl Issuer {
    pub fn new(settings: settings::Issuer, clock: Clock) -> Self {
        crypto::install();
        Self { settings, keys: Keys::new(clock), endpoints: RwLock::default() }
    }

    /// Keeps what it says of itself.
    pub fn heard(&self, discovery: &Discovery) {
        let endpoints = discovery.endpoints().map(Arc::new);
        *self.endpoints.write().unwrap_or_else(PoisonError::into_inner) = endpoints;
    }

    /// Where people sign in, as it was heard last. Where nothing was heard yet it is asked, if it may be asked again.
    pub async fn endpoints(&self) -> Option<Arc<Endpoints>> {
        let known = || self.endpoints.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known() {
            return Some(known);
        }
        self.keys.ask().await;
        known()
    }

    /// The claims of a token, where its issuer made it for this node. Its times are looked at by who has the clock.
    async fn verify(&self, token: &[u8], header: &Header) -> Result<Claims, Refused> {
        let settings::Issuer { url, audience, algorithms, .. } = &self.settings;
        if !algorithms.contains(&header.alg) {
            return Err(Refused::Token);
        }
        let key =
            self.keys.find(header.kid.as_deref(), header.alg).await.map_err(|missing| match missing {
                Missing::Unknown => Refused::Token,
                Missing::Unreachable => Refused::Unreachable,
            })?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[url]);
        validation.set_audience(audience);
        validation.set_required_spec_claims(&["iss", "aud", "sub"]);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let token = decode::<Claims>(token, &key, &validation).map_err(|_| Refused::Token)?;
        Ok(token.claims)
    }
}

/// Whether all that a header asks of its reader is known here.
fn is_plain(header: &Header) -> bool {
    let named = |typ: &String| TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ));
    header.crit.is_none() && header.typ.as_ref().is_none_or(named)
}
