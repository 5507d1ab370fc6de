//! The command line: one file per command, thin. Results go to standard output, everything else to standard error.
//!
//! Knows the configuration, the A2A client and the admin API; of the node's inside it only starts it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod access;
mod exit;
mod later;
mod message;
mod node;
mod remote;

mod follow;
mod output;
mod printer;
mod save;
mod store;
mod talk;

mod agents;
mod audit;
mod card;
mod clients;
mod completions;
mod control;
mod deliveries;
mod grants;
mod init;
mod login;
mod peers;
mod requests;
mod send;
mod serve;
mod task;

pub use exit::{Exit, Failure};
use later::Later;

/// Puts any command, MCP worker or remote agent on the A2A network and never drops what is handed to it
#[derive(Debug, Parser)]
#[command(name = "baton", version, max_term_width = 110, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by the other side, 4 not reachable, \
                        5 the task ended failed, rejected or canceled."
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags that every command has.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// The node's data folder; by default what `baton.toml` in this folder says, else ./baton-data
    #[arg(long, global = true, env = "BATON_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Results as JSON, one value per line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a node
    Serve(Later<serve::Args>),
    /// Write a commented baton.toml
    Init(Later<init::Args>),
    /// Send a message to an agent and see what comes of it
    Send(Later<send::Args>),
    /// See, follow, cancel and answer tasks
    #[command(subcommand)]
    Task(Later<task::Command>),
    /// Read agent cards
    #[command(subcommand)]
    Card(Later<card::Command>),
    /// List the agents of a node
    Agents(Later<agents::Args>),
    /// Let others call: create, pause, rotate and revoke their grants
    #[command(subcommand)]
    Grants(Later<grants::Command>),
    /// See which clients were let in by the browser, and sign them out
    #[command(subcommand)]
    Clients(Later<clients::Command>),
    /// See who asks for a grant, and decide
    #[command(subcommand)]
    Requests(Later<requests::Command>),
    /// Ask other nodes for a grant
    #[command(subcommand)]
    Peers(Later<peers::Command>),
    /// See where tasks push their updates to, what became of that, and try again
    #[command(subcommand)]
    Deliveries(Later<deliveries::Command>),
    /// See who did what, and that the log of it is whole
    #[command(subcommand)]
    Audit(Later<audit::Command>),
    /// See what a node does; drain, pause and freeze it
    #[command(subcommand)]
    Node(Later<control::Command>),
    /// Move what a node keeps into a database that nodes share
    #[command(subcommand)]
    Store(Later<store::Command>),
    /// Print a link that opens the node's console in a browser, once
    Login(Later<login::Args>),
    /// Print a completion script for a shell
    Completions(Later<completions::Args>),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(why) => {
            // Help and version come this way too; a reader that went away is no reason to panic.
            drop(why.print());
            return if why.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let Cli { global, command } = cli;
    let exit = match run(&global, command) {
        Ok(exit) => exit,
        Err(failure) => failure.report(),
    };
    exit.into()
}

fn run(global: &Global, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(Later(args)) => serve::run(global, args),
        Command::Init(Later(args)) => init::run(&args),
        Command::Completions(Later(args)) => completions::run(&args),
        Command::Send(Later(args)) => client(send::run(global, args)),
        Command::Task(Later(command)) => client(task::run(global, command)),
        Command::Card(Later(command)) => client(card::run(global, command)),
        Command::Agents(Later(args)) => client(agents::run(global, args)),
        Command::Grants(Later(command)) => client(grants::run(global, command)),
        Command::Clients(Later(command)) => client(clients::run(global, command)),
        Command::Peers(Later(command)) => client(peers::run(global, command)),
        Command::Requests(Later(command)) => client(requests::run(global, command)),
        Command::Audit(Later(command)) => client(audit::run(global, command)),
        Command::Login(Later(args)) => client(login::run(global, args)),
        Command::Deliveries(Later(command)) => client(deliveries::run(global, command)),
        Command::Node(Later(command)) => client(control::run(global, command)),
        Command::Store(Later(command)) => client(store::run(global, command)),
    }
}

/// Runs what only asks others: one thread is enough.
fn client(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(work);
    // A read of the terminal may still be under way; it is not waited for.
    runtime.shutdown_background();
    exit
}

#[cfg(test)]
mod tests;
