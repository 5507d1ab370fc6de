//! Public keys, and the signature algorithms that are taken.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// A signature algorithm of JWS (RFC 7518, RFC 8037). There is none without a key and none with a shared secret, so that
/// a header can ask for neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256; verified only.
    Rs256,
}

impl Algorithm {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Es256, Self::EdDsa, Self::Rs256].into_iter().find(|algorithm| algorithm.as_str() == text)
    }
}

/// The half of a key that everybody may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// The point: each coordinate has 32 bytes.
    P256 {
        x: [u8; 32],
        y: [u8; 32],
    },
    Ed25519([u8; 32]),
    /// Modulus and exponent, big-endian, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl PublicKey {
    /// The algorithm that a key of this kind is for: there is no choice that an attacker could make.
    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::P256 { .. } => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
            Self::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Whether `signature` is this key's over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::P256 { x, y } => {
                let point = [&[4][..], x, y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            Self::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        verified.is_ok()
    }

    /// From the DER of a SubjectPublicKeyInfo (RFC 5480, RFC 8410), where the key is of P-256 or Ed25519.
    pub fn from_spki(der: &[u8]) -> Option<Self> {
        if let Some(key) = der.strip_prefix(&SPKI_ED25519) {
            return key.try_into().ok().map(Self::Ed25519);
        }
        let (x, y) = der.strip_prefix(&SPKI_P256)?.split_at_checked(32)?;
        Some(Self::P256 { x: x.try_into().ok()?, y: y.try_into().ok()? })
    }
}

/// What stands before the 32 bytes of an Ed25519 key.
const SPKI_ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What stands before the coordinates of an uncompressed point of P-256.
const SPKI_P256: [u8; 27] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];
