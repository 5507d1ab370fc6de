//! Owns the section `jsonl`: what the node adds to a warm turn of a process agent, and its commits per turn.
//!
//! A commit's price is the disk's, so it is measured in the same rounds and taken off what the turn costs
//! over the bare pipe.

use std::time::Instant;

use crate::blocking::Client;
use crate::jsonl::Pipe;
use crate::messages::{completed_task, send_params};
use crate::node::{Node, TURN};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, disk, stats};

const NAME: &str = "jsonl";
const COMMITS_PER_TURN: Bar = Bar::AtMost(3.0);
const OVER_PIPE: Bar = Bar::AtMost(1.0);
/// Every turn belongs to one conversation, so that one warm child takes them all.
const CONTEXT: &str = "bench-turns";
const WARM_UP: u64 = 20;
/// Of each kind, per round.
const TURNS: u64 = 50;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let price = disk::CommitPrice::open(folder.path())?;
    let node = Node::start_with_jsonl(&binary, folder.path())?;
    let mut client = node.client()?;
    let mut pipe = Pipe::start()?;
    let (mut turns, mut bare, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    let mut commits = 0;
    for number in 0..WARM_UP {
        turn(&mut client, number)?;
        pipe.turn(number)?;
    }
    for round in 1..=options.rounds as u64 {
        let numbers = round * TURNS..(round + 1) * TURNS;
        let before = node.commits()?;
        for number in numbers.clone() {
            turns.push(turn(&mut client, number)?);
        }
        commits += node.commits()? - before;
        for number in numbers {
            let start = Instant::now();
            pipe.turn(number)?;
            bare.push(stats::millis(start.elapsed()));
        }
        prices.extend(price.measure(TURNS as usize)?);
    }
    tell(report, &turns, &bare, &prices, commits);
    node.stop()
}

fn tell(report: &mut Report, turns: &[f64], bare: &[f64], prices: &[f64], commits: u64) {
    let per_turn = commits as f64 / turns.len() as f64;
    let over_pipe = stats::median(turns) - stats::median(bare);
    let p99 = |values: &[f64]| format!("p99 {:.2} ms", stats::percentile(values, 0.99));
    report.note(NAME, "turn, median", stats::median(turns), "ms", p99(turns));
    report.note(NAME, "bare pipe, median", stats::median(bare), "ms", p99(bare));
    report.note(NAME, "bare SQLite commit, median", stats::median(prices), "ms", p99(prices));
    report.hold(
        NAME,
        "commits per turn",
        (per_turn, "count"),
        COMMITS_PER_TURN,
        format!("{commits} in {} turns", turns.len()),
    );
    report.note(NAME, "turn over pipe", over_pipe, "ms", "commits included".into());
    report.hold(
        NAME,
        "turn over pipe, less its commits",
        (over_pipe - per_turn * stats::median(prices), "ms"),
        OVER_PIPE,
        "commits at the price of bare ones".into(),
    );
}

fn turn(client: &mut Client<std::net::TcpStream>, number: u64) -> Result<f64> {
    let params = send_params(number, Some(CONTEXT));
    let start = Instant::now();
    let result = client.call(TURN, "SendMessage", &params)?;
    let taken = stats::millis(start.elapsed());
    completed_task(&result, number).ok_or_else(|| format!("not completed: {result}"))?;
    Ok(taken)
}
