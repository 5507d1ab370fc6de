//! `[[auth.issuers]]`: whose JWTs are taken, and whose grant is theirs.

use std::ops::Range;

use jsonwebtoken::{Algorithm, AlgorithmFamily};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::error::Problem;
use super::settings::{self, Claim, ClaimRule, ClaimTest};
use super::suggest;

/// What is taken where nothing is said: what issuers use.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];

/// All that can be taken.
const KNOWN: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    url: Spanned<String>,
    audience: Spanned<OneOrMore>,
    algorithms: Option<Spanned<Vec<Spanned<String>>>>,
    rules: Spanned<Vec<Spanned<Rule>>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "here stands a text, or a list of texts in brackets")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    claim: Spanned<OneOrMore>,
    equals: Option<Scalar>,
    contains: Option<Scalar>,
    one_of: Option<Vec<Scalar>>,
    grant: Spanned<String>,
}

/// What a claim is compared with.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a claim is compared with a text, a whole number, true or false")]
pub(super) enum Scalar {
    Text(String),
    Number(i64),
    Truth(bool),
}

/// What a rule says of its claim: `equals`, `contains`, `one_of`.
pub(super) type Tests = (Option<Scalar>, Option<Scalar>, Option<Vec<Scalar>>);

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Text(text) => text.into(),
            Scalar::Number(number) => number.into(),
            Scalar::Truth(truth) => truth.into(),
        }
    }
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::More(more) => more,
        }
    }
}

/// Resolves them all; no two are of one URL.
pub(super) fn resolve(issuers: Vec<Spanned<Issuer>>) -> Result<Vec<settings::Issuer>, Problem> {
    let mut all: Vec<settings::Issuer> = Vec::new();
    for issuer in issuers {
        let at = issuer.span();
        let issuer = issuer.into_inner().resolve()?;
        if all.iter().any(|other| other.url == issuer.url) {
            return Err(Problem::at(
                at,
                format!("there are two issuers `{}`; put their rules together", issuer.url),
            ));
        }
        all.push(issuer);
    }
    Ok(all)
}

impl Issuer {
    fn resolve(self) -> Result<settings::Issuer, Problem> {
        check_url(&self.url)?;
        let audience_at = self.audience.span();
        let audience = self.audience.into_inner().into_vec();
        if audience.is_empty() || audience.iter().any(String::is_empty) {
            let what = "`audience` is what this node is called in the tokens' `aud`; without it tokens for others would do";
            return Err(Problem::at(audience_at, what));
        }
        let rules_at = self.rules.span();
        let rules = self.rules.into_inner().into_iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        if rules.is_empty() {
            let what = "`rules` is empty, so that no token opens anything; write for example \
                        rules = [{ claim = \"sub\", equals = \"ada\", grant = \"Ada's laptop\" }]";
            return Err(Problem::at(rules_at, what));
        }
        let algorithms = algorithms(self.algorithms)?;
        Ok(settings::Issuer { url: self.url.into_inner(), audience, algorithms, rules })
    }
}

/// An issuer is reached by TLS, or on this machine: whoever could answer in its place could let anybody in.
pub(super) fn check_url(text: &Spanned<String>) -> Result<(), Problem> {
    let wrong = |what: &str| {
        Err(Problem::at(
            text.span(),
            format!("`{}` {what}; write for example \"https://id.example.com\"", text.get_ref()),
        ))
    };
    let Ok(url) = url::Url::parse(text.get_ref()) else { return wrong("is no URL") };
    let local = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    match url.scheme() {
        _ if !plain || text.get_ref().contains(char::is_whitespace) => wrong("is no URL of an issuer"),
        "https" => Ok(()),
        "http" if local => Ok(()),
        _ => wrong("is not reached by https"),
    }
}

/// What is taken: what is said, else what issuers use.
pub(super) fn algorithms(said: Option<Spanned<Vec<Spanned<String>>>>) -> Result<Vec<Algorithm>, Problem> {
    match said {
        Some(names) if names.get_ref().is_empty() => {
            Err(Problem::at(names.span(), "`algorithms` is empty; leave it out, or write [\"RS256\"]"))
        }
        Some(names) => names.get_ref().iter().map(algorithm).collect(),
        None => Ok(ALGORITHMS.to_vec()),
    }
}

fn algorithm(name: &Spanned<String>) -> Result<Algorithm, Problem> {
    let text = name.get_ref();
    match text.parse::<Algorithm>() {
        Ok(algorithm) if algorithm.family() != AlgorithmFamily::Hmac => Ok(algorithm),
        Ok(_) => Err(Problem::at(
            name.span(),
            format!(
                "`{text}` is made with a shared secret, and whoever can check one can make one; ask for RS256 or ES256"
            ),
        )),
        Err(_) if text == "none" => {
            Err(Problem::at(name.span(), "`none` is no signature at all; ask for RS256 or ES256"))
        }
        Err(_) => Err(Problem::at(
            name.span(),
            format!("`{text}` is no algorithm known here; {}", suggest::instead(text, &KNOWN)),
        )),
    }
}

fn rule(rule: Spanned<Rule>) -> Result<ClaimRule, Problem> {
    let at = rule.span();
    let Rule { claim: path, equals, contains, one_of, grant } = rule.into_inner();
    let claim = claim(at, path, (equals, contains, one_of))?;
    Ok(ClaimRule { claim, grant: super::auth::named(grant)? })
}

/// The claim that a rule at `at` is about, and the one thing that it says of it.
pub(super) fn claim(at: Range<usize>, path: Spanned<OneOrMore>, tests: Tests) -> Result<Claim, Problem> {
    let path_at = path.span();
    let path: Vec<String> = match path.into_inner() {
        OneOrMore::One(path) => path.split('.').map(str::to_owned).collect(),
        OneOrMore::More(path) => path,
    };
    if path.is_empty() || path.iter().any(String::is_empty) {
        let what = "`claim` names a claim, such as \"groups\" or \"realm_access.roles\"; one with a dot in its name is \
                    a list: [\"https://example.com/roles\"]";
        return Err(Problem::at(path_at, what));
    }
    let test = match tests {
        (Some(wanted), None, None) => ClaimTest::Equals(wanted.into()),
        (None, Some(wanted), None) => ClaimTest::Contains(wanted.into()),
        (None, None, Some(wanted)) if !wanted.is_empty() => {
            ClaimTest::OneOf(wanted.into_iter().map(Value::from).collect())
        }
        (_, _, _) => {
            let what = "a rule says one thing of its claim: write `equals`, `contains` or `one_of`";
            return Err(Problem::at(at, what));
        }
    };
    Ok(Claim { path, test })
}
