//! `baton peers`: other nodes that this one asks for a grant.
//!
//! What a peer says of itself is printed as text (see [`output`]).

use baton_core::json::Json;
use baton_wire::response::encode;
use bytes::Bytes;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::access::NodeArgs;
use super::node::{Node, path, quoted, typed};
use super::output::one_line;
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask another node for a grant; its operator decides
    Request(Box<Request>),
    /// List the peers of a node
    List(List),
    /// Show one
    Show(One),
    /// Look now what became of a request, and fetch its credential
    Check(One),
    /// Send a message with a peer's credential
    Send(Send),
    /// Forget a peer and its credential
    Forget(One),
}

#[derive(Debug, clap::Args)]
pub struct Request {
    /// An agent over there, its card or its node
    #[arg(value_name = "URL")]
    url: String,
    /// An agent to ask for (repeatable, or separated by commas); the one of the card where none is named
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    agents: Vec<String>,
    /// What to ask for: send, read, cancel, push, work, extended-card
    #[arg(long, value_name = "VERBS", value_delimiter = ',', default_value = "send,read,cancel")]
    verbs: Vec<String>,
    /// What to say to the human over there
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// The published agent of this node whose card is shown; the default agent where none is named
    #[arg(long = "as", value_name = "NAME")]
    as_agent: Option<String>,
    /// A file with an OpenID Connect ID token that says who asks
    #[arg(long, value_name = "FILE")]
    id_token_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct One {
    /// The peer's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Send {
    /// The peer's id
    #[arg(value_name = "ID")]
    id: String,
    /// What to say
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Which of the agents over there; the first where none is named
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ask {
    url: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    as_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
}

#[derive(Serialize)]
struct Say {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Said {
    answer: Json,
}

#[derive(Deserialize)]
struct Peers {
    peers: Vec<Peer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peer {
    id: String,
    name: String,
    origin: String,
    card_url: String,
    state: String,
    code: String,
    as_card: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    why: String,
    granted: Option<Granted>,
    next_look_at: Option<String>,
    problem: Option<String>,
    created_at: String,
    created_by: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    agents: Vec<Agent>,
    verbs: Vec<String>,
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct Agent {
    name: String,
    url: String,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Request(args) => request(global, *args).await,
        Command::List(args) => list(global, args).await,
        Command::Show(args) => show(global, args).await,
        Command::Check(args) => check(global, args).await,
        Command::Send(args) => send(global, args).await,
        Command::Forget(args) => forget(global, args).await,
    }
}

async fn request(global: &Global, args: Request) -> Result<Exit, Failure> {
    let Request { url, agents, verbs, why, as_agent, id_token_file, node } = args;
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path);
        text.map(|text| text.trim().to_owned())
            .map_err(|why| Failure::usage(format!("cannot read the ID token from {}: {why}", path.display())))
    };
    let id_token = id_token_file.as_ref().map(read).transpose()?;
    let node = Node::new(global, &node)?;
    let ask = Ask { url, agents, verbs, why, as_agent, id_token };
    let json = node.post("peers", encode(&ask)).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let peer: Peer = typed(&json)?;
    output::line(&format!("id:   {}", peer.id))?;
    output::line(&format!("code: {}", peer.code))?;
    output::note(&format!(
        "Asked {}. Tell its operator the code by another way than this one; both of you see the same one, or somebody \
         stands in between.\nThe node looks by itself what becomes of it; now: baton peers check {}{}",
        peer.origin,
        quoted(&peer.id),
        node.flags
    ));
    Ok(Exit::Done)
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get("peers").await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Peers { peers } = typed(&json)?;
    let rows: Vec<_> = peers
        .into_iter()
        .map(|peer| {
            let agents = peer.agents.join(",");
            [peer.id, peer.state, peer.created_at, peer.code, agents, peer.origin, peer.name]
        })
        .collect();
    output::table(["ID", "STATE", "ASKED", "CODE", "AGENTS", "ORIGIN", "NAME"], &rows)?;
    Ok(Exit::Done)
}

async fn show(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get(&path("peers", &args.id, "")).await?;
    if global.json {
        output::json(&json)?;
    } else {
        print(&typed(&json)?)?;
    }
    Ok(Exit::Done)
}

/// Where there will be nothing, that is a refusal.
async fn check(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.post(&path("peers", &args.id, "check"), Bytes::new()).await?;
    let peer: Peer = typed(&json)?;
    if global.json {
        output::json(&json)?;
    } else {
        print(&peer)?;
    }
    Ok(match peer.state.as_str() {
        "denied" | "expired" | "ended" => Exit::Refused,
        _ => Exit::Done,
    })
}

fn print(peer: &Peer) -> Result<(), Failure> {
    let mut lines = vec![
        ("id", peer.id.clone()),
        ("name", one_line(&peer.name)),
        ("state", peer.state.clone()),
        ("code", peer.code.clone()),
        ("origin", peer.origin.clone()),
        ("card", peer.card_url.clone()),
        ("asked as", peer.as_card.clone()),
        ("asked for", format!("{} with {}", peer.verbs.join(", "), peer.agents.join(", "))),
        ("why", one_line(&peer.why)),
        ("asked", format!("{} by {}", peer.created_at, peer.created_by)),
    ];
    if let Some(Granted { agents, verbs, expires_at }) = &peer.granted {
        let until = expires_at.as_ref().map_or_else(String::new, |at| format!(", until {at}"));
        lines.push(("granted", format!("{}{until}", one_line(&verbs.join(", ")))));
        let known = agents.iter().map(|agent| one_line(&format!("{} at {}", agent.name, agent.url)));
        lines.extend(known.map(|agent| ("agent", agent)));
    }
    lines.extend(peer.next_look_at.iter().map(|at| ("next look", at.clone())));
    lines.extend(peer.problem.iter().map(|why| ("problem", one_line(why))));
    for (name, value) in lines {
        output::line(&format!("{:<11}{value}", format!("{name}:")))?;
    }
    Ok(())
}

async fn send(global: &Global, args: Send) -> Result<Exit, Failure> {
    let Send { id, text, agent, node } = args;
    let say = Say { agent, text: text.join(" ") };
    let json = Node::new(global, &node)?.post(&path("peers", &id, "messages"), encode(&say)).await?;
    let Said { answer } = typed(&json)?;
    output::json(&answer)?;
    Ok(Exit::Done)
}

async fn forget(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.delete(&path("peers", &args.id, "")).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("forgot {}; its operator can revoke the grant over there", args.id));
    }
    Ok(Exit::Done)
}
