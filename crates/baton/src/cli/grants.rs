//! `baton grants`: who may call.

use baton_core::json::Json;
use baton_wire::response::encode;
use bytes::Bytes;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::access::NodeArgs;
use super::node::{Node, path, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a grant and print its token, once
    Create(Box<Create>),
    /// List all grants
    List(List),
    /// Show one grant
    Show(One),
    /// Refuse a grant's calls for now; its token stays, and what it handed in goes on
    Pause(One),
    /// Take a paused grant's calls again
    Resume(One),
    /// Make a new token for a grant and print it, once; the old one goes on for a while
    Rotate(Rotate),
    /// End a grant: its tokens, its streams, its webhooks and the work that came in by it
    Revoke(One),
}

#[derive(Debug, clap::Args)]
pub struct Create {
    /// Whom or what it is for
    #[arg(long, value_name = "TEXT")]
    label: String,
    /// An agent that may be called (repeatable, or separated by commas)
    #[arg(long = "agent", value_name = "NAME", required = true, value_delimiter = ',')]
    agents: Vec<String>,
    /// What may be done: send, read, cancel, push, work, extended-card
    #[arg(long, value_name = "VERBS", value_delimiter = ',', default_value = "send,read,cancel")]
    verbs: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    /// When it ends by itself: a duration such as 30d, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Say what the holder could do, and make nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    node: NodeArgs,
}

/// How much a holder may do; no limit where none is said.
#[derive(Debug, Serialize, clap::Args)]
#[serde(rename_all = "camelCase")]
pub struct LimitArgs {
    /// Requests per second or minute, such as 10/s or 600/m
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Requests that may come at once; as many as in the rate where it is not said
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", requires = "rate")]
    burst: Option<u32>,
    /// Tasks that may be open at the same time
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N")]
    open_tasks: Option<u32>,
    /// New tasks in a day (UTC)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N")]
    tasks_per_day: Option<u32>,
    /// The largest request, such as 512KiB
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "SIZE")]
    body: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct List {
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct One {
    /// The grant's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Rotate {
    /// The grant's id
    #[arg(value_name = "ID")]
    id: String,
    /// How long the tokens of before go on; 0s ends them at once
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    overlap: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    label: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    limits: LimitArgs,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    dry_run: bool,
}

#[derive(Serialize)]
struct Overlap {
    overlap: String,
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
    limits: ShownLimits,
    state: String,
    created_at: String,
    created_by: String,
    changed_at: String,
    changed_by: String,
    expires_at: Option<String>,
    last_used_at: Option<String>,
    usage: Option<Usage>,
    credentials: Vec<Credential>,
    token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownLimits {
    rate: Option<String>,
    burst: Option<u32>,
    open_tasks: Option<u32>,
    tasks_per_day: Option<u32>,
    body: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    open_tasks: u32,
    tasks_today: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    hint: String,
    created_at: String,
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct Dry {
    means: Vec<String>,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Create(args) => create(global, *args).await,
        Command::List(args) => list(global, args).await,
        Command::Show(args) => show(global, args).await,
        Command::Pause(args) => change(global, args, "pause").await,
        Command::Resume(args) => change(global, args, "resume").await,
        Command::Rotate(args) => rotate(global, args).await,
        Command::Revoke(args) => revoke(global, args).await,
    }
}

async fn create(global: &Global, args: Create) -> Result<Exit, Failure> {
    let Create { label, agents, verbs, limits, expires, dry_run, node } = args;
    let node = Node::new(global, &node)?;
    let wanted = Wanted { label, agents, verbs, limits, expires, dry_run };
    let json = node.post("grants", encode(&wanted)).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    if dry_run {
        let Dry { means } = typed(&json)?;
        means.iter().try_for_each(|line| output::line(line))?;
        output::note("Nothing was made. The same without --dry-run makes the grant.");
        return Ok(Exit::Done);
    }
    print_token(&json)?;
    output::note(
        "Keep the token: it is shown this once. The caller sends it as `Authorization: Bearer TOKEN`.",
    );
    Ok(Exit::Done)
}

fn print_token(json: &Json) -> Result<(), Failure> {
    let grant: Grant = typed(json)?;
    output::line(&format!("id:    {}", grant.id))?;
    output::line(&format!("token: {}", grant.token.as_deref().unwrap_or("")))?;
    Ok(())
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
            let used = grant.last_used_at.unwrap_or_else(|| "never".to_owned());
            let ends = grant.expires_at.unwrap_or_else(|| "-".to_owned());
            [grant.id, grant.state, grant.agents.join(","), grant.verbs.join(","), used, ends, grant.label]
        })
        .collect();
    output::table(["ID", "STATE", "AGENTS", "VERBS", "LAST USED", "EXPIRES", "LABEL"], &rows)?;
    Ok(Exit::Done)
}

async fn show(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get(&path("grants", &args.id, "")).await?;
    if global.json {
        output::json(&json)?;
    } else {
        print(&typed(&json)?)?;
    }
    Ok(Exit::Done)
}

fn print(grant: &Grant) -> Result<(), Failure> {
    let by = |at: &str, who: &str| format!("{at} by {who}");
    let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let mut lines = vec![
        ("id", grant.id.clone()),
        ("label", grant.label.clone()),
        ("state", grant.state.clone()),
        ("agents", grant.agents.join(", ")),
        ("verbs", grant.verbs.join(", ")),
        ("limits", spell(&grant.limits)),
        ("expires", or(&grant.expires_at, "not by itself")),
        ("created", by(&grant.created_at, &grant.created_by)),
        ("changed", by(&grant.changed_at, &grant.changed_by)),
        ("last used", or(&grant.last_used_at, "never")),
    ];
    if let Some(usage) = &grant.usage {
        lines.push(("tasks", format!("{} open, {} made today (UTC)", usage.open_tasks, usage.tasks_today)));
    }
    for credential in &grant.credentials {
        let until = credential.expires_at.as_ref().map_or_else(String::new, |at| format!(", until {at}"));
        lines.push(("token", format!("{}… of {}{until}", credential.hint, credential.created_at)));
    }
    for (name, value) in lines {
        output::line(&format!("{:<11}{value}", format!("{name}:")))?;
    }
    Ok(())
}

fn spell(limits: &ShownLimits) -> String {
    let burst = limits.burst.map_or_else(String::new, |burst| format!(" (burst {burst})"));
    let parts = [
        limits.rate.as_ref().map(|rate| format!("{rate}{burst}")),
        limits.open_tasks.map(|most| format!("{most} open tasks")),
        limits.tasks_per_day.map(|most| format!("{most} tasks a day")),
        limits.body.map(|bytes| format!("{bytes} bytes a request")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

async fn change(global: &Global, args: One, what: &str) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.post(&path("grants", &args.id, what), Bytes::new()).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("{what}d {}", args.id));
    }
    Ok(Exit::Done)
}

async fn rotate(global: &Global, args: Rotate) -> Result<Exit, Failure> {
    let body = encode(&Overlap { overlap: args.overlap.clone() });
    let json = Node::new(global, &args.node)?.post(&path("grants", &args.id, "rotate"), body).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    print_token(&json)?;
    output::note(&format!(
        "Keep the token: it is shown this once. The tokens of before are refused after {}.",
        args.overlap
    ));
    Ok(Exit::Done)
}

async fn revoke(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.delete(&path("grants", &args.id, "")).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("revoked {}", args.id));
    }
    Ok(Exit::Done)
}
