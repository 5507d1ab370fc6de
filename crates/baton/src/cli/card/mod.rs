//! `baton card`: what an agent says of itself, and whose word it is.

mod keys;
mod show;
mod sign;
mod source;
mod verify;

use clap::Subcommand;

use super::{Exit, Failure, Global};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the card of an agent
    Show(show::Args),
    /// Sign a card
    Sign(sign::Args),
    /// Say whether a card is signed by a key that you trust
    Verify(verify::Args),
    /// The keys that a node signs its cards with
    #[command(subcommand)]
    Keys(keys::Command),
}

pub async fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Show(args) => show::run(global, args).await,
        Command::Sign(args) => sign::run(global, args).await,
        Command::Verify(args) => verify::run(global, args).await,
        Command::Keys(command) => keys::run(global, command).await,
    }
}
