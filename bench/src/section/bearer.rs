//! Owns the section `bearer`: what it costs to know a caller by the token of a grant, in instructions of the node for each
//! SendMessage, beside the caller of dev mode who shows none. Counted by callgrind, so that no noise is in it but the sizes
//! of the writer's groups.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::http::Door;
use crate::load::{self, Limits, Target};
use crate::messages::{Expect, Send};
use crate::node::{ECHO, Node};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, stats};

const NAME: &str = "bearer";
const BAR: Bar = Bar::AtMost(1.03);
const REQUESTS: u64 = 3_000;
/// Callgrind makes a node some fifty times slower.
const LIMIT: Duration = Duration::from_mins(3);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let node = Node::start_counted(&binary, folder.path())?;
    let token = node.token(&["echo"])?;
    let local = node.send_target("no token");
    let door = Door { token: Some(token), ..node.door(ECHO) };
    let holder = node.target("token", Send::new(&door, Expect::CompletedTask));
    let (mut without, mut with, mut dumps) = (Vec::new(), Vec::new(), 0);
    for target in [&local, &holder] {
        counted(&node, folder.path(), (options, target), &mut dumps)?;
    }
    for _ in 0..options.rounds {
        without.push(counted(&node, folder.path(), (options, &local), &mut dumps)?);
        with.push(counted(&node, folder.path(), (options, &holder), &mut dumps)?);
    }
    let spread = |all: &[f64]| format!("rounds {:.0}..{:.0}", stats::smallest(all), stats::largest(all));
    report.note(NAME, "without a token", stats::median(&without), "instr", spread(&without));
    report.note(NAME, "by a grant's token", stats::median(&with), "instr", spread(&with));
    let ratio = stats::median(&with) / stats::median(&without);
    report.hold(NAME, "by a token / without", (ratio, "x"), BAR, format!("{REQUESTS} requests each round"));
    node.stop()
}

/// Instructions of the node for each request.
fn counted(
    node: &Node,
    folder: &Path,
    (options, target): (&Options, &Target),
    dumps: &mut usize,
) -> Result<f64> {
    control(node, "--zero")?;
    let limits = Limits {
        connections: options.connections,
        threads: options.threads,
        time: LIMIT,
        count: Some(REQUESTS),
    };
    load::run(target, limits)?;
    control(node, "--dump")?;
    *dumps += 1;
    let dump = std::fs::read_to_string(folder.join(format!("callgrind.out.{dumps}")))?;
    let total = dump.lines().find_map(|line| line.strip_prefix("totals: "));
    let total: f64 = total.ok_or("no total in what callgrind wrote")?.trim().parse()?;
    Ok(total / REQUESTS as f64)
}

fn control(node: &Node, what: &str) -> Result<()> {
    let status = Command::new("callgrind_control").arg(what).arg(node.id().to_string()).output()?;
    if status.status.success() {
        return Ok(());
    }
    Err(format!("callgrind_control {what}: {}", String::from_utf8_lossy(&status.stderr)).into())
}
