//! What a verb can answer instead of a result, named by what the caller can do about it.

use std::path::PathBuf;

use baton_core::task::Refusal;

use crate::Barred;

/// Why a verb did not do what was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such record, or not the caller's: the two cannot be told apart.
    #[error("not found")]
    NotFound,
    /// The state machine says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The idempotency key stands for another message.
    #[error("the idempotency key was used for another message")]
    KeyReused,
    /// The grant does not take this, or does not any more since the request arrived.
    #[error(transparent)]
    Barred(#[from] Barred),
    /// What is asked of a friend request does not go with how it stands.
    #[error(transparent)]
    Friend(#[from] baton_core::friend::Refusal),
    /// The database could not commit (disk full, shutting down); the same operation may be tried again.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// A row cannot be read back; an operator must look.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
}

impl Error {
    /// What is asked of a store that was closed.
    pub(crate) fn closed() -> Self {
        Self::Unavailable("the node is shutting down".to_owned())
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "another node uses the data folder {path} ({holder}): stop it first, or name another with --data-dir"
    )]
    Locked { path: PathBuf, holder: String },
    #[error(
        "the store in {path} has schema {found}, this program knows {known}: run the newer program that wrote it"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("cannot read the URL of the store: {message}")]
    Address { message: String },
    #[error("the database {path} holds a store already: name one that is empty")]
    Occupied { path: PathBuf },
    #[error("cannot use the data folder {path}: {source}")]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("cannot open the database {path}: {message}")]
    Database { path: PathBuf, message: String },
}
