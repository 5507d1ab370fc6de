//! `baton task`: the tasks of an agent as its caller, or those of a node as its operator.

use clap::Subcommand;

use super::{Exit, Failure, Global};

mod answer;
mod cancel;
mod get;
mod list;
mod watch;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a task
    Get(get::Args),
    /// List tasks, the newest first
    List(list::Args),
    /// Follow a task to its end
    Watch(watch::Args),
    /// Ask for a task's end
    Cancel(cancel::Args),
    /// Answer what a task asked
    Answer(answer::Args),
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Get(args) => get::run(global, args).await,
        Command::List(args) => list::run(global, args).await,
        Command::Watch(args) => watch::run(global, args).await,
        Command::Cancel(args) => cancel::run(global, args).await,
        Command::Answer(args) => answer::run(global, args).await,
    }
}
