//! `baton.toml` as it is written, and the way from a byte in it to a line number.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Problem};
use super::{agents, auth, card, console, limits, net, node, retention, suggest};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub node: node::Node,
    pub net: net::Net,
    pub auth: auth::Auth,
    pub console: console::Console,
    pub limits: limits::Limits,
    pub retention: retention::Retention,
    pub card: card::Card,
    pub agents: BTreeMap<Spanned<String>, Spanned<agents::Agent>>,
}

/// A text and the name of the file it was read from, to say where something is wrong.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self, Error> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self { path: path.to_owned(), text }),
            Err(source) => Err(Error::Unreadable { file: path.to_owned(), source }),
        }
    }

    pub fn parse(&self) -> Result<File, Error> {
        toml::from_str(&self.text).map_err(|why| {
            let problem = Problem { at: why.span(), what: suggest::reword(why.message()) };
            self.locate(problem)
        })
    }

    /// The error that `problem` is in this file.
    pub(super) fn locate(&self, problem: Problem) -> Error {
        let file = self.path.clone();
        match problem.at {
            Some(Range { start, .. }) => {
                let before = &self.text.as_bytes()[..start.min(self.text.len())];
                let line = before.split(|byte| *byte == b'\n').count();
                Error::Line { file, line, what: problem.what }
            }
            None => Error::File { file, what: problem.what },
        }
    }
}
