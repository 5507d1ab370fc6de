//! Where another agent is: a place to connect to, and a path there.
//!
//! `http://HOST[:PORT][/PATH]`, `https://…`, and `unix:///SOCKET[:/PATH]` for a unix socket.

use std::fmt;
use std::path::PathBuf;

use http::Uri;

use super::Error;

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub place: Place,
    /// Empty, or with a leading slash and without a trailing one.
    pub path: String,
    /// With its question mark; empty where there is none.
    query: String,
}

/// What is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Tcp { tls: bool, host: String, port: u16 },
    Unix(PathBuf),
}

impl Place {
    /// The same server, as far as a token is concerned. The names of loopback are one: the port decides there.
    pub fn is_origin_of(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Tcp { tls, host, port },
                Self::Tcp { tls: other_tls, host: other_host, port: other_port },
            ) => {
                let same_host = host == other_host || (is_loopback(host) && is_loopback(other_host));
                tls == other_tls && port == other_port && same_host
            }
            (Self::Unix(path), Self::Unix(other)) => path == other,
            (Self::Tcp { .. } | Self::Unix(_), _) => false,
        }
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::Unusable(format!("`{url}` {why}; write for example http://127.0.0.1:8420/a2a/echo"))
        };
        if let Some(rest) = url.strip_prefix("unix://") {
            let (socket, path) =
                rest.split_once(":/").map_or((rest, ""), |(socket, _)| (socket, &rest[socket.len() + 1..]));
            if !socket.starts_with('/') && !socket.starts_with("./") {
                return Err(wrong("names no socket by an absolute path"));
            }
            return Ok(Self::new(Place::Unix(socket.into()), path));
        }
        let uri: Uri = url.parse().map_err(|_| wrong("is no URL"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(wrong("is no http://, https:// or unix:// URL")),
        };
        let Some(authority) = uri.authority() else { return Err(wrong("names no host")) };
        if authority.as_str().contains('@') {
            // Without repeating the URL: a secret may stand in it.
            let why = "the URL holds user information; give a token with --token or BATON_TOKEN instead";
            return Err(Error::Unusable(why.to_owned()));
        }
        let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        Ok(Self::new(
            Place::Tcp { tls, host, port },
            uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str),
        ))
    }

    /// A place by itself.
    pub const fn at(place: Place) -> Self {
        Self { place, path: String::new(), query: String::new() }
    }

    fn new(place: Place, path_and_query: &str) -> Self {
        let at = path_and_query.find('?').unwrap_or(path_and_query.len());
        let (path, query) = path_and_query.split_at(at);
        Self { place, path: path.trim_end_matches('/').to_owned(), query: query.to_owned() }
    }

    /// A path at the same place.
    #[must_use]
    pub fn at_origin(&self, path: &str) -> Self {
        Self::new(self.place.clone(), path)
    }

    /// What lies below this address; its own query is left behind.
    #[must_use]
    pub fn below(&self, path_and_query: &str) -> Self {
        Self::new(self.place.clone(), &format!("{}{path_and_query}", self.path))
    }

    /// What HTTP is told; a unix socket has no name, so it is `localhost` there.
    pub(super) fn uri(&self) -> Result<Uri, Error> {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        let text = match &self.place {
            Place::Tcp { tls, host, port } => format!("{}{path}{}", origin(*tls, host, *port), self.query),
            Place::Unix(_) => format!("http://localhost{path}{}", self.query),
        };
        text.parse().map_err(|_| Error::Unusable(format!("`{self}` is no URL that HTTP can ask for")))
    }
}

/// Without the port that the scheme has anyway.
fn origin(tls: bool, host: &str, port: u16) -> String {
    match (tls, port) {
        (true, 443) => format!("https://{host}"),
        (false, 80) => format!("http://{host}"),
        (true, port) => format!("https://{host}:{port}"),
        (false, port) => format!("http://{host}:{port}"),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp { tls, host, port } => f.write_str(&origin(*tls, host, *port))?,
            Place::Unix(path) => {
                let colon = if self.path.is_empty() { "" } else { ":" };
                write!(f, "unix://{}{colon}", path.display())?;
            }
        }
        write!(f, "{}{}", self.path, self.query)
    }
}
