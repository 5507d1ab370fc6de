//! JSON Web Keys (RFC 7517, RFC 8037): public keys as they are published and as others publish theirs.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::{Algorithm, PublicKey, SecretKey};

/// A public key and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    pub kid: Option<String>,
    /// What it may be used with; the algorithm of its kind where nothing is said.
    pub algorithm: Option<Algorithm>,
    pub key: PublicKey,
}

/// A set of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jwks {
    pub keys: Vec<Jwk>,
}

/// Why a text holds no key that can be used. It says what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("it is neither a JWKS or JWK nor a PEM file with a key of P-256 or Ed25519")]
    Unknown,
    #[error(
        "it holds a shared secret, and whoever can verify with one can sign with it; ask for a public key"
    )]
    Shared,
    #[error("there is no key in it that can verify ES256, EdDSA or RS256")]
    Nothing,
}

/// A key as others write it.
#[derive(Deserialize)]
struct Raw {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

#[derive(Deserialize)]
struct RawSet {
    keys: Vec<serde_json::Value>,
}

impl Jwks {
    /// Reads a JWKS, one JWK or a PEM file. Keys that cannot be used here are left out, as the RFC wants it; one key
    /// alone must be usable, and answers to any name where it has none.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        if text.trim_start().starts_with("-----") {
            return Jwk::from_pem(text).map(|key| Self { keys: vec![key] });
        }
        if let Ok(RawSet { keys }) = serde_json::from_str(text) {
            let keys: Vec<Jwk> = keys
                .into_iter()
                .filter_map(|key| serde_json::from_value(key).ok())
                .filter_map(|raw: Raw| raw.key().ok())
                .collect();
            return if keys.is_empty() { Err(Unusable::Nothing) } else { Ok(Self { keys }) };
        }
        let raw: Raw = serde_json::from_str(text).map_err(|_| Unusable::Unknown)?;
        Ok(Self { keys: vec![raw.key()?] })
    }
}

impl Jwk {
    fn from_pem(text: &str) -> Result<Self, Unusable> {
        let spki = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).ok();
        let public = spki.and_then(|der| PublicKey::from_spki(der.as_ref()));
        let key = public.or_else(|| Some(SecretKey::from_pem(text.as_bytes())?.public()));
        Ok(Self { kid: None, algorithm: None, key: key.ok_or(Unusable::Unknown)? })
    }

    /// The key's fingerprint (RFC 7638), a name that nobody has to make up.
    pub fn thumbprint(key: &PublicKey) -> String {
        let text = match key {
            PublicKey::P256 { x, y } => {
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, encode(x), encode(y))
            }
            PublicKey::Ed25519(x) => format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(x)),
            PublicKey::Rsa { n, e } => format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n)),
        };
        encode(&Sha256::digest(text))
    }

    /// Whether a signature may be checked with this key by this algorithm.
    pub fn allows(&self, algorithm: Algorithm) -> bool {
        self.key.algorithm() == algorithm && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

impl Raw {
    fn key(self) -> Result<Jwk, Unusable> {
        if self.kty == "oct" {
            return Err(Unusable::Shared);
        }
        let algorithm = match self.alg.as_deref() {
            None => None,
            // A key for something else is no key for this.
            Some(name) => Some(Algorithm::parse(name).ok_or(Unusable::Nothing)?),
        };
        let for_signatures = self.usage.as_deref().is_none_or(|usage| usage == "sig");
        let key = self.public().filter(|_| for_signatures).ok_or(Unusable::Nothing)?;
        Ok(Jwk { kid: self.kid, algorithm, key })
    }

    fn public(&self) -> Option<PublicKey> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => {
                Some(PublicKey::P256 { x: fixed(self.x.as_ref())?, y: fixed(self.y.as_ref())? })
            }
            ("OKP", Some("Ed25519")) => Some(PublicKey::Ed25519(fixed(self.x.as_ref())?)),
            ("RSA", _) => Some(PublicKey::Rsa { n: decode(self.n.as_ref())?, e: decode(self.e.as_ref())? }),
            _ => None,
        }
    }
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: Option<&String>) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text?).ok()
}

fn fixed<const N: usize>(text: Option<&String>) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

impl Serialize for Jwk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.key {
            PublicKey::P256 { x, y } => {
                map.serialize_entry("kty", "EC")?;
                map.serialize_entry("crv", "P-256")?;
                map.serialize_entry("x", &encode(x))?;
                map.serialize_entry("y", &encode(y))?;
            }
            PublicKey::Ed25519(x) => {
                map.serialize_entry("kty", "OKP")?;
                map.serialize_entry("crv", "Ed25519")?;
                map.serialize_entry("x", &encode(x))?;
            }
            PublicKey::Rsa { n, e } => {
                map.serialize_entry("kty", "RSA")?;
                map.serialize_entry("n", &encode(n))?;
                map.serialize_entry("e", &encode(e))?;
            }
        }
        if let Some(kid) = &self.kid {
            map.serialize_entry("kid", kid)?;
        }
        map.serialize_entry("alg", self.algorithm.unwrap_or(self.key.algorithm()).as_str())?;
        map.serialize_entry("use", "sig")?;
        map.end()
    }
}
