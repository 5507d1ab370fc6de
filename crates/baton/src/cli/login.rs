//! `baton login`: a link that opens the node's console once.

use bytes::Bytes;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Deserialize)]
struct Invited {
    url: String,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.post("login", Bytes::new()).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Invited { url } = typed(&json)?;
    output::line(&url)?;
    output::note(
        "Open this link in a browser: it works once, within 5 minutes. Whoever has it becomes the operator; do not \
         pass it on.",
    );
    Ok(Exit::Done)
}
