//! Access tokens: short-lived, in return for the token of a grant, or by what an operator allowed a client in a browser.

pub mod authorize;
pub mod clients;
pub mod redirect;

mod credentials;
mod documents;
mod tokens;

use std::time::Duration;

use baton_store::Verb;

use super::Error;
use crate::access::{RefreshToken, Token};
pub use credentials::{Asked, Client};
pub use documents::Documents;
pub use tokens::{BroughtCode, BroughtRefresh};

/// What a client gets.
#[derive(Debug)]
pub struct Issued {
    pub token: Token,
    pub lifetime: Duration,
    pub verbs: Vec<Verb>,
    /// For the time after it, where an operator allowed the client something.
    pub refresh: Option<RefreshToken>,
}

/// Why it gets nothing.
#[derive(Debug)]
pub enum Refused {
    /// There is no such client, or this is not its secret.
    Client,
    /// It asks for more than it may have, or for nothing that there is.
    Scope,
    /// What it brings is not good, any more or at all.
    Grant,
    /// It asks for a token for something else.
    Target,
    /// The operator paused its grant.
    Paused,
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(why: Error) -> Self {
        Self::Failed(why)
    }
}

impl From<baton_store::Error> for Refused {
    fn from(why: baton_store::Error) -> Self {
        Self::Failed(why.into())
    }
}

/// What MCP has use for. Others of the verbs are of A2A.
pub const MCP_VERBS: [Verb; 4] = [Verb::Send, Verb::Read, Verb::Cancel, Verb::Work];

/// The scope that a client of MCP asks for.
pub fn mcp_scope() -> String {
    spell(&MCP_VERBS)
}

/// Verbs as a scope.
pub fn spell(verbs: &[Verb]) -> String {
    verbs.iter().map(|verb| verb.as_str()).collect::<Vec<_>>().join(" ")
}

/// The verbs of a scope, each once, where they are all among these.
fn narrow(all: &[Verb], scope: &str) -> Result<Vec<Verb>, Refused> {
    let mut verbs = Vec::new();
    for word in scope.split(' ') {
        let verb = Verb::parse(word).filter(|verb| all.contains(verb)).ok_or(Refused::Scope)?;
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    Ok(verbs)
}
