//! `baton agents`: what runs on a node, and what each of them is.

use std::fmt::Write as _;

use baton_core::json::Json;
use baton_wire::query::segment;
use clap::Subcommand;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the agents of a node, as without a command
    List(List),
    /// Show what an agent can do and where it is to be had: what its cards are made from
    Show(Show),
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The agent
    #[arg(value_name = "NAME")]
    name: String,
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
    match args.command {
        None => list(global, &args.node).await,
        Some(Command::List(List { node })) => list(global, &node).await,
        Some(Command::Show(Show { name, node })) => show(global, &node, &name).await,
    }
}

async fn list(global: &Global, node: &NodeArgs) -> Result<Exit, Failure> {
    let json = Node::new(global, node)?.get("agents").await?;
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

async fn show(global: &Global, node: &NodeArgs, name: &str) -> Result<Exit, Failure> {
    let json = Node::new(global, node)?.get(&format!("agents/{}", segment(name))).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::text(&spell(&json)?)?;
    }
    Ok(Exit::Done)
}

/// What is shown of a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    name: String,
    title: String,
    version: String,
    description: String,
    runner: String,
    url: String,
    card: CardManner,
    interfaces: Vec<Interface>,
    capabilities: Capabilities,
    extensions: Vec<Extension>,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    skills: Vec<Skill>,
}

#[derive(Deserialize)]
struct CardManner {
    published: bool,
    compat: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interface {
    url: String,
    protocol_binding: String,
    protocol_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    streaming: bool,
    push_notifications: bool,
    extended_card: String,
}

#[derive(Deserialize)]
struct Extension {
    uri: String,
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skill {
    id: String,
    name: String,
    shown_to: Audience,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Audience {
    Everyone,
    Extended,
    Grants(Vec<String>),
}

fn spell(json: &Json) -> Result<String, Failure> {
    let manifest: Manifest = typed(json)?;
    let Manifest { name, title, version, description, runner, url, card, .. } = &manifest;
    let shown = if card.published { "public" } else { "shown to grants only" };
    let shape = if card.compat == "v1" { "A2A 1.0 only" } else { "A2A 1.0 and 0.3" };
    let mut out = format!(
        "{name}: {title} {version}\n{description}\n\nrunner: {runner}\nurl: {url}\ncard: {shown}, for {shape}\n"
    );
    for Interface { url, protocol_binding, protocol_version } in &manifest.interfaces {
        let _ = writeln!(out, "{protocol_binding} {protocol_version}: {url}");
    }
    let Capabilities { streaming, push_notifications, extended_card } = &manifest.capabilities;
    let word = |on: bool| if on { "on" } else { "off" };
    let _ = writeln!(
        out,
        "streaming: {}\npush notifications: {}\nextended card: {extended_card}",
        word(*streaming),
        word(*push_notifications)
    );
    let _ = writeln!(out, "takes: {}", manifest.input_modes.join(", "));
    let _ = writeln!(out, "gives: {}", manifest.output_modes.join(", "));
    for Extension { uri, required } in &manifest.extensions {
        let _ = writeln!(out, "extension: {uri}{}", if *required { " (required)" } else { "" });
    }
    for Skill { id, name, shown_to } in &manifest.skills {
        let to = match shown_to {
            Audience::Everyone => String::new(),
            Audience::Extended => " (extended card)".to_owned(),
            Audience::Grants(names) => format!(" (extended card of {})", names.join(", ")),
        };
        let _ = writeln!(out, "skill {id}: {name}{to}");
    }
    Ok(out)
}
