//! What is wrong with a configuration, where, and what to do about it.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// Why a node cannot be configured. Every text says what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {file}: {source}; name another file with --config, or write one with `baton init`", file = file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{file}:{line}: {what}", file = file.display())]
    Line { file: PathBuf, line: usize, what: String },
    #[error("{file}: {what}", file = file.display())]
    File { file: PathBuf, what: String },
    /// In a flag, or in the environment variable that stands for it.
    #[error("{0}")]
    Flag(String),
}

/// Something wrong in a file, before the place is known as a line.
#[derive(Debug)]
pub(super) struct Problem {
    pub at: Option<Range<usize>>,
    pub what: String,
}

impl Problem {
    pub fn new(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    pub fn at(span: Range<usize>, what: impl Into<String>) -> Self {
        Self { at: Some(span), what: what.into() }
    }

    /// The same at `span`, where no place is known yet.
    pub fn or_at(self, span: Range<usize>) -> Self {
        Self { at: self.at.or(Some(span)), what: self.what }
    }
}
