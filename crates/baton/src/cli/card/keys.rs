//! `baton card keys`: the keys that a node signs its cards with.

use baton_wire::query::segment;
use baton_wire::response::encode;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use crate::cli::access::NodeArgs;
use crate::cli::node::{Node, typed};
use crate::cli::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key; all cards are signed with it too from then on
    New(New),
    /// List the keys that sign
    List(List),
    /// End a key: it signs no more, and the node vouches for it no more
    Retire(Retire),
}

#[derive(Debug, clap::Args)]
pub struct New {
    /// ES256, which every verifier knows, or EdDSA
    #[arg(long, value_name = "ALG", default_value = "ES256", value_parser = ["ES256", "EdDSA"])]
    alg: String,
    /// The name of the key; without it, one is made from its fingerprint
    #[arg(long, value_name = "KID")]
    kid: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Retire {
    /// The name of the key
    #[arg(value_name = "KID")]
    kid: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
struct Wanted<'a> {
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    kid: String,
    algorithm: String,
    created_at: String,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::New(New { alg, kid, node }) => {
            let wanted = Wanted { algorithm: &alg, kid: kid.as_deref() };
            let json = Node::new(global, &node)?.post("keys", encode(&wanted)).await?;
            if global.json {
                output::json(&json)?;
                return Ok(Exit::Done);
            }
            let Key { kid, .. } = typed(&json)?;
            output::line(&kid)?;
            output::note(
                "cards are signed with it from now on; its public half is at /.well-known/jwks.json",
            );
        }
        Command::List(List { node }) => {
            let json = Node::new(global, &node)?.get("keys").await?;
            if global.json {
                output::json(&json)?;
                return Ok(Exit::Done);
            }
            let Keys { keys } = typed(&json)?;
            let rows: Vec<_> = keys
                .into_iter()
                .map(|Key { kid, algorithm, created_at }| [kid, algorithm, created_at])
                .collect();
            output::table(["KID", "ALGORITHM", "CREATED"], &rows)?;
        }
        Command::Retire(Retire { kid, node }) => {
            let json = Node::new(global, &node)?.delete(&format!("keys/{}", segment(&kid))).await?;
            if global.json {
                output::json(&json)?;
                return Ok(Exit::Done);
            }
            let Keys { keys } = typed(&json)?;
            match keys.as_slice() {
                [] => output::note("cards are not signed any more"),
                left => output::note(&format!("{} left to sign with", left.len())),
            }
        }
    }
    Ok(Exit::Done)
}
