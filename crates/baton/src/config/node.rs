//! `[node]`: what cards advertise, where data is kept, where to listen, and how open the node is.

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::listen::{self, Tls};
use super::settings::{DatabaseUrl, Listen, SecretKey, StoreAt};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    pub public_url: Option<Spanned<String>>,
    pub data_dir: Option<PathBuf>,
    store: Option<Spanned<String>>,
    listen: Option<Spanned<Vec<Spanned<String>>>>,
    pub default_agent: Option<Spanned<String>>,
    pub dev: Option<bool>,
    pub insecure: Option<bool>,
    tls: Option<RawTls>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTls {
    cert: PathBuf,
    key: PathBuf,
}

impl Node {
    pub fn tls(&self) -> Option<Tls> {
        let tls = self.tls.as_ref()?;
        Some(Tls { certificate: tls.cert.clone(), key: tls.key.clone() })
    }

    /// The listeners of the file; none where it names none.
    pub(super) fn listen(&self) -> Result<Vec<Listen>, Problem> {
        let Some(urls) = &self.listen else { return Ok(Vec::new()) };
        if urls.get_ref().is_empty() {
            let what = "`listen` is empty; write for example listen = [\"http://127.0.0.1:8420\"]";
            return Err(Problem::at(urls.span(), what));
        }
        let tls = self.tls();
        let read = |url: &Spanned<String>| {
            listen::parse(url.get_ref(), tls.as_ref()).map_err(|what| Problem::at(url.span(), what))
        };
        urls.get_ref().iter().map(read).collect()
    }

    /// Where the file wants tasks to be kept, where it says so.
    pub(super) fn store(&self) -> Result<Option<StoreAt>, Problem> {
        let read = |given: &Spanned<String>| {
            store(given.get_ref()).map_err(|what| Problem::at(given.span(), format!("`store`: {what}")))
        };
        self.store.as_ref().map(read).transpose()
    }
}

/// Reads where tasks are kept. A URL is not repeated in what is said of it: it may hold a password.
pub fn store(text: &str) -> Result<StoreAt, String> {
    match text {
        "sqlite" => Ok(StoreAt::Sqlite),
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(StoreAt::Postgres(DatabaseUrl::new(url.to_owned())))
        }
        _ => Err("is \"sqlite\" or a URL such as \"postgres://baton@db.internal/baton\"".to_owned()),
    }
}

/// Reads a key of 256 bits. What is wrong is said without repeating it.
pub fn secret_key(text: &str) -> Result<SecretKey, String> {
    let bytes = BASE64_STANDARD.decode(text.trim()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    bytes.map(SecretKey::new).ok_or_else(|| {
        "is no base64 text of 32 bytes; make one with `head -c 32 /dev/urandom | base64`".to_owned()
    })
}

/// Checks a public URL; the answer has no trailing slash.
pub fn public_url(text: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "`{text}` is no URL that a card can advertise; write for example \"https://agents.example.com\""
        )
    };
    let uri: http::Uri = text.parse().map_err(|_| wrong())?;
    let host = uri.host().is_some_and(|host| !host.is_empty());
    let plain = uri.query().is_none() && !text.contains(['#', '@']);
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    if host && plain && web { Ok(text.trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}
