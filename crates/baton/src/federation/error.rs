//! Why a call to another agent came to nothing.

use baton_wire::client::{Failure, RemoteError};
use baton_wire::fault::Kind;

/// Named by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL, the token or a file is wrong; nothing was sent.
    #[error("{0}")]
    Unusable(String),
    /// Nobody answered, or the connection broke.
    #[error("cannot reach {url}: {why}")]
    Unreachable { url: String, why: String },
    /// The other side understood and said no.
    #[error("{url} refused: {error}")]
    Refused { url: String, error: Box<RemoteError> },
    /// The other side answered with something that is not A2A 1.0.
    #[error("{url}: {why}")]
    Unreadable { url: String, why: String },
}

impl Error {
    /// What an answer's reader found, with where the answer came from.
    pub fn from_failure(failure: Failure, url: &str) -> Self {
        match failure {
            Failure::Remote(error) => Self::Refused { url: url.to_owned(), error },
            Failure::Unreadable(why) => {
                Self::Unreadable { url: url.to_owned(), why: format!("the answer cannot be read: {why}") }
            }
        }
    }

    pub(super) fn unreadable(url: &str, why: impl Into<String>) -> Self {
        Self::Unreadable { url: url.to_owned(), why: why.into() }
    }

    /// The other side's own words, where it said any.
    pub fn remote(&self) -> Option<&RemoteError> {
        match self {
            Self::Refused { error, .. } => Some(error),
            Self::Unusable(_) | Self::Unreachable { .. } | Self::Unreadable { .. } => None,
        }
    }

    /// A node's own word that nothing is there, not a bare 404: that may be a proxy's while the node is away.
    pub fn says_nothing_is_there(&self) -> bool {
        self.remote().is_some_and(|remote| remote.kind == Some(Kind::UnknownPath))
    }

    /// Trying again may help: the network failed, or the other side says that it is busy.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { error, .. } => matches!(error.http_status, 429 | 502..=504),
            Self::Unusable(_) | Self::Unreadable { .. } => false,
        }
    }
}
