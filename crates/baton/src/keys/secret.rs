//! Private keys: made, read from PKCS#8, and used. They print as `[redacted]`.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;

use super::{Algorithm, PublicKey};
use crate::clock::random_bytes;

/// A private key that signs with the one algorithm of its kind.
pub struct SecretKey {
    pair: Pair,
    /// PKCS#8.
    der: Vec<u8>,
    public: PublicKey,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// What stands before an Ed25519 seed in the PKCS#8 (RFC 8410) that every tool reads.
const ED25519_PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Characters in a line of PEM (RFC 7468).
const PEM_LINE: usize = 64;

impl SecretKey {
    /// A new key; `None` for an algorithm that is verified only.
    pub fn generate(algorithm: Algorithm) -> Option<Self> {
        let der = match algorithm {
            Algorithm::EdDsa => [&ED25519_PKCS8[..], &random_bytes()].concat(),
            Algorithm::Es256 => {
                let random = SystemRandom::new();
                let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).ok()?;
                made.as_ref().to_vec()
            }
            Algorithm::Rs256 => return None,
        };
        Self::from_pkcs8(der)
    }

    /// Reads a PEM file's first private key, where it is PKCS#8 of P-256 or Ed25519.
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).ok()?;
        Self::from_pkcs8(der.secret_pkcs8_der().to_vec())
    }

    fn from_pkcs8(der: Vec<u8>) -> Option<Self> {
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            let public = PublicKey::Ed25519(pair.public_key().as_ref().try_into().ok()?);
            return Some(Self { pair: Pair::Ed25519(pair), der, public });
        }
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).ok()?;
        let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(32)?;
        let public = PublicKey::P256 { x: x.try_into().ok()?, y: y.try_into().ok()? };
        Some(Self { pair: Pair::P256(pair), der, public })
    }

    /// The secret itself, as it is kept.
    pub fn to_pem(&self) -> String {
        let text = BASE64_STANDARD.encode(&self.der);
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        for line in text.as_bytes().chunks(PEM_LINE) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        pem
    }

    pub const fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    pub fn public(&self) -> PublicKey {
        self.public.clone()
    }

    /// The signature over a message, as JWS spells it: 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::P256(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message);
                signed.expect("the kernel gives random bytes, and nothing else can fail").as_ref().to_vec()
            }
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
