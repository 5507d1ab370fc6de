//! `baton clients`: who asked for access in a browser and got it, and how they are signed out.

use clap::Subcommand;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, path, query, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List clients that are signed in, the newest first
    List(List),
    /// Sign a client out: its tokens end, its grant goes on
    SignOut(SignOut),
}

#[derive(Debug, clap::Args)]
pub struct List {
    /// Only those that are signed in by this grant
    #[arg(long, value_name = "ID")]
    grant: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct SignOut {
    /// The id that the list shows
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Deserialize)]
struct Clients {
    clients: Vec<Client>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    id: String,
    grant: String,
    name: String,
    resource: String,
    verbs: Vec<String>,
    state: String,
    last_token_at: Option<String>,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list(global, args).await,
        Command::SignOut(args) => sign_out(global, args).await,
    }
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let query = query([("grant", args.grant)]);
    let json = Node::new(global, &args.node)?.get(&format!("clients{query}")).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Clients { clients } = typed(&json)?;
    let rows: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let last = client.last_token_at.unwrap_or_else(|| "never".to_owned());
            let verbs = client.verbs.join(",");
            [client.id, client.state, client.grant, verbs, client.resource, last, client.name]
        })
        .collect();
    output::table(["ID", "STATE", "GRANT", "VERBS", "FOR", "LAST TOKEN", "NAME"], &rows)?;
    Ok(Exit::Done)
}

async fn sign_out(global: &Global, args: SignOut) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.delete(&path("clients", &args.id, "")).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("signed out {}", args.id));
    }
    Ok(Exit::Done)
}
