//! `baton serve`: a node, until it is told to stop.

use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, Failure, Global};
use crate::clock::Clock;
use crate::config::{self, Flags};
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: config::settings::Settings) -> Result<Exit, Failure> {
    let node =
        Node::start(settings, Clock::default()).await.map_err(|why| Failure::failed(why.to_string()))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    node.stop().await;
    Ok(Exit::Done)
}
