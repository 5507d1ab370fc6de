//! Owns the section `start`: from the start of the process to its first answered request.

use std::path::Path;

use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, stats};

const NAME: &str = "start";
/// ms
const FIRST_ANSWER: Bar = Bar::AtMost(100.0);
const STARTS: usize = 20;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let (mut fresh, mut again) = (Vec::new(), Vec::new());
    for number in 0..STARTS {
        let data = folder.path().join(format!("data-{number}"));
        fresh.push(start(&binary, folder.path(), &data)?);
        again.push(start(&binary, folder.path(), &data)?);
    }
    for (what, taken) in [("new data folder", fresh), ("existing data folder", again)] {
        let largest = stats::largest(&taken);
        let detail = format!("median of {STARTS}; largest {largest:.1} ms");
        report.hold(NAME, what, (stats::median(&taken), "ms"), FIRST_ANSWER, detail);
        report.hold(NAME, &format!("{what}, largest"), (largest, "ms"), FIRST_ANSWER, String::new());
    }
    Ok(())
}

fn start(binary: &Path, folder: &Path, data: &Path) -> Result<f64> {
    // Returns after /healthz was answered.
    let node = Node::start(binary, folder, data)?;
    let taken = stats::millis(node.age());
    node.stop()?;
    Ok(taken)
}
