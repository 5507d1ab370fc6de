//! Structured logs, to standard error: standard output belongs to results.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// What is logged where `BATON_LOG` says nothing.
const DEFAULT: &str = "info,hyper=warn";

/// Begins to log. `json` writes one object per line, for collectors.
pub fn start(json: bool) {
    let filter = EnvFilter::try_from_env("BATON_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let colours = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if json {
        builder.json().flatten_event(true).with_target(false).try_init()
    } else {
        builder.with_ansi(colours).with_target(false).try_init()
    };
    // A program that embeds Baton may log already; its way is kept.
    drop(started);
}
