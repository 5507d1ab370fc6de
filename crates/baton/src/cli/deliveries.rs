//! `baton deliveries`: push notifications, what became of them, and another try.

use baton_wire::query::segment;
use bytes::Bytes;
use clap::Subcommand;
use serde::Deserialize;

use super::access::NodeArgs;
use super::node::{Node, query, typed};
use super::{Exit, Failure, Global, output};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List where tasks push to, those of the newest tasks first
    List(List),
    /// Show one push configuration and its newest tries
    Show(One),
    /// Try again what is owed, whatever was given up
    Replay(One),
}

#[derive(Debug, clap::Args)]
pub struct List {
    /// Only those in this state
    #[arg(long, value_name = "STATE", value_parser = ["active", "suspended", "ended"])]
    state: Option<String>,
    /// Only those of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// How many at the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    page_size: Option<u8>,
    /// Where an earlier list went on
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, clap::Args)]
pub struct One {
    /// The task's id
    #[arg(value_name = "TASK")]
    task: String,
    /// The push configuration's id
    #[arg(value_name = "CONFIG")]
    id: String,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    deliveries: Vec<Delivery>,
    next_page_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivery {
    task_id: String,
    id: String,
    url: String,
    state: String,
    reason: Option<String>,
    failures: u32,
    due_at: Option<String>,
    settled: u64,
    tries: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    number: u64,
    sequence: u64,
    at: String,
    took_ms: u64,
    status: Option<u16>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Detail {
    delivery: Delivery,
    attempts: Vec<Attempt>,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list(global, args).await,
        Command::Show(args) => show(global, args).await,
        Command::Replay(args) => replay(global, args).await,
    }
}

async fn list(global: &Global, args: List) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    let query = query([
        ("state", args.state),
        ("task", args.task),
        ("pageSize", args.page_size.map(|size| size.to_string())),
        ("pageToken", args.page_token),
    ]);
    let json = node.get(&format!("deliveries{query}")).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Page { deliveries, next_page_token } = typed(&json)?;
    let rows: Vec<_> = deliveries
        .into_iter()
        .map(|delivery| {
            let state = delivery.standing();
            [delivery.task_id, delivery.id, state, delivery.tries.to_string(), delivery.url]
        })
        .collect();
    output::table(["TASK", "CONFIG", "STATE", "TRIES", "URL"], &rows)?;
    if !next_page_token.is_empty() {
        output::note(&format!(
            "more with: baton deliveries list{} --page-token {next_page_token}",
            node.flags
        ));
    }
    Ok(Exit::Done)
}

async fn show(global: &Global, args: One) -> Result<Exit, Failure> {
    let json = Node::new(global, &args.node)?.get(&path(&args)).await?;
    if global.json {
        output::json(&json)?;
        return Ok(Exit::Done);
    }
    let Detail { delivery, attempts } = typed(&json)?;
    output::line(&format!("url:     {}", delivery.url))?;
    output::line(&format!("state:   {}", delivery.standing()))?;
    if let Some(due) = &delivery.due_at {
        output::line(&format!("due:     {due}"))?;
    }
    output::line(&format!("settled: up to event {}, {} tries", delivery.settled, delivery.tries))?;
    let rows: Vec<_> = attempts
        .into_iter()
        .map(|attempt| {
            let status = attempt.status.map(|status| status.to_string()).unwrap_or_default();
            let (number, event) = (attempt.number.to_string(), attempt.sequence.to_string());
            let took = format!("{} ms", attempt.took_ms);
            [number, event, attempt.at, took, status, attempt.error.unwrap_or_default()]
        })
        .collect();
    output::table(["TRY", "EVENT", "AT", "TOOK", "STATUS", "ERROR"], &rows)?;
    Ok(Exit::Done)
}

async fn replay(global: &Global, args: One) -> Result<Exit, Failure> {
    let node = Node::new(global, &args.node)?;
    let json = node.post(&format!("{}/replay", path(&args)), Bytes::new()).await?;
    if global.json {
        output::json(&json)?;
    } else {
        output::note(&format!("replaying {} of task {}", args.id, args.task));
    }
    Ok(Exit::Done)
}

fn path(one: &One) -> String {
    format!("deliveries/{}/{}", segment(&one.task), segment(&one.id))
}

impl Delivery {
    /// The state in a few words.
    fn standing(&self) -> String {
        match (&*self.state, self.failures, &self.reason) {
            ("active", 1.., _) => format!("failing ({})", self.failures),
            (state, _, Some(reason)) => format!("{state} ({reason})"),
            (state, _, None) => state.to_owned(),
        }
    }
}
