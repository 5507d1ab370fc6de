//! `baton node`: what a node is doing, and how its operator stops, pauses and freezes it. How any command
//! calls a node is in [`node`](super::node).

use bytes::Bytes;
use clap::Subcommand;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, path, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what the node does, and what is held back
    Status(Plain),
    /// Stop the node as SIGTERM does: no new work, what runs may finish for 15 seconds, then the node ends
    Drain(Plain),
    /// Say that the node is not ready, and serve on, so that a load balancer sends its callers elsewhere
    LameDuck(LameDuck),
    /// Take messages and let them wait: nothing new is begun, by the node or for one agent
    Pause(OfAgent),
    /// End a pause: what waits is worked on
    Resume(OfAgent),
    /// Take no messages, from anybody or by one grant; reading and cancelling go on
    Freeze(OfGrant),
    /// End a freeze
    Unfreeze(OfGrant),
}

#[derive(Debug, clap::Args)]
pub struct Plain {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct LameDuck {
    /// Be ready again
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct OfAgent {
    /// One agent; without it, the whole node
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct OfGrant {
    /// One grant, by its id; without it, everybody
    #[arg(long, value_name = "ID")]
    grant: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Deserialize)]
struct Status {
    version: String,
    running: usize,
    control: Controls,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Controls {
    draining: bool,
    lame_duck: bool,
    frozen: Option<Since>,
    paused: Option<Since>,
    #[serde(default)]
    frozen_grants: Vec<FrozenGrant>,
    #[serde(default)]
    paused_agents: Vec<PausedAgent>,
}

#[derive(Deserialize)]
struct Since {
    since: String,
    by: String,
}

#[derive(Deserialize)]
struct FrozenGrant {
    grant: String,
    #[serde(flatten)]
    since: Since,
}

#[derive(Deserialize)]
struct PausedAgent {
    agent: String,
    #[serde(flatten)]
    since: Since,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    let (args, path) = match command {
        Command::Status(Plain { node }) => return status(global, &node).await,
        Command::Drain(Plain { node }) => (node, "node/drain".to_owned()),
        Command::LameDuck(LameDuck { off: false, node }) => (node, "node/lame-duck".to_owned()),
        Command::LameDuck(LameDuck { off: true, node }) => (node, "node/end-lame-duck".to_owned()),
        Command::Pause(OfAgent { agent, node }) => (node, path_of("agents", agent.as_deref(), "pause")),
        Command::Resume(OfAgent { agent, node }) => (node, path_of("agents", agent.as_deref(), "resume")),
        Command::Freeze(OfGrant { grant, node }) => (node, path_of("grants", grant.as_deref(), "freeze")),
        Command::Unfreeze(OfGrant { grant, node }) => (node, path_of("grants", grant.as_deref(), "unfreeze")),
    };
    let json = Node::new(global, &args)?.post(&path, Bytes::new()).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::text(&spell(&typed(&json)?))?;
    }
    Ok(Exit::Done)
}

fn path_of(kind: &str, one: Option<&str>, verb: &str) -> String {
    one.map_or_else(|| format!("node/{verb}"), |one| path(kind, one, verb))
}

async fn status(global: &Global, args: &NodeArgs) -> Result<Exit, Failure> {
    let json = Node::new(global, args)?.get("status").await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Status { version, running, control } = typed(&json)?;
    output::line(&format!("baton {version}; attempts under way: {running}"))?;
    output::text(&spell(&control))?;
    Ok(Exit::Done)
}

/// One line for each thing that is not as usual.
fn spell(controls: &Controls) -> String {
    let mut lines = Vec::new();
    if controls.draining {
        lines.push("draining: takes no new work and ends soon".to_owned());
    }
    if controls.lame_duck {
        lines.push("lame duck: says that it is not ready, and serves on".to_owned());
    }
    let mut held =
        |what: &str, Since { since, by }: &Since| lines.push(format!("{what} since {since} by {by}"));
    if let Some(since) = &controls.frozen {
        held("frozen: takes no messages,", since);
    }
    for FrozenGrant { grant, since } in &controls.frozen_grants {
        held(&format!("grant {grant} is frozen"), since);
    }
    if let Some(since) = &controls.paused {
        held("paused: begins nothing,", since);
    }
    for PausedAgent { agent, since } in &controls.paused_agents {
        held(&format!("agent {agent} is paused"), since);
    }
    if lines.is_empty() {
        lines.push("takes messages and works on them".to_owned());
    }
    lines.join("\n") + "\n"
}
