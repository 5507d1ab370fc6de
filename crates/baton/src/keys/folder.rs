//! Keys in the data folder: `keys/PURPOSE/KID.pem`, PKCS#8, 0600.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use baton_core::time::Timestamp;

use super::{Algorithm, Jwk, Jwks, Key, Purpose, SecretKey, is_kid};

/// Keys of one purpose: a card carries a signature or two of each.
const MOST: usize = 8;

/// Why keys cannot be read or changed. Every text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read or write {path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} can be read by others than its owner; take that away with: chmod 600 {path}", path = path.display())]
    Open { path: PathBuf },
    #[error("{path} holds no private key of P-256 or Ed25519 in PKCS#8; move it away", path = path.display())]
    Unreadable { path: PathBuf },
    #[error("a key is named by 1 to 64 letters, digits, '.', '_' and '-'")]
    Kid,
    #[error("there is a key `{0}` already; take another name")]
    Taken(String),
    #[error("there is no key `{0}`")]
    Unknown(String),
    #[error("there are {MOST} keys already; retire one first")]
    TooMany,
    #[error("keys are made for ES256 and EdDSA only")]
    Algorithm,
}

/// All keys of a node.
#[derive(Debug)]
pub struct Keys {
    folder: PathBuf,
    known: RwLock<Arc<Known>>,
    /// One change at a time.
    changing: Mutex<()>,
}

/// By purpose, in the order of [`Purpose::ALL`]; older ones first.
#[derive(Debug, Default)]
struct Known {
    keys: [Vec<Key>; 2],
    changed_at: Option<Timestamp>,
}

impl Keys {
    /// Reads the keys below a data folder.
    pub fn open(data_dir: &Path) -> Result<Self, Error> {
        let keys =
            Self { folder: data_dir.join("keys"), known: RwLock::default(), changing: Mutex::default() };
        let mut known = Known::default();
        for purpose in Purpose::ALL {
            known.keys[purpose as usize] = keys.read(purpose)?;
        }
        keys.publish(known);
        Ok(keys)
    }

    /// The keys of a purpose, older ones first.
    pub fn list(&self, purpose: Purpose) -> Vec<Key> {
        self.known().keys[purpose as usize].clone()
    }

    /// The public halves of all keys.
    pub fn jwks(&self) -> Jwks {
        Jwks { keys: self.known().keys.iter().flatten().map(Key::jwk).collect() }
    }

    /// When a key came or went in this run.
    pub fn changed_at(&self) -> Option<Timestamp> {
        self.known().changed_at
    }

    /// Makes a key; its fingerprint is its name where it is given none.
    pub fn create(
        &self,
        purpose: Purpose,
        algorithm: Algorithm,
        kid: Option<&str>,
        now: Timestamp,
    ) -> Result<Key, Error> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let secret = SecretKey::generate(algorithm).ok_or(Error::Algorithm)?;
        let kid = kid.map_or_else(|| name_of(&secret), str::to_owned);
        if !is_kid(&kid) {
            return Err(Error::Kid);
        }
        let known = self.known();
        if known.keys.iter().flatten().any(|key| *key.kid == *kid) {
            return Err(Error::Taken(kid));
        }
        if known.keys[purpose as usize].len() >= MOST {
            return Err(Error::TooMany);
        }
        self.write(purpose, &kid, &secret)?;
        let key = Key { kid: kid.into(), secret: Arc::new(secret), created_at: now };
        let mut keys = known.keys.clone();
        keys[purpose as usize].push(key.clone());
        self.publish(Known { keys, changed_at: Some(now) });
        Ok(key)
    }

    /// Makes a key of this purpose and algorithm, where there is none.
    pub fn ensure(&self, purpose: Purpose, algorithm: Algorithm, now: Timestamp) -> Result<(), Error> {
        if self.list(purpose).iter().any(|key| key.secret.algorithm() == algorithm) {
            return Ok(());
        }
        self.create(purpose, algorithm, None, now).map(drop)
    }

    /// Ends a key: it signs no more, and its public half is no longer published.
    pub fn retire(&self, purpose: Purpose, kid: &str, now: Timestamp) -> Result<(), Error> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys = self.known().keys.clone();
        let of_purpose = &mut keys[purpose as usize];
        let at = of_purpose.iter().position(|key| *key.kid == *kid);
        of_purpose.remove(at.ok_or_else(|| Error::Unknown(kid.to_owned()))?);
        let path = self.path(purpose, kid);
        fs::remove_file(&path).map_err(|source| Error::Io { path, source })?;
        self.publish(Known { keys, changed_at: Some(now) });
        Ok(())
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, known: Known) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    fn path(&self, purpose: Purpose, kid: &str) -> PathBuf {
        self.folder.join(purpose.as_str()).join(format!("{kid}.pem"))
    }

    fn read(&self, purpose: Purpose) -> Result<Vec<Key>, Error> {
        let folder = self.folder.join(purpose.as_str());
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::Io { path: folder, source }),
        };
        let mut keys = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| Error::Io { path: folder.clone(), source })?.path();
            let kid =
                path.file_name().and_then(|name| name.to_str()?.strip_suffix(".pem")).map(str::to_owned);
            // What a crash left half written has another ending.
            if let Some(kid) = kid.filter(|kid| is_kid(kid)) {
                keys.push(read_key(&path, &kid)?);
            }
        }
        keys.sort_by(|a: &Key, b: &Key| (a.created_at, &a.kid).cmp(&(b.created_at, &b.kid)));
        Ok(keys)
    }

    /// On disk, and for nobody else, before it has its name.
    fn write(&self, purpose: Purpose, kid: &str, secret: &SecretKey) -> Result<(), Error> {
        let path = self.path(purpose, kid);
        let folder = self.folder.join(purpose.as_str());
        let half = folder.join(format!("{kid}.new"));
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
            file.write_all(secret.to_pem().as_bytes())?;
            file.sync_all()?;
            fs::rename(&half, &path)?;
            File::open(&folder)?.sync_all()
        };
        write().map_err(|source| Error::Io { path: path.clone(), source })
    }
}

fn read_key(path: &Path, kid: &str) -> Result<Key, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let meta = fs::metadata(path).map_err(io)?;
    if meta.mode() & 0o077 != 0 {
        return Err(Error::Open { path: path.to_owned() });
    }
    let pem = fs::read(path).map_err(io)?;
    let secret = SecretKey::from_pem(&pem).ok_or_else(|| Error::Unreadable { path: path.to_owned() })?;
    let created_at = Timestamp::from_millis(meta.mtime() * 1_000 + meta.mtime_nsec() / 1_000_000);
    Ok(Key { kid: kid.into(), secret: Arc::new(secret), created_at })
}

/// Twelve characters of its fingerprint tell a node's keys apart.
fn name_of(secret: &SecretKey) -> String {
    let thumbprint = Jwk::thumbprint(&secret.public());
    format!("key-{}", &thumbprint[..12])
}
