//! What is to be run, and how it is spelled on a warden's command line.
//!
//! Both ends of that command line live here, so that they cannot drift apart. Knows nothing of tasks.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::str::FromStr as _;

/// The variables that a child takes over from the node; everything else in the node's environment, its secrets
/// above all, stays behind.
pub const INHERITED_ENV: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// One command and the conditions that it runs under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Program and arguments; the program is looked up in `PATH` unless it contains a slash.
    pub command: Vec<String>,
    /// The folder to start in; a relative program path is relative to it.
    pub dir: Option<PathBuf>,
    /// Set on top of [`INHERITED_ENV`]; later entries win.
    pub env: Vec<(String, String)>,
    /// A user name or a numeric user id; needs a node that runs as root.
    pub user: Option<String>,
    pub limits: Limits,
}

/// Resource limits of one child, each inherited by its whole tree. `None` leaves the node's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub open_files: Option<u64>,
    /// Counted by the kernel per user, so of use together with `user`.
    pub processes: Option<u64>,
    /// Address space of each process, in bytes.
    pub memory_bytes: Option<u64>,
    /// Largest file that may be written, in bytes.
    pub file_bytes: Option<u64>,
    /// CPU time of each process, in seconds.
    pub cpu_seconds: Option<u64>,
}

/// Why a warden's command line could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("unknown word {0:?}")]
    UnknownWord(OsString),
    #[error("{0} needs a value")]
    NoValue(&'static str),
    #[error("no command after --")]
    NoCommand,
}

const DIR: &str = "--dir";
const USER: &str = "--user";
const LIMIT: &str = "--limit";
const COMMAND: &str = "--";

impl Spec {
    /// The arguments after `baton warden`. The environment travels as the environment.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        if let Some(dir) = &self.dir {
            args.extend([DIR.into(), dir.clone().into()]);
        }
        if let Some(user) = &self.user {
            args.extend([USER.into(), user.into()]);
        }
        for (name, value) in self.limits.named() {
            if let Some(value) = value {
                args.extend([LIMIT.into(), format!("{name}={value}").into()]);
            }
        }
        args.push(COMMAND.into());
        args.extend(self.command.iter().map(OsString::from));
        args
    }

    /// Reads what [`Spec::to_args`] wrote.
    pub fn from_args(mut args: impl Iterator<Item = OsString>) -> Result<Self, Error> {
        let mut spec = Self::default();
        loop {
            let word = args.next().ok_or(Error::NoCommand)?;
            match word.to_str() {
                Some(DIR) => spec.dir = Some(args.next().ok_or(Error::NoValue(DIR))?.into()),
                Some(USER) => spec.user = Some(text(args.next().ok_or(Error::NoValue(USER))?)),
                Some(LIMIT) => spec.limits.read(args.next().ok_or(Error::NoValue(LIMIT))?)?,
                Some(COMMAND) => break,
                _ => return Err(Error::UnknownWord(word)),
            }
        }
        spec.command = args.map(text).collect();
        if spec.command.is_empty() { Err(Error::NoCommand) } else { Ok(spec) }
    }
}

impl Limits {
    fn named(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("open_files", self.open_files),
            ("processes", self.processes),
            ("memory_bytes", self.memory_bytes),
            ("file_bytes", self.file_bytes),
            ("cpu_seconds", self.cpu_seconds),
        ]
    }

    fn read(&mut self, word: OsString) -> Result<(), Error> {
        let Some((name, value)) = word.to_str().and_then(|word| word.split_once('=')) else {
            return Err(Error::UnknownWord(word));
        };
        let Ok(value) = u64::from_str(value) else { return Err(Error::UnknownWord(word)) };
        let slot = match name {
            "open_files" => &mut self.open_files,
            "processes" => &mut self.processes,
            "memory_bytes" => &mut self.memory_bytes,
            "file_bytes" => &mut self.file_bytes,
            "cpu_seconds" => &mut self.cpu_seconds,
            _ => return Err(Error::UnknownWord(word)),
        };
        *slot = Some(value);
        Ok(())
    }
}

/// The node writes only UTF-8 here; anything else was typed by hand and need not survive.
fn text(word: OsString) -> String {
    String::from_utf8_lossy(&word.into_vec()).into_owned()
}

#[cfg(test)]
mod tests;
