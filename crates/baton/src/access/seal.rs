//! Secrets that must be read back, such as the credentials of a webhook: sealed at rest.
//!
//! A sealed text is one byte of version, a random nonce of 12 bytes, and the ciphertext with its tag (ChaCha20-Poly1305).
//! It opens only with the same key and only where it belongs: what it belongs to is authenticated with it, so that a text
//! moved to another row is no secret there. The key is 32 random bytes in `<data-dir>/secret.key` (0600), or what
//! `BATON_SECRET_KEY` says.

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::clock::random_bytes;
use crate::config::settings::SecretKey;

/// The file in the data folder.
const FILE: &str = "secret.key";

const VERSION: u8 = 1;

/// Seals and opens. Cheap to clone; prints as `[redacted]`.
#[derive(Clone)]
pub struct Seal(Arc<LessSafeKey>);

/// The key or the place is another one, or the text was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed secret does not open: was secret.key or BATON_SECRET_KEY changed?")]
pub struct Broken;

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Seal {
    /// With the key that was given, else the one of the data folder, which is made where there is none.
    pub fn open(folder: &Path, given: Option<&SecretKey>) -> io::Result<Self> {
        match given {
            Some(key) => Ok(Self::new(key.bytes())),
            None => Ok(Self::new(&secret_file(&folder.join(FILE), random_bytes)?)),
        }
    }

    pub fn new(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has 32 bytes");
        Self(Arc::new(LessSafeKey::new(key)))
    }

    pub fn seal(&self, plain: &[u8], place: &[u8]) -> Vec<u8> {
        let random = random_bytes();
        let nonce: [u8; NONCE_LEN] = random[..NONCE_LEN].try_into().expect("32 is more than 12");
        let mut sealed = plain.to_vec();
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut sealed)
            .expect("a secret is far shorter than 256 GiB");
        [&[VERSION], &nonce[..], &sealed].concat()
    }

    pub fn unseal(&self, sealed: &[u8], place: &[u8]) -> Result<Vec<u8>, Broken> {
        let Some((&VERSION, rest)) = sealed.split_first() else { return Err(Broken) };
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Broken)?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.0.open_in_place(nonce, Aad::from(place), &mut text).map_err(|_| Broken)?;
        Ok(plain.to_vec())
    }
}

/// The bytes of a file that only the node's user can read; made by `make` where it is not there.
pub fn secret_file<const N: usize>(path: &Path, make: impl Fn() -> [u8; N]) -> io::Result<[u8; N]> {
    match std::fs::read(path) {
        Ok(bytes) => bytes.try_into().map_err(|_| {
            let what = format!(
                "{} has not {N} bytes; restore it from a backup (what it protects is lost without it)",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        }),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            let bytes = make();
            write_whole(path, &bytes)?;
            Ok(bytes)
        }
        Err(why) => Err(io::Error::new(why.kind(), format!("{}: {why}", path.display()))),
    }
}

/// On disk under its name as a whole, or not at all: a crash leaves no half of a key behind.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let _ = std::fs::remove_file(&draft);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    std::fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn opens_only_with_its_key_and_at_its_place() {
        let seal = Seal::new(&[7; 32]);
        let sealed = seal.seal(b"the secret", b"here");
        assert_eq!(seal.unseal(&sealed, b"here").unwrap(), b"the secret");
        assert_eq!(seal.unseal(&sealed, b"there"), Err(Broken));
        assert_eq!(Seal::new(&[8; 32]).unseal(&sealed, b"here"), Err(Broken));
        assert_ne!(seal.seal(b"the secret", b"here"), sealed, "a nonce is used once");
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal.unseal(&changed, b"here"), Err(Broken), "{at}");
            assert_eq!(seal.unseal(&sealed[..at], b"here"), Err(Broken), "{at}");
        }
        assert_eq!(format!("{seal:?}"), "[redacted]");
    }

    #[test]
    fn the_file_is_made_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let sealed = Seal::open(folder.path(), None).unwrap().seal(b"x", b"");
        let path = folder.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Seal::open(folder.path(), None).unwrap().unseal(&sealed, b"").unwrap(), b"x");
        std::fs::write(&path, b"short").unwrap();
        let why = Seal::open(folder.path(), None).unwrap_err().to_string();
        assert!(why.contains("secret.key") && why.contains("backup"), "{why}");
    }
}
