//! Owns the section `get`: GetTask of existing tasks, beside the bare echo.

use super::interleave;
use crate::load::Target;
use crate::messages::{Expect, Get, completed_task, send_params};
use crate::node::{ECHO, Node};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, yardstick};

const NAME: &str = "get";
const OF_ECHO: Bar = Bar::AtLeast(0.60);
/// Tasks that are read in turn.
const TASKS: u64 = 1_000;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let folder = options.scratch_folder()?;
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let node = Node::start(&binary, folder.path(), &folder.path().join("data"))?;
    let echo = yardstick::start(yardstick::AXUM_ECHO, folder.path())?;
    let ids = create_tasks(&node)?;
    let targets = [
        Target::new(yardstick::AXUM_ECHO, &echo, Get::new(&echo.door("/"), ids.clone(), Expect::Echo)),
        node.target("baton", Get::new(&node.door(ECHO), ids, Expect::CompletedTask)),
    ];
    let results = interleave(&targets, options)?;
    for (target, rounds) in targets.iter().zip(&results) {
        report.throughput(NAME, target.name, rounds);
    }
    report.ratio(NAME, "baton / axum-echo", (&results[1], &results[0]), Some(OF_ECHO));
    node.stop()
}

fn create_tasks(node: &Node) -> Result<Vec<String>> {
    let mut client = node.client()?;
    (0..TASKS)
        .map(|number| {
            let result = client.call(ECHO, "SendMessage", &send_params(number, None))?;
            let task = completed_task(&result, number).ok_or_else(|| format!("not completed: {result}"))?;
            task["id"].as_str().map(str::to_owned).ok_or_else(|| "a task without an id".into())
        })
        .collect()
}
