//! `baton completions`: a completion script.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Exit, Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    shell: Shell,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "baton", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}
