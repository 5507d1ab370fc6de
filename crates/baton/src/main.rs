//! The binary: a warden when it is told to be one, the command line otherwise.

use std::process::ExitCode;

use baton::runner::process::warden;
use tikv_jemallocator::Jemalloc;

/// What one thread allocates another often frees: callers, the writer, and who answers them.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    // A warden stands in front of one child and must stay small: it starts nothing else.
    if args.next().is_some_and(|first| first == warden::SUBCOMMAND) {
        return warden::main(args);
    }
    baton::cli::main()
}
