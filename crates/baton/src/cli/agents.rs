//! `baton agents`: what runs on a node.

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
struct Agents {
    agents: Vec<Agent>,
}

#[derive(Deserialize)]
struct Agent {
    name: String,
    runner: String,
    publish: bool,
    url: String,
    default: bool,
    description: String,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get("agents").await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Agents { agents } = typed(&json)?;
    let rows: Vec<_> = agents
        .into_iter()
        .map(|agent| {
            let Agent { name, runner, publish, url, default, description } = agent;
            let name = if default { format!("{name} (default)") } else { name };
            let card = if publish { "public" } else { "with a grant" };
            [name, runner, card.to_owned(), url, description]
        })
        .collect();
    output::table(["NAME", "RUNNER", "CARD", "URL", "DESCRIPTION"], &rows)?;
    Ok(Exit::Done)
}
