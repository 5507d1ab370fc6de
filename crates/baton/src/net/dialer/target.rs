//! A URL that may be dialled as far as its text says; and why another may not.

use std::net::IpAddr;

use baton_core::limits::URL_BYTES;
use http::Uri;
use url::{Position, Url};

/// Where to connect, and what to ask for there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    uri: Uri,
    host: Host,
}

/// What a URL names between its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// To be resolved.
    Name(String),
    Address(IpAddr),
}

/// Why nothing is sent to a URL. Says nothing of what a name resolves to: that is not the caller's to know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("has more than {URL_BYTES} bytes")]
    TooLong,
    #[error("is no URL: {0}")]
    NoUrl(String),
    #[error("must begin with http:// or https://")]
    Scheme,
    #[error("must not hold a user name or a password; use the authentication members")]
    UserInfo,
    #[error(
        "leads to {0}, where this node sends nothing; its operator can open a network or a name with [net] allow"
    )]
    Address(&'static str),
    #[error("leads to a place where this node sends nothing; its operator can open it with [net] allow")]
    Name,
}

impl Target {
    /// Reads a URL as browsers do. Nothing is resolved.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        if text.len() > URL_BYTES {
            return Err(Refused::TooLong);
        }
        // The rules of the web drop these; whoever checks the text elsewhere may not.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(Refused::NoUrl("it holds white space or a control character".to_owned()));
        }
        let url = Url::parse(text).map_err(|why| Refused::NoUrl(why.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::UserInfo);
        }
        let host = match url.host() {
            Some(url::Host::Ipv4(address)) => Host::Address(address.into()),
            Some(url::Host::Ipv6(address)) => Host::Address(address.into()),
            Some(url::Host::Domain(name)) if !name.trim_end_matches('.').is_empty() => {
                Host::Name(name.to_owned())
            }
            Some(url::Host::Domain(_)) | None => return Err(Refused::NoUrl("it names no host".to_owned())),
        };
        let uri = url[..Position::AfterQuery].parse();
        let uri = uri.map_err(|why: http::uri::InvalidUri| Refused::NoUrl(why.to_string()))?;
        Ok(Self { url, uri, host })
    }

    pub const fn host(&self) -> &Host {
        &self.host
    }

    pub(super) const fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Scheme, host and port: who is connected to, as far as the URL says.
    pub fn origin(&self) -> String {
        self.url[..Position::BeforePath].to_owned()
    }
}

impl Host {
    /// The host of a URI, brackets or not.
    pub fn of(uri: &Uri) -> Option<Self> {
        let text = uri.host().filter(|host| !host.is_empty())?;
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        Some(bare.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Address))
    }
}
