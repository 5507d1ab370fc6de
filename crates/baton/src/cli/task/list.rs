//! `baton task list`.

use baton_core::model::{TaskObject, TaskState};
use baton_core::time::Timestamp;
use baton_wire::request::ListTasksRequest;
use serde::Deserialize;

use crate::cli::node::{Shown, query, typed};
use crate::cli::printer::word;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::{Exit, Failure, Global, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    agent: Option<String>,
    /// Only tasks of this context
    #[arg(long, value_name = "ID", requires = "url")]
    context: Option<String>,
    /// Only tasks in this state: submitted, working, input-required, auth-required, completed, failed, canceled, rejected
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<TaskState>,
    /// Tasks on a page, 1 to 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100))]
    page_size: Option<i32>,
    /// The page to show, as the page before it named it
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Reads `input-required`, `INPUT_REQUIRED` or `TASK_STATE_INPUT_REQUIRED`.
fn state(text: &str) -> Result<TaskState, String> {
    let name = text.to_ascii_uppercase().replace(['-', ' '], "_");
    let name = name.strip_prefix("TASK_STATE_").unwrap_or(&name);
    serde_json::from_str(&format!("\"TASK_STATE_{name}\""))
        .map_err(|_| "it is one of submitted, working, input-required, auth-required, completed, failed, canceled, rejected".to_owned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tasks: Vec<Shown>,
    #[serde(default)]
    next_page_token: String,
    #[serde(default)]
    total_size: u64,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let remote = Remote::connect(global, &args.remote).await?;
    let (next, total) = match &remote {
        Remote::Agent { client, .. } => {
            let request = ListTasksRequest {
                context_id: args.context,
                status: args.state,
                page_size: args.page_size,
                page_token: args.page_token,
                ..ListTasksRequest::default()
            };
            let page = client.list(request).await.map_err(|why| remote.explain(why))?;
            if global.json {
                output::json(&page)?;
                return Ok(Exit::Done);
            }
            let rows: Vec<_> = page.tasks.iter().map(row).collect();
            output::table(["ID", "STATE", "SINCE"], &rows)?;
            (page.next_page_token, page.total_size.to_string())
        }
        Remote::Node(node) => {
            let json = node.get(&format!("tasks{}", query_of(&args))).await?;
            if global.json {
                output::json(&json)?;
                return Ok(Exit::Done);
            }
            let Page { tasks, next_page_token, total_size } = typed(&json)?;
            let rows: Vec<[String; 5]> = tasks
                .into_iter()
                .map(|Shown { agent, owner, task }| {
                    let [id, state, since] = row(&task);
                    [id, state, since, agent, owner.grant.to_string()]
                })
                .collect();
            output::table(["ID", "STATE", "SINCE", "AGENT", "OWNER"], &rows)?;
            (next_page_token, total_size.to_string())
        }
    };
    if !next.is_empty() {
        output::note(&format!("{total} in all; the next page is --page-token {next}"));
    }
    Ok(Exit::Done)
}

fn row(task: &TaskObject) -> [String; 3] {
    let since = task.status.timestamp.as_ref().map(Timestamp::to_string).unwrap_or_default();
    [task.id.clone(), word(task.status.state).to_owned(), since]
}

fn query_of(args: &Args) -> String {
    query([
        ("agent", args.agent.clone()),
        ("state", args.state.map(|state| state.as_str().to_owned())),
        ("pageSize", args.page_size.map(|size| size.to_string())),
        ("pageToken", args.page_token.clone()),
    ])
}
