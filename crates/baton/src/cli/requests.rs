//! `baton requests`: strangers who ask for a grant.
//!
//! What a stranger wrote is printed as text: characters that a terminal would obey are shown (see [`output`]), and text of
//! several lines is set off, so that it cannot be taken for ours.

use baton_wire::response::encode;
use bytes::Bytes;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::access::NodeArgs;
use super::grants::LimitArgs;
use super::node::{Node, path, query, typed};
use super::output::one_line;
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List friend requests
    List(List),
    /// Show one, and fetch and check the card of who asks
    Show(Show),
    /// Make the grant that is asked for, or a smaller one
    Approve(Box<Approve>),
    /// Deny requests
    Deny(Deny),
}

#[derive(Debug, clap::Args)]
pub struct List {
    /// Only those in this state
    #[arg(long, value_parser = ["pending", "approved", "denied", "expired"])]
    state: Option<String>,
    /// Requests of one page, at most 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    page_size: Option<u16>,
    /// Where the last page ended
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Show {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
    /// Fetch nothing: show what was found before
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Approve {
    /// The request's id
    #[arg(value_name = "ID")]
    id: String,
    /// The code that the other side shows; where it is not this request's, nothing is approved
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// What to call the grant
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Only this agent of those asked for (repeatable, or separated by commas)
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    agents: Vec<String>,
    /// Only these verbs of those asked for; `work` is allowed only where it is named here
    #[arg(long, value_name = "VERBS", value_delimiter = ',')]
    verbs: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    /// When it ends by itself: a duration such as 30d, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Say what the friend could do, and approve nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Deny {
    /// The requests' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Approval {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbs: Option<Vec<String>>,
    limits: LimitArgs,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    requests: Vec<Request>,
    next_page_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    id: String,
    code: String,
    state: String,
    origin: String,
    card_url: String,
    agents: Vec<String>,
    verbs: Vec<String>,
    why: String,
    has_id_token: bool,
    created_at: String,
    expires_at: Option<String>,
    decided_at: Option<String>,
    decided_by: Option<String>,
    grant: Option<Grant>,
    look: Option<Look>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grant {
    id: String,
    state: String,
    pick_ups: u32,
    used: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Look {
    at: String,
    problem: Option<String>,
    card: Option<Card>,
    id_token: Option<IdToken>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Card {
    name: String,
    at_home: bool,
    signature: String,
    signature_problem: Option<String>,
    kid: Option<String>,
    key: Option<String>,
    standing: String,
    since: Option<String>,
    changed: Option<String>,
}

#[derive(Deserialize)]
struct IdToken {
    proven: bool,
    issuer: Option<String>,
    subject: Option<String>,
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Dry {
    means: Vec<String>,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list(global, args).await,
        Command::Show(args) => show(global, args).await,
        Command::Approve(args) => approve(global, *args).await,
        Command::Deny(args) => deny(global, args).await,
    }
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    let asked = query([
        ("state", args.state.clone()),
        ("pageSize", args.page_size.map(|size| size.to_string())),
        ("pageToken", args.page_token.clone()),
    ]);
    let json = node.get(&format!("friend-requests{asked}")).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Page { requests, next_page_token } = typed(&json)?;
    let rows: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let (agents, verbs) = (request.agents.join(","), request.verbs.join(","));
            [request.id, request.state, request.created_at, request.code, agents, verbs, request.card_url]
        })
        .collect();
    output::table(["ID", "STATE", "ASKED", "CODE", "AGENTS", "VERBS", "CARD"], &rows)?;
    if !next_page_token.is_empty() {
        let state = args.state.map(|state| format!(" --state {state}")).unwrap_or_default();
        output::note(&format!(
            "More: baton requests list{state} --page-token {next_page_token}{}",
            node.flags
        ));
    }
    Ok(Exit::Done)
}

async fn show(global: &Global, args: Show) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    let json = if args.offline {
        node.get(&path("friend-requests", &args.id, "")).await?
    } else {
        node.post(&path("friend-requests", &args.id, "look"), Bytes::new()).await?
    };
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let request: Request = typed(&json)?;
    print(&request)?;
    if request.state == "pending" {
        output::note(
            "The card says who is named, not who asks. Compare the code with the one that your friend shows, by another \
             way than this request.",
        );
    }
    Ok(Exit::Done)
}

fn print(request: &Request) -> Result<(), Failure> {
    let until = request.expires_at.as_ref().map_or_else(String::new, |at| format!(", until {at}"));
    let mut lines = vec![
        ("id", request.id.clone()),
        ("code", request.code.clone()),
        ("state", format!("{}{until}", request.state)),
        ("asked", format!("{} from {}", request.created_at, request.origin)),
        ("agents", request.agents.join(", ")),
        ("verbs", request.verbs.join(", ")),
        ("card", one_line(&request.card_url)),
    ];
    if let (Some(at), Some(by)) = (&request.decided_at, &request.decided_by) {
        lines.push(("decided", format!("{at} by {by}")));
    }
    if let Some(Grant { id, state, pick_ups, used }) = &request.grant {
        let used = if *used { ", used" } else { "" };
        lines.push(("grant", format!("{id} ({state}; credential picked up {pick_ups} times{used})")));
    }
    match &request.look {
        Some(look) => lines.extend(words_of(look)),
        None => lines.push(("found", "nothing has been fetched".to_owned())),
    }
    let unread = request.look.as_ref().is_none_or(|look| look.id_token.is_none());
    if request.has_id_token && unread {
        lines.push(("id token", "not looked at".to_owned()));
    }
    for (name, value) in lines {
        output::line(&format!("{:<11}{value}", format!("{name}:")))?;
    }
    output::line("why:")?;
    request.why.lines().try_for_each(|line| output::line(&format!("  | {line}")))?;
    Ok(())
}

fn words_of(look: &Look) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    match (&look.card, &look.problem) {
        (Some(card), _) => {
            lines.push(("found", format!("{} at {}", one_line(&card.name), look.at)));
            lines.push(("signature", signature(card)));
            lines.push(("known", standing(card)));
            if !card.at_home {
                let what = "none of the card's interfaces is at the server that it came from";
                lines.push(("warning", what.to_owned()));
            }
        }
        (None, problem) => {
            let why = one_line(problem.as_deref().unwrap_or("nothing"));
            lines.push(("found", format!("no card at {}: {why}", look.at)));
        }
    }
    if let Some(IdToken { proven, issuer, subject, problem }) = &look.id_token {
        let or = |text: &Option<String>| one_line(text.as_deref().unwrap_or("nobody"));
        lines.push((
            "id token",
            if *proven {
                format!("{} says that {} asks", or(issuer), or(subject))
            } else {
                format!("proves nothing: {}", or(problem))
            },
        ));
    }
    lines
}

fn signature(card: &Card) -> String {
    match card.signature.as_str() {
        "signed" => {
            let kid = card.kid.as_deref().map(|kid| format!("{} ", one_line(kid))).unwrap_or_default();
            format!(
                "signed with a key that its own server publishes: {kid}{}",
                card.key.as_deref().unwrap_or("")
            )
        }
        "unproven" => {
            format!("proves nothing: {}", one_line(card.signature_problem.as_deref().unwrap_or("unknown")))
        }
        _ => "unsigned".to_owned(),
    }
}

fn standing(card: &Card) -> String {
    let since = card.since.as_deref().unwrap_or("an earlier look");
    match (card.standing.as_str(), card.changed.as_deref()) {
        ("pinned", _) => format!("the same as when a friend was made of it ({since})"),
        ("changed", Some("key")) => format!("CHANGED: it was signed with another key at {since}"),
        ("changed", Some("unsigned")) => format!("CHANGED: it was signed at {since}, and is not"),
        ("changed", _) => format!("CHANGED: it says something else than at {since}"),
        _ => "seen for the first time".to_owned(),
    }
}

async fn approve(global: &Global, args: Approve) -> Result<Exit, Failure> {
    let Approve { id, code, label, agents, verbs, limits, expires, dry_run, node } = args;
    let node = Node::new(global, &node)?;
    let named = |list: Vec<String>| (!list.is_empty()).then_some(list);
    let (agents, verbs) = (named(agents), named(verbs));
    let approval = Approval { label, agents, verbs, limits, expires, code, dry_run };
    let json = node.post(&path("friend-requests", &id, "approve"), encode(&approval)).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    if dry_run {
        let Dry { means } = typed(&json)?;
        means.iter().try_for_each(|line| output::line(line))?;
        output::note("Nothing was approved. The same without --dry-run makes the grant.");
        return Ok(Exit::Done);
    }
    let request: Request = typed(&json)?;
    if let Some(grant) = &request.grant {
        output::line(&format!("grant: {}", grant.id))?;
    }
    let until = request.expires_at.as_deref().unwrap_or("later");
    output::note(&format!("approved {id}; the friend can pick its credential up until {until}"));
    Ok(Exit::Done)
}

async fn deny(global: &Global, args: Deny) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    for id in &args.ids {
        let json = node.post(&path("friend-requests", id, "deny"), Bytes::new()).await?;
        if global.json {
            output::json(&json)?;
        } else {
            output::note(&format!("denied {id}"));
        }
    }
    Ok(Exit::Done)
}
