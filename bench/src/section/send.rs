//! Owns the section `send`: blocking SendMessage, the node beside all yardsticks.

use std::net::SocketAddr;

use super::interleave;
use crate::load::{Round, Target};
use crate::messages::{Expect, Send};
use crate::node::{self, Node};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, blocking, disk, stats, yardstick};

const NAME: &str = "send";
const BATON: &str = "baton";
const OF_ECHO: Bar = Bar::AtLeast(0.30);
const OF_SDK: Bar = Bar::AtLeast(1.0);
const OF_TWO_COMMIT: Bar = Bar::AtLeast(0.8);
const COMMIT_SAMPLES: usize = 100;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let folder = options.scratch_folder()?;
    let price = disk::CommitPrice::open(folder.path())?.measure(COMMIT_SAMPLES)?;
    let echo = yardstick::start(yardstick::AXUM_ECHO, folder.path())?;
    let sdk = yardstick::start(yardstick::RUST_SDK, folder.path())?;
    let two = yardstick::start(yardstick::TWO_COMMIT, folder.path())?;
    let mut targets = vec![
        Target::new(yardstick::AXUM_ECHO, &echo, Send::new(&echo.door("/"), Expect::Echo)),
        Target::new(yardstick::RUST_SDK, &sdk, Send::new(&sdk.door("/"), Expect::CompletedTask)),
        Target::new(yardstick::TWO_COMMIT, &two, Send::new(&two.door("/"), Expect::CompletedTask)),
    ];
    let node = match options.node_binary()? {
        Some(binary) => Some(Node::start(&binary, folder.path(), &folder.path().join("data"))?),
        None => None,
    };
    targets.extend(node.as_ref().map(|node| node.send_target(BATON)));

    let results = interleave(&targets, options)?;
    report.note(
        NAME,
        "bare SQLite commit",
        stats::median(&price),
        "ms",
        format!("p99 {:.2} ms; one writer, before the rounds", stats::percentile(&price, 0.99)),
    );
    for (target, rounds) in targets.iter().zip(&results) {
        report.throughput(NAME, target.name, rounds);
    }
    let [echo_rounds, sdk_rounds, two_rounds, baton_rounds @ ..] = results.as_slice() else {
        return Err("a yardstick has no rounds".into());
    };
    report.ratio(NAME, "two-commit / axum-echo", (two_rounds, echo_rounds), None);
    report.ratio(NAME, "two-commit / rust-sdk", (two_rounds, sdk_rounds), None);
    report.note(
        NAME,
        "two-commit: commits",
        yardstick_commits(two.address)?,
        "count",
        "since its start".into(),
    );
    if let (Some(node), [baton]) = (node, baton_rounds) {
        hold_bars(report, baton, [echo_rounds, sdk_rounds, two_rounds]);
        report.note(NAME, "baton: commits", node.commits()? as f64, "count", "since its start".into());
        node.stop()?;
    }
    Ok(())
}

fn hold_bars(report: &mut Report, baton: &[Round], [echo, sdk, two]: [&[Round]; 3]) {
    report.ratio(NAME, "baton / axum-echo", (baton, echo), Some(OF_ECHO));
    report.ratio(NAME, "baton / rust-sdk", (baton, sdk), Some(OF_SDK));
    report.ratio(NAME, "baton / two-commit", (baton, two), Some(OF_TWO_COMMIT));
}

fn yardstick_commits(address: SocketAddr) -> Result<f64> {
    Ok(node::commits_in(&blocking::tcp(address)?.get_json("/commits")?)? as f64)
}
