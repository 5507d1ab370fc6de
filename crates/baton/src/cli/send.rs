//! `baton send`: a message to an agent, and what comes of it.

use std::time::Duration;

use super::access::Access;
use super::follow::Until;
use super::message::MessageArgs;
use super::remote::Remote;
use super::save::SaveArgs;
use super::talk::{Manner, Talk};
use super::{Exit, Failure, Global};
use crate::config::parse_duration;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agent: its base URL, its card's URL, or the origin of the default agent
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    message: MessageArgs,
    /// The context that the message belongs to
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// The task that the message goes on with
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Do not wait: print the task as it begins
    #[arg(long = "async")]
    detached: bool,
    /// How long to wait; the task goes on all the same
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    access: Access,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let mut message = args.message.build()?;
    message.context_id = args.context;
    message.task_id = args.task;
    let remote = Remote::agent(&args.url, &args.access).await?;
    let manner =
        Manner { json: global.json, detached: args.detached, timeout: args.timeout, save: args.save };
    Talk::new(&remote, Until::Settled, manner)?.say(message).await
}
