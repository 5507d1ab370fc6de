//! `baton task watch`.

use std::time::Duration;

use crate::cli::follow::Until;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::save::SaveArgs;
use crate::cli::talk::{Manner, Talk};
use crate::cli::{Exit, Failure, Global};
use crate::config::parse_duration;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id
    #[arg(value_name = "ID")]
    id: String,
    /// How long to watch; the task goes on all the same
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let remote = Remote::connect(global, &args.remote).await?;
    let manner = Manner { json: global.json, detached: false, timeout: args.timeout, save: args.save };
    Talk::new(&remote, Until::Ended, manner)?.watch(&args.id).await
}
