//! The binary: a warden when it is told to be one, the command line otherwise.

use std::process::ExitCode;

use baton::runner::process::warden;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    // A warden stands in front of one child and must stay small: it starts nothing else.
    if args.next().is_some_and(|first| first == warden::SUBCOMMAND) {
        return warden::main(args);
    }
    baton::cli::main()
}
