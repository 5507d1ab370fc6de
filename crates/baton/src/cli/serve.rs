//! `baton serve`: a node, until it is told to stop.

use std::fmt::Write as _;
use std::io::Write as _;

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tracing::error;

use super::{Exit, Failure, Global};
use crate::clock::Clock;
use crate::config::{self, Flags};
use crate::runner::process::sweep;
use crate::server::Node;
use crate::telemetry;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
}

pub fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let flags = Flags { data_dir: global.data_dir.clone(), ..args.flags };
    let settings = config::load(&flags).map_err(|why| Failure::usage(why.to_string()))?;
    telemetry::start(global.json);
    sweep::adopt_orphans()?;
    outlive_full_disks()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(&flags, settings))
}

/// A file that may not grow is a full disk: the write fails and somebody is told, instead of a signal that ends the
/// node. Call it before any thread starts, which all take this over.
fn outlive_full_disks() -> std::io::Result<()> {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGXFSZ);
    Ok(blocked.thread_block()?)
}

async fn serve(flags: &Flags, settings: config::settings::Settings) -> Result<Exit, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut node =
        Node::start(settings, Clock::default()).await.map_err(|why| Failure::failed(why.to_string()))?;
    greet(&node);
    let draining = node.service.draining.clone();
    let exit = loop {
        tokio::select! {
            // The operator says so.
            () = draining.cancelled() => break Ok(Exit::Done),
            _ = terminate.recv() => break Ok(Exit::Done),
            _ = interrupt.recv() => break Ok(Exit::Done),
            _ = hang_up.recv() => reload(flags, &node),
            () = node.failed() => break Err(Failure::failed("a listener failed; see the log".to_owned())),
        }
    };
    node.stop().await;
    exit
}

/// Reads the configuration again. One that is wrong changes nothing.
fn reload(flags: &Flags, node: &Node) {
    match config::load(flags) {
        Ok(settings) => node.reload(&settings),
        Err(why) => error!(error = %why, "the configuration was not reloaded; the node goes on as it is"),
    }
}

/// A request that any agent understands.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hello, Baton"}]}}}"#;

/// Says where the node is to be had, in lines that work as pasted. A closed standard output is nobody's problem.
fn greet(node: &Node) {
    let mut out = String::new();
    for url in &node.urls {
        let _ = writeln!(out, "Baton listens on {url}");
    }
    let _ = writeln!(out, "The operator's socket is {}", node.socket.display());
    if let Some(agent) = node.service.agents.find_default() {
        let url = node.service.site.url(agent.name());
        let token = if node.is_dev() { "" } else { " -H 'Authorization: Bearer TOKEN'" };
        let _ = write!(
            out,
            "\nThe card of {name}: {url}/.well-known/agent-card.json\n\nTry it:\n\
             \x20 curl -s {url}{token} -H 'Content-Type: application/json' -d '{body}'\n\
             \x20 {program} send {url} 'Hello, Baton'\n",
            name = agent.name(),
            body = HELLO,
            program = program(),
        );
    }
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush());
}

/// How this program is called from where it was started.
fn program() -> String {
    match std::env::args().next() {
        Some(path) if path.contains('/') => path,
        Some(_) | None => "baton".to_owned(),
    }
}
