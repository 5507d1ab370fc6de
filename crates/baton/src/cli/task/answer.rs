//! `baton task answer`.

use std::time::Duration;

use crate::cli::follow::Until;
use crate::cli::message::MessageArgs;
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
    #[command(flatten)]
    message: MessageArgs,
    /// Do not wait for what comes of it
    #[arg(long = "async")]
    detached: bool,
    /// How long to wait; the task goes on all the same
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let mut message = args.message.build()?;
    message.task_id = Some(args.id);
    let remote = Remote::connect(global, &args.remote).await?;
    let manner =
        Manner { json: global.json, detached: args.detached, timeout: args.timeout, save: args.save };
    Talk::new(&remote, Until::Settled, manner)?.say(message).await
}
