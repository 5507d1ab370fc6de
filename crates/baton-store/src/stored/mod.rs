//! How what is kept is spelled, whatever the database: the columns of a task, the rows of its log, the words for states,
//! and what an operation makes of a new task before anything is asked of a database. Knows no SQL.

pub mod event;
pub mod named;
pub mod peer;
pub mod prepare;
pub mod push;
pub mod task;

use serde::Serialize;

/// What is stored does not mean anything; why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Unreadable {
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(why: serde_json::Error) -> Self {
        Self(why.to_string())
    }
}

/// JSON of a value that cannot fail to serialise.
pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these types serialise")
}
