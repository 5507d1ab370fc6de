//! How a command ends: its exit code, and what is said when it fails.

use std::io;
use std::process::ExitCode;

use crate::federation;

use super::output;

/// The stable exit codes (DESIGN §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    /// The other side understood and said no.
    Refused,
    Unreachable,
    /// The task ended failed, rejected or canceled.
    TaskEnded,
    /// Ctrl-C, as shells spell it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::Unreachable => 4,
            Exit::TaskEnded => 5,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// Empty where there is nobody to tell: the reader of standard output is gone.
    pub message: String,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.message = format!("{}\n{hint}", self.message);
        self
    }

    pub(super) fn report(&self) -> Exit {
        if !self.message.is_empty() {
            output::note(&format!("error: {}", self.message));
        }
        self.exit
    }
}

impl From<federation::Error> for Failure {
    fn from(error: federation::Error) -> Self {
        let exit = match &error {
            federation::Error::Unusable(_) => Exit::Usage,
            federation::Error::Unreachable { .. } => Exit::Unreachable,
            federation::Error::Refused { .. } => Exit::Refused,
            federation::Error::Unreadable { .. } => Exit::Failed,
        };
        let mut message = error.to_string();
        for violation in error.remote().into_iter().flat_map(|remote| &remote.violations) {
            if !message.contains(&violation.description) {
                message = format!("{message}\n  {}: {}", violation.field, violation.description);
            }
        }
        Self::new(exit, message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Done, "");
        }
        Self::failed(error.to_string())
    }
}
