//! Why something asked of the database did not come about, and what that means for trying again.

use tokio_postgres::error::SqlState;

use crate::stored::Unreadable;
use crate::{Barred, Error};

/// What went wrong on the way to an answer.
#[derive(Debug)]
pub enum Failure {
    /// An answer after all: the domain says no, or something is unreadable.
    Answer(Error),
    Sql(tokio_postgres::Error),
    /// There is no connection.
    Lost(String),
    /// It may have come about, or not.
    Unknown(String),
}

/// What may come of another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The same.
    No,
    /// Something else: two transactions met.
    Yes,
    /// Something else, over another connection.
    Elsewhere,
}

impl Failure {
    pub fn again(&self) -> Again {
        match self {
            Self::Answer(_) | Self::Unknown(_) => Again::No,
            Self::Lost(_) => Again::Elsewhere,
            Self::Sql(why) => again(why),
        }
    }

    /// The same, for one more who waited for it.
    pub fn copy(&self) -> Self {
        match self {
            Self::Answer(Error::Corrupt(why)) => Self::Answer(Error::Corrupt(why.clone())),
            Self::Answer(why) => Self::Lost(why.to_string()),
            Self::Sql(why) if is_unreadable(why) => Self::Answer(Error::Corrupt(said(why))),
            Self::Sql(why) => Self::Lost(said(why)),
            Self::Lost(why) => Self::Lost(why.clone()),
            Self::Unknown(why) => Self::Unknown(why.clone()),
        }
    }

    /// Another row has this key already.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Sql(why) if why.code() == Some(&SqlState::UNIQUE_VIOLATION))
    }
}

fn again(why: &tokio_postgres::Error) -> Again {
    let Some(code) = why.code() else {
        return if is_of_a_value(why) { Again::No } else { Again::Elsewhere };
    };
    match code {
        &SqlState::T_R_SERIALIZATION_FAILURE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::LOCK_NOT_AVAILABLE => Again::Yes,
        &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN
        | &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::TOO_MANY_CONNECTIONS
        | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | &SqlState::READ_ONLY_SQL_TRANSACTION => Again::Elsewhere,
        code if code.code().starts_with("08") => Again::Elsewhere,
        _ => Again::No,
    }
}

/// A value could not be written or read: no fault of the connection.
fn is_of_a_value(why: &tokio_postgres::Error) -> bool {
    let text = why.to_string();
    ["error serializing", "error deserializing", "invalid column", "query returned", "expected "]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// What the server, or the way to it, says. Never a parameter's value, of which some are secret.
pub fn said(why: &tokio_postgres::Error) -> String {
    if let Some(db) = why.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    let mut text = why.to_string();
    let mut source = std::error::Error::source(why);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl From<tokio_postgres::Error> for Failure {
    fn from(why: tokio_postgres::Error) -> Self {
        Self::Sql(why)
    }
}

impl From<Error> for Failure {
    fn from(why: Error) -> Self {
        Self::Answer(why)
    }
}

impl From<Unreadable> for Failure {
    fn from(why: Unreadable) -> Self {
        Self::Answer(Error::Corrupt(why.to_string()))
    }
}

impl From<Barred> for Failure {
    fn from(why: Barred) -> Self {
        Self::Answer(why.into())
    }
}

impl From<baton_core::task::Refusal> for Failure {
    fn from(why: baton_core::task::Refusal) -> Self {
        Self::Answer(why.into())
    }
}

impl From<baton_core::friend::Refusal> for Failure {
    fn from(why: baton_core::friend::Refusal) -> Self {
        Self::Answer(why.into())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answer(why) => why,
            Failure::Lost(why) => Self::Unavailable(why),
            Failure::Unknown(why) => {
                Self::Unavailable(format!("what became of a commit is not known: {why}"))
            }
            Failure::Sql(why) if is_unreadable(&why) => Self::Corrupt(said(&why)),
            Failure::Sql(why) => Self::Unavailable(said(&why)),
        }
    }
}

fn is_unreadable(why: &tokio_postgres::Error) -> bool {
    match why.code() {
        Some(code) => matches!(code, &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED),
        None => why.to_string().starts_with("error deserializing column"),
    }
}
