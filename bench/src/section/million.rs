//! Owns the section `million`: whether a node with a million stored tasks sends as fast as one with a
//! thousand, and how soon its first page of ListTasks and the pages of its console are there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{one_round, round_limits};
use crate::load::{self, Limits, Round};
use crate::messages::context_name;
use crate::node::{ECHO, Node};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, stats};

const NAME: &str = "million";
const OF_SMALL: Bar = Bar::AtLeast(0.9);
const FIRST_PAGE: Bar = Bar::AtMost(5.0);
const CONSOLE_PAGE: Bar = Bar::AtMost(100.0);
const SMALL: u64 = 1_000;
/// Half of the stored tasks are spread over this many conversations.
const CONTEXTS: u64 = 1_000;
/// Tasks handed in between two lines of progress.
const PORTION: u64 = 100_000;
const PAGES: usize = 300;
/// The pages of one filter take at most this long together.
const PAGES_TIME: Duration = Duration::from_secs(20);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let data = large_folder(options, folder.path())?;
    let large = Node::start(&binary, folder.path(), &data)?;
    let stored = fill(&large, options)?;

    // Lists first: the rounds below add tasks.
    for (what, params) in filters() {
        list(report, &large, what, &params)?;
    }
    console(report, &large)?;
    let (mut large_rounds, mut small_rounds) = (Vec::new(), Vec::new());
    warm_up(&large, options)?;
    for round in 0..options.rounds {
        // A round adds many thousand tasks, so that the small node is a new one each time.
        let small_folder = folder.path().join(format!("small-{round}"));
        std::fs::create_dir(&small_folder)?;
        let small = Node::start(&binary, &small_folder, &small_folder.join("data"))?;
        small.fill(options, SMALL, CONTEXTS)?;
        warm_up(&small, options)?;
        small_rounds.push(one_round(&small.send_target("small"), options)?);
        small.stop()?;
        large_rounds.push(one_round(&large.send_target("large"), options)?);
    }
    tell(report, stored, &large_rounds, &small_rounds);
    large.stop()
}

fn large_folder(options: &Options, scratch: &Path) -> Result<PathBuf> {
    let Some(keep) = &options.keep else {
        return Ok(scratch.join("large"));
    };
    std::fs::create_dir_all(keep)?;
    // The node runs in a folder of its own.
    Ok(std::fs::canonicalize(keep)?.join(format!("tasks-{}", options.tasks)))
}

/// Tops the node up by really sending, and returns how many tasks it holds.
fn fill(node: &Node, options: &Options) -> Result<u64> {
    let mut stored = node.stored_tasks()?;
    while stored < options.tasks {
        let portion = PORTION.min(options.tasks - stored);
        let start = Instant::now();
        node.fill(options, portion, CONTEXTS)?;
        let seen = node.stored_tasks()?;
        eprintln!("   filled {seen} at {:.0} tasks/s", portion as f64 / start.elapsed().as_secs_f64());
        if seen != stored + portion {
            return Err(format!("{portion} tasks acknowledged, {} counted", seen - stored).into());
        }
        stored = seen;
    }
    Ok(stored)
}

fn warm_up(node: &Node, options: &Options) -> Result<()> {
    let limits = Limits { time: super::WARM_UP, ..round_limits(options) };
    load::run(&node.send_target("warm-up"), limits).map(|_| ())
}

fn filters() -> [(&'static str, Value); 5] {
    [
        ("first page", json!({})),
        ("first page, completed", json!({"status": "TASK_STATE_COMPLETED"})),
        ("first page, working (none)", json!({"status": "TASK_STATE_WORKING"})),
        ("first page, one context", json!({"contextId": context_name(7)})),
        (
            "first page, context and status",
            json!({"contextId": context_name(7), "status": "TASK_STATE_COMPLETED"}),
        ),
    ]
}

fn list(report: &mut Report, node: &Node, what: &str, params: &Value) -> Result<()> {
    let mut client = node.client()?;
    let mut taken = Vec::with_capacity(PAGES);
    let until = Instant::now() + PAGES_TIME;
    let mut total = 0;
    while taken.len() < PAGES && Instant::now() < until {
        let start = Instant::now();
        let page = client.call(ECHO, "ListTasks", params)?;
        taken.push(stats::millis(start.elapsed()));
        total = page["totalSize"].as_u64().ok_or("ListTasks without totalSize")?;
    }
    let p99 = stats::percentile(&taken, 0.99);
    let detail = format!(
        "p99 of {}; p50 {:.2} ms, largest {:.2} ms; totalSize {total}",
        taken.len(),
        stats::percentile(&taken, 0.50),
        stats::largest(&taken)
    );
    report.hold(NAME, what, (p99, "ms"), FIRST_PAGE, detail);
    Ok(())
}

/// The first page of the console's task list, and what else is listed there.
fn console(report: &mut Report, node: &Node) -> Result<()> {
    let cookie = node.sign_in()?;
    for (what, path) in [
        ("console: tasks", "/console/tasks"),
        ("console: tasks, completed", "/console/tasks?state=completed"),
        ("console: tasks, failed (none)", "/console/tasks?state=failed"),
        ("console: tasks, words that the newest thousand do not have", "/console/tasks?q=no+such+words"),
        ("console: what needs you", "/console"),
    ] {
        let mut client = node.client()?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", client.host());
        let (mut taken, mut bytes) = (Vec::with_capacity(PAGES), 0);
        let until = Instant::now() + PAGES_TIME;
        while taken.len() < PAGES && Instant::now() < until {
            let start = Instant::now();
            let (status, _, body) = client.ask(&request)?;
            taken.push(stats::millis(start.elapsed()));
            bytes = body.len();
            if status != 200 {
                return Err(format!("{path}: HTTP {status}").into());
            }
        }
        let detail =
            format!("p99 of {}; p50 {:.2} ms; {bytes} bytes", taken.len(), stats::percentile(&taken, 0.50));
        report.hold(NAME, what, (stats::percentile(&taken, 0.99), "ms"), CONSOLE_PAGE, detail);
    }
    Ok(())
}

fn tell(report: &mut Report, stored: u64, large: &[Round], small: &[Round]) {
    report.note(NAME, "stored tasks at first", stored as f64, "count", String::new());
    report.throughput(NAME, "large: send", large);
    report.throughput(NAME, "small: send", small);
    report.ratio(NAME, "large / small", (large, small), Some(OF_SMALL));
}
