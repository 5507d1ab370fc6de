//! Owns the yardstick servers that Baton is compared with, each in a process of its own.
//!
//! `axum_echo` is the limit, `rust_sdk` the official SDK in memory, `two_commit` the least that a durable
//! server with two commits per task does, and `one-commit` the half of it: what was sent is on disk. None of them may be made slower, or faster by doing less.

mod axum_echo;
mod rust_sdk;
mod two_commit;
mod writer;

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

use crate::Result;
use crate::child::Server;

pub const AXUM_ECHO: &str = "axum-echo";
pub const RUST_SDK: &str = "rust-sdk";
pub const TWO_COMMIT: &str = "two-commit";
pub const ONE_COMMIT: &str = "one-commit";

/// Starts a yardstick as a child process; its files, if it has any, go to `folder`.
pub fn start(name: &str, folder: &Path) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["yardstick", name]).current_dir(folder);
    if name == TWO_COMMIT || name == ONE_COMMIT {
        command.arg(folder);
    }
    Server::start(command, &folder.join(format!("{name}.log")))
}

/// Serves a yardstick in this process until standard input ends.
pub fn serve(name: &str) -> Result<()> {
    match name {
        AXUM_ECHO => listen(axum_echo::router),
        RUST_SDK => listen(rust_sdk::router),
        _ => Err(format!("there is no yardstick `{name}` without a folder").into()),
    }
}

/// Serves a yardstick that stores files in `folder`.
pub fn serve_in(name: &str, folder: &Path) -> Result<()> {
    let writer = writer::Writer::start(&folder.join(format!("{name}.db")))?;
    match name {
        TWO_COMMIT => listen(move || two_commit::router(writer)),
        ONE_COMMIT => listen(move || two_commit::router_of_one(writer)),
        _ => Err(format!("there is no yardstick `{name}` with a folder").into()),
    }
}

fn listen(router: impl FnOnce() -> Router) -> Result<()> {
    // Nobody may be left behind by a bench that was killed.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router()).await?;
        Ok(())
    })
}
