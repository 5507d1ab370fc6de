//! Owns the section `memory`: resident memory of an idle node, and whether it grows with the tasks it has seen.

use std::time::Duration;

use crate::Result;
use crate::child::Memory;
use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};

const NAME: &str = "memory";
/// MiB
const IDLE: Bar = Bar::AtMost(15.0);
const GROWTH: Bar = Bar::AtMost(1.1);
const FEW: u64 = 20_000;
const MANY: u64 = 200_000;
/// A node is idle, or has given back what it can, after this long without a request.
const SETTLE: Duration = Duration::from_secs(3);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let node = Node::start(&binary, folder.path(), &folder.path().join("data"))?;
    let idle = settled(&node)?;
    report.hold(NAME, "idle", (idle.resident, "MiB"), IDLE, anonymous(idle));
    node.fill(options, FEW, 0)?;
    let few = settled(&node)?;
    report.note(NAME, "after 20,000 tasks", few.resident, "MiB", anonymous(few));
    node.fill(options, MANY - FEW, 0)?;
    let many = settled(&node)?;
    report.note(NAME, "after 200,000 tasks", many.resident, "MiB", anonymous(many));
    let growth = many.resident / few.resident;
    report.hold(NAME, "200,000 / 20,000", (growth, "x"), GROWTH, String::new());
    node.stop()
}

/// What a node takes that nobody asked anything of for a while: no signal says that it has given back what it can.
pub fn settled(node: &Node) -> Result<Memory> {
    std::thread::sleep(SETTLE);
    node.memory()
}

fn anonymous(memory: Memory) -> String {
    format!("{:.1} MiB of it anonymous", memory.anonymous)
}
