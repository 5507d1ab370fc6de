//! Owns the entry point of the bench: which of its programs this process is, and the order of sections.
//!
//! The same binary is the measuring side, every yardstick server and the `jsonl` agent; the measuring side
//! re-executes it. It knows Baton only by its public doors.

mod blocking;
mod child;
mod cluster;
mod cycles;
mod disk;
mod graphile;
mod grpc;
mod http;
mod jsonl;
mod load;
mod messages;
mod node;
mod options;
mod report;
mod section;
mod sink;
mod stats;
mod work;
mod yardstick;

use std::process::ExitCode;

use options::Options;
use report::Report;

/// Yardsticks have the allocator of the measured server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What can go wrong in a bench is shown to a person; no caller tells the kinds apart.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A run had failures, or with `--strict` missed a bar.
const EXIT_FAILED: u8 = 1;
/// The command line is wrong, or the measured binary is missing.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["yardstick", name] => yardstick::serve(name),
        ["yardstick", name, folder] => yardstick::serve_in(name, folder.as_ref()),
        ["jsonl-agent"] => jsonl::agent(),
        _ => return measure(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn measure(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("bench: {error}\n\n{}", options::HELP);
            return ExitCode::from(EXIT_USAGE);
        }
    };
    if let Err(error) = options.require_node_binary() {
        eprintln!("bench: {error}");
        return ExitCode::from(EXIT_USAGE);
    }

    let mut report = Report::new(&options);
    for section in &options.sections {
        eprintln!("== {}", section.name());
        if let Err(error) = section.run(&options, &mut report) {
            report.fail(section.name(), &error.to_string());
        }
    }
    report.print();
    if let Some(file) = &options.json
        && let Err(error) = report.write_json(file)
    {
        eprintln!("bench: cannot write {}: {error}", file.display());
        return ExitCode::from(EXIT_FAILED);
    }
    if report.has_failures() || (options.strict && report.has_missed_bars()) {
        return ExitCode::from(EXIT_FAILED);
    }
    ExitCode::SUCCESS
}
