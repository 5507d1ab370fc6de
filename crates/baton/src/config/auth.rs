//! `[auth]`: by what callers are known, and whose grant is theirs.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::issuers;
use super::settings::{self, CertificateRule, UserRule};
use super::value::Span;
use crate::access::NamePattern;

/// What the kernel says in place of a user or a group that has no number here.
const UNKNOWN: u32 = 65_534;

/// How long access tokens may be good.
const LIFETIME_MIN: Duration = Duration::from_mins(1);
/// What is good for longer is no better than the token that it was given for.
const LIFETIME_MAX: Duration = Duration::from_hours(24);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    tokens: Option<bool>,
    client_credentials: Option<bool>,
    authorization_code: Option<bool>,
    registration: Option<bool>,
    access_token_lifetime: Option<Spanned<Span>>,
    client_ca: Option<Spanned<Vec<PathBuf>>>,
    certificates: Vec<Spanned<Certificate>>,
    unix: Vec<Spanned<Unix>>,
    issuers: Vec<Spanned<issuers::Issuer>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Certificate {
    dns: Option<Spanned<String>>,
    uri: Option<Spanned<String>>,
    spiffe: Option<Spanned<String>>,
    grant: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unix {
    uid: Option<u32>,
    gid: Option<u32>,
    grant: Spanned<String>,
}

impl Auth {
    pub(super) fn resolve(self) -> Result<settings::Auth, Problem> {
        let ca_at = self.client_ca.as_ref().map(Spanned::span);
        let client_ca = self.client_ca.map(Spanned::into_inner).unwrap_or_default();
        match (ca_at, self.certificates.first()) {
            (None, Some(rule)) => Err(Problem::at(
                rule.span(),
                "a rule for certificates needs to know whose: add [auth] client_ca = [\"FILE\"]",
            )),
            (Some(at), _) if client_ca.is_empty() => {
                Err(Problem::at(at, "`client_ca` is empty; write client_ca = [\"FILE\"]"))
            }
            (Some(at), None) => Err(Problem::at(
                at,
                "`client_ca` lets nobody in by itself: add [[auth.certificates]] with a name and a grant",
            )),
            (None, None) | (Some(_), Some(_)) => Ok(()),
        }?;
        let default = settings::Auth::default();
        Ok(settings::Auth {
            tokens: self.tokens.unwrap_or(default.tokens),
            client_credentials: self.client_credentials.unwrap_or(default.client_credentials),
            authorization_code: self.authorization_code.unwrap_or(default.authorization_code),
            registration: self.registration.unwrap_or(default.registration),
            access_token_lifetime: self
                .access_token_lifetime
                .map_or(Ok(default.access_token_lifetime), lifetime)?,
            client_ca,
            certificates: self.certificates.into_iter().map(certificate).collect::<Result<_, _>>()?,
            users: self.unix.into_iter().map(user).collect::<Result<_, _>>()?,
            issuers: issuers::resolve(self.issuers)?,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_or hands over")]
fn lifetime(said: Spanned<Span>) -> Result<Duration, Problem> {
    let Span(span) = *said.get_ref();
    if (LIFETIME_MIN..=LIFETIME_MAX).contains(&span) {
        return Ok(span);
    }
    Err(Problem::at(said.span(), "`access_token_lifetime` is a duration from \"1m\" to \"24h\""))
}

fn certificate(rule: Spanned<Certificate>) -> Result<CertificateRule, Problem> {
    let at = rule.span();
    let Certificate { dns, uri, spiffe, grant } = rule.into_inner();
    let name = match (dns, uri, spiffe) {
        (Some(name), None, None) => pattern(&name, NamePattern::dns),
        (None, Some(name), None) => pattern(&name, NamePattern::uri),
        (None, None, Some(name)) => pattern(&name, NamePattern::spiffe),
        (_, _, _) => {
            let what = "a rule for certificates is about one name: write `dns`, `uri` or `spiffe`";
            Err(Problem::at(at, what))
        }
    }?;
    Ok(CertificateRule { name, grant: named(grant)? })
}

fn pattern(
    text: &Spanned<String>,
    read: fn(&str) -> Result<NamePattern, String>,
) -> Result<NamePattern, Problem> {
    read(text.get_ref()).map_err(|what| Problem::at(text.span(), what))
}

fn user(rule: Spanned<Unix>) -> Result<UserRule, Problem> {
    let at = rule.span();
    let Unix { uid, gid, grant } = rule.into_inner();
    if uid.is_none() && gid.is_none() {
        return Err(Problem::at(at, "a rule for unix sockets is about a user: write `uid`, `gid` or both"));
    }
    if [uid, gid].contains(&Some(UNKNOWN)) {
        let what = "65534 is what the kernel calls every user that has no number here; give the program a user of its own";
        return Err(Problem::at(at, what));
    }
    Ok(UserRule { uid, gid, grant: named(grant)? })
}

/// The name of a grant. Whether there is one is the store's to know, and may change.
pub(super) fn named(grant: Spanned<String>) -> Result<String, Problem> {
    if grant.get_ref().trim().is_empty() {
        let what = "`grant` is the id or the label of a grant; see `baton grants list`";
        return Err(Problem::at(grant.span(), what));
    }
    Ok(grant.into_inner())
}
