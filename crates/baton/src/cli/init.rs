//! `baton init`: a commented configuration file to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use super::{Exit, Failure, output};
use crate::config;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write it
    #[arg(value_name = "FILE", default_value = config::FILE)]
    file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let Args { file, force } = args;
    let mut options = OpenOptions::new();
    options.write(true);
    if *force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(file).and_then(|mut file| file.write_all(config::TEMPLATE.as_bytes()));
    let name = file.display();
    match written {
        Ok(()) => {
            output::note(&format!("wrote {name}; edit it and run `baton serve`"));
            Ok(Exit::Done)
        }
        Err(why) if why.kind() == ErrorKind::AlreadyExists => {
            Err(Failure::failed(format!("{name} is there already; --force replaces it")))
        }
        Err(why) => Err(Failure::failed(format!("cannot write {name}: {why}"))),
    }
}
