//! Structured logs, to standard error: standard output belongs to results.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// What is logged where `BATON_LOG` says nothing.
const DEFAULT: &str = "info,hyper=warn";

/// Begins to log. `json` writes one object per line, for collectors.
pub fn start(json: bool) {
    let said = std::env::var("BATON_LOG").unwrap_or_default();
    let wanted = said.parse::<Targets>().ok().filter(|_| !said.is_empty());
    let filter = wanted.unwrap_or_else(|| DEFAULT.parse().expect("the default is well-formed"));
    let layer = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let layer = if json {
        layer.json().flatten_event(true).boxed()
    } else {
        layer.with_ansi(std::io::stderr().is_terminal()).boxed()
    };
    // A program that embeds Baton may log already; its way is kept.
    drop(tracing_subscriber::registry().with(filter).with(layer).try_init());
}
