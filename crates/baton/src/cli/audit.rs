//! `baton audit`: who did what, and whether the log of it is as it was written.

use baton_core::json::Json;
use clap::Subcommand;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, query, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List who did what, the newest first
    List(Box<List>),
    /// Look whether the log is as it was written, and name the first row that is not
    Verify(Verify),
}

#[derive(Debug, clap::Args)]
pub struct List {
    /// Not before: a duration such as 7d, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Who did it: operator, node, anonymous, or the id of a grant
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// What was done, such as grant.revoke; or grant for all that was done to grants
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// What it was done to, such as the id of a grant
    #[arg(long, value_name = "ID")]
    target: Option<String>,
    /// Only what was refused
    #[arg(long)]
    refused: bool,
    /// Rows of a page, 1 to 100
    #[arg(long, value_name = "N")]
    page_size: Option<usize>,
    /// Where to go on, as the page before said
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct Verify {
    /// Only from then on: a duration such as 7d, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// The head that an earlier look printed: it must still be there
    #[arg(long, value_name = "ID:HASH")]
    head: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    rows: Vec<Row>,
    next_page_token: String,
}

#[derive(Deserialize)]
struct Row {
    id: u64,
    at: String,
    actor: String,
    origin: String,
    action: String,
    target: String,
    outcome: String,
    detail: Option<Json>,
}

#[derive(Deserialize)]
struct Report {
    rows: u64,
    head: String,
    broken: Option<Broken>,
}

#[derive(Deserialize)]
struct Broken {
    id: u64,
    what: String,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list(global, *args).await,
        Command::Verify(args) => verify(global, args).await,
    }
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let List { since, actor, action, target, refused, page_size, page_token, node } = args;
    let query = query([
        ("since", since),
        ("actor", actor),
        ("action", action),
        ("target", target),
        ("outcome", refused.then(|| "refused".to_owned())),
        ("pageSize", page_size.map(|size| size.to_string())),
        ("pageToken", page_token),
    ]);
    let json = Node::new(global, &node)?.get(&format!("audit{query}")).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Page { rows, next_page_token } = typed(&json)?;
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let Row { id, at, actor, origin, action, target, outcome, detail } = row;
            let detail = detail.map_or_else(String::new, |detail| detail.as_str().to_owned());
            [id.to_string(), at, actor, origin, outcome, action, target, detail]
        })
        .collect();
    output::table(["ID", "AT", "WHO", "FROM", "OUTCOME", "ACTION", "TARGET", "DETAIL"], &rows)?;
    if !next_page_token.is_empty() {
        output::note(&format!("There is more: the same with --page-token {next_page_token}"));
    }
    Ok(Exit::Done)
}

async fn verify(global: &Global, args: Verify) -> Result<Exit, Failure> {
    let query = query([("since", args.since), ("head", args.head)]);
    let json = Node::new(global, &args.node)?.get(&format!("audit/verify{query}")).await?;
    let Report { rows, head, broken } = typed(&json)?;
    if global.json {
        output::json(&json)?;
    }
    match broken {
        Some(Broken { id, what }) => Err(Failure::failed(format!(
            "the audit log is broken: row {id} {what}; the {rows} rows before it are as they were written"
        ))),
        None if global.json => Ok(Exit::Done),
        None => {
            output::line(&format!("rows: {rows}"))?;
            if rows > 0 {
                output::line(&format!("head: {head}"))?;
                output::note(
                    "All of them are as they were written. Note the head elsewhere: a later look can be given it.",
                );
            }
            Ok(Exit::Done)
        }
    }
}
