//! Signatures of agent cards (§8.4): JWS over the canonical form of a card, made and checked by one code path.
//!
//! Implementations verify what they parsed, so a card in two shapes has several forms: all that is written, and what a
//! reader of 1.0 keeps of it. Each form that differs from the others gets a signature of its own, and a verifier tries
//! them all and says which one a signature covers. A `jku` is never followed: keys are the caller's to bring.

mod form;
mod signer;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::canonical::Error;
use baton_core::json::Object;
use baton_core::model::AgentCardSignature;
use serde::{Deserialize, Serialize};

pub use form::Form;
pub use signer::Signer;

use crate::keys::{Algorithm, Jwk, SecretKey};

/// What a signature's protected header says.
#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    kid: &'a str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jku: Option<&'a str>,
}

/// The same as others write it.
#[derive(Deserialize)]
struct Said {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood; none is.
    crit: Option<serde::de::IgnoredAny>,
}

/// Signs a card, given as JSON, once for each form that it has. Signatures that it carries are no part of what is signed.
pub fn sign(
    card: &str,
    kid: &str,
    key: &SecretKey,
    jku: Option<&str>,
) -> Result<Vec<AgentCardSignature>, Error> {
    Object::parse(card)?;
    let header = Header { alg: key.algorithm().as_str(), kid, typ: "JOSE", jku };
    let header = serde_json::to_string(&header)?;
    let protected = BASE64_URL_SAFE_NO_PAD.encode(header);
    let mut done: Vec<String> = Vec::new();
    let mut signatures = Vec::new();
    for form in Form::ALL {
        let payload = form.of(card)?;
        if done.contains(&payload) {
            continue;
        }
        let signature = key.sign(input(&protected, &payload).as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        signatures.push(AgentCardSignature { protected: protected.clone(), signature, header: None });
        done.push(payload);
    }
    Ok(signatures)
}

/// What is signed (RFC 7515 §5.1).
fn input(protected: &str, payload: &str) -> String {
    format!("{protected}.{}", BASE64_URL_SAFE_NO_PAD.encode(payload))
}

/// What one signature of a card is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// As the signature says, whether it is to be believed or not.
    pub kid: Option<String>,
    pub algorithm: String,
    /// What it covers, or why it proves nothing.
    pub proof: Result<Form, Doubt>,
}

/// Why a signature proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error("it cannot be read: {0}")]
    Malformed(&'static str),
    #[error("its algorithm is not taken; ES256, EdDSA and RS256 are")]
    Algorithm,
    #[error("none of the keys given is the one that it names")]
    UnknownKey,
    #[error("the key that it names is for another algorithm")]
    WrongKind,
    #[error("it is not the key's signature over this card: the card was changed, or the key is another")]
    Mismatch,
}

/// Looks at every signature of a card with keys that are trusted. A key without a name answers to every name.
pub fn verify(card: &str, keys: &[Jwk]) -> Result<Vec<Verdict>, Error> {
    #[derive(Deserialize)]
    struct Signed {
        #[serde(default)]
        signatures: Vec<AgentCardSignature>,
    }
    Object::parse(card)?;
    let Signed { signatures } = serde_json::from_str(card)?;
    let mut forms = Vec::new();
    for form in Form::BY_REACH {
        forms.push((form, form.of(card)?));
    }
    Ok(signatures.iter().map(|signature| judge(signature, &forms, keys)).collect())
}

fn judge(signature: &AgentCardSignature, forms: &[(Form, String)], keys: &[Jwk]) -> Verdict {
    let Some(said) = read_header(&signature.protected) else {
        let proof = Err(Doubt::Malformed("its protected header is no base64url of a JSON object"));
        return Verdict { kid: None, algorithm: String::new(), proof };
    };
    let proof = prove(signature, &said, forms, keys);
    Verdict { kid: said.kid, algorithm: said.alg, proof }
}

fn read_header(protected: &str) -> Option<Said> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(protected).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn prove(
    signature: &AgentCardSignature,
    said: &Said,
    forms: &[(Form, String)],
    keys: &[Jwk],
) -> Result<Form, Doubt> {
    let algorithm = Algorithm::parse(&said.alg).ok_or(Doubt::Algorithm)?;
    if said.crit.is_some() {
        return Err(Doubt::Malformed("it demands extensions of JWS that are not known here"));
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(&signature.signature);
    let bytes = bytes.map_err(|_| Doubt::Malformed("it is no base64url"))?;
    let named = |key: &&Jwk| key.kid.is_none() || key.kid == said.kid;
    let named: Vec<&Jwk> = keys.iter().filter(named).collect();
    if named.is_empty() {
        return Err(Doubt::UnknownKey);
    }
    let fitting: Vec<&Jwk> = named.into_iter().filter(|key| key.allows(algorithm)).collect();
    if fitting.is_empty() {
        return Err(Doubt::WrongKind);
    }
    let covers = |(_, payload): &&(Form, String)| {
        let input = input(&signature.protected, payload);
        fitting.iter().any(|key| key.key.verifies(input.as_bytes(), &bytes))
    };
    forms.iter().find(covers).map(|(form, _)| *form).ok_or(Doubt::Mismatch)
}
