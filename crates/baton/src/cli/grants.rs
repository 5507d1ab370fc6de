//! `baton grants`: who may call.

use baton_wire::response::encode;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::access::NodeArgs;
use super::node::{Node, segment, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a grant and print its token, once
    Create(Create),
    /// List all grants
    List(List),
    /// End a grant: its tokens are refused from now on
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
pub struct Create {
    /// Whom or what it is for
    #[arg(long, value_name = "TEXT")]
    label: String,
    /// An agent that may be called (repeatable, or separated by commas)
    #[arg(long = "agent", value_name = "NAME", required = true, value_delimiter = ',')]
    agents: Vec<String>,
    /// What may be done
    #[arg(long, value_name = "VERBS", value_delimiter = ',', default_value = "send,read,cancel")]
    verbs: Vec<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Revoke {
    /// The grant's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
struct Wanted {
    label: String,
    agents: Vec<String>,
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Grants {
    grants: Vec<Grant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grant {
    id: String,
    label: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    created_at: String,
    #[serde(default)]
    state: String,
    token: Option<String>,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Create(args) => create(global, args).await,
        Command::List(args) => list(global, args).await,
        Command::Revoke(args) => revoke(global, args).await,
    }
}

async fn create(global: &Global, args: Create) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    let wanted = Wanted { label: args.label, agents: args.agents, verbs: args.verbs };
    let json = node.post("grants", encode(&wanted)).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let grant: Grant = typed(&json)?;
    output::line(&format!("id:    {}", grant.id))?;
    output::line(&format!("token: {}", grant.token.as_deref().unwrap_or("")))?;
    output::note(
        "Keep the token: it is shown this once. The caller sends it as `Authorization: Bearer TOKEN`.",
    );
    Ok(Exit::Done)
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get("grants").await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Grants { grants } = typed(&json)?;
    let rows: Vec<_> = grants
        .into_iter()
        .map(|grant| {
            let Grant { id, label, agents, verbs, created_at, state, token: _ } = grant;
            [id, state, agents.join(","), verbs.join(","), created_at, label]
        })
        .collect();
    output::table(["ID", "STATE", "AGENTS", "VERBS", "CREATED", "LABEL"], &rows)?;
    Ok(Exit::Done)
}

async fn revoke(global: &Global, args: Revoke) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.delete(&format!("grants/{}", segment(&args.id))).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("revoked {}", args.id));
    }
    Ok(Exit::Done)
}
