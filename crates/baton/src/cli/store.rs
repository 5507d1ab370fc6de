//! `baton store copy`: moves what a node keeps into a database that nodes share.

use baton_store::postgres::Settings;
use baton_store::{Copied, copy};
use serde_json::json;

use super::{Exit, Failure, Global, output};
use crate::config;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Copy the SQLite store of the data folder into an empty PostgreSQL database; the node must be stopped
    Copy(Args),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The database, such as postgres://baton@db.internal/baton
    #[arg(long, env = "BATON_STORE", value_name = "URL", hide_env_values = true)]
    to: String,
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    let Command::Copy(Args { to }) = command;
    let folder = config::data_dir(global.data_dir.as_deref());
    let settings = Settings::parse(&to).map_err(|why| Failure::failed(format!("--to: {why}")))?;
    let mut told = |copied: &Copied| {
        output::note(&format!("{}: {} rows", copied.table, copied.rows));
    };
    let copied = copy(&folder, &settings, &mut told).await.map_err(|why| Failure::failed(why.to_string()))?;
    let rows: u64 = copied.iter().map(|table| table.rows).sum();
    if global.json {
        let tables: Vec<_> =
            copied.iter().map(|table| json!({"table": table.table, "rows": table.rows})).collect();
        output::json(&json!({"rows": rows, "tables": tables}))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("copied {rows} rows to {}", settings.place()))?;
    output::note(
        "Start the node with this URL as its store. Every node of it needs the same secret.key (or BATON_SECRET_KEY) and \
         the same keys folder; the SQLite store is as it was.",
    );
    Ok(Exit::Done)
}
