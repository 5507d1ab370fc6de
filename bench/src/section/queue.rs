//! Owns the section `queue`: workers that claim tasks and complete them, beside a server that commits each request once;
//! and whether many waiting tasks slow a claim.

use std::time::{Duration, Instant};

use crate::child::Server;
use crate::cycles::{self, Cycles};
use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::work::{self, CLERK};
use crate::{Result, messages, stats, yardstick};

const NAME: &str = "queue";
/// Of half the yardstick: a cycle is two requests with a commit each.
const OF_HALF: Bar = Bar::AtLeast(0.7);
const SLOWER: Bar = Bar::AtMost(1.2);
const WORKERS: usize = 16;
/// Cycles of one round.
const EACH: u64 = 4_000;
const WAITING: u64 = 100_000;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let folder = options.scratch_folder()?;
    let bare = yardstick::start(yardstick::ONE_COMMIT, folder.path())?;
    let Some(binary) = options.node_binary()? else { return Ok(()) };
    let node = |name: &str| -> Result<Node> {
        let within = folder.path().join(name);
        std::fs::create_dir_all(&within)?;
        Node::start_with_clerk(&binary, &within, "sqlite")
    };
    let (few, many) = (node("few")?, node("many")?);
    let (few_token, many_token) = (few.worker_token(CLERK)?, many.worker_token(CLERK)?);
    work::hand_in(many.address(), WORKERS, WAITING)?;
    commit_once(&bare, EACH)?;
    let (mut yard, mut little, mut much) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms everything up.
    for round in 0..=options.rounds {
        let one = commit_once(&bare, EACH)?;
        let two = cycle(&few, &few_token)?;
        let three = cycle(&many, &many_token)?;
        eprintln!(
            "   one-commit {:>6.0}/s   cycles {:>6.0}/s   with {WAITING} waiting {:>6.0}/s",
            one.per_second(),
            two.per_second(),
            three.per_second()
        );
        if round > 0 {
            yard.push(one);
            little.push(two);
            much.push(three);
        }
    }
    show(report, "one-commit", &yard, "req/s");
    show(report, "baton: claim, complete", &little, "/s");
    show(report, "baton: the same, 100,000 waiting", &much, "/s");
    let halves: Vec<f64> =
        little.iter().zip(&yard).map(|(ours, bare)| ours.per_second() * 2.0 / bare.per_second()).collect();
    let spread =
        |all: &[f64]| format!("rounds side by side {:.3}..{:.3}", stats::smallest(all), stats::largest(all));
    report.hold(NAME, "baton / half of one-commit", (stats::median(&halves), "x"), OF_HALF, spread(&halves));
    let slower: Vec<f64> = much.iter().zip(&little).map(|(much, few)| much.step() / few.step()).collect();
    report.hold(
        NAME,
        "a claim, 100,000 waiting / few",
        (stats::median(&slower), "x"),
        SLOWER,
        spread(&slower),
    );
    few.stop()?;
    many.stop()
}

fn show(report: &mut Report, what: &str, rounds: &[Cycles], unit: &'static str) {
    let rates: Vec<f64> = rounds.iter().map(Cycles::per_second).collect();
    let steps: Vec<f64> = rounds.iter().map(Cycles::step).collect();
    let detail = format!("a claim or request takes {:.2} ms (p50)", stats::median(&steps));
    report.note(NAME, what, stats::median(&rates), unit, detail);
}

/// Tasks are handed in first; only their cycles are timed.
fn cycle(node: &Node, token: &str) -> Result<Cycles> {
    work::hand_in(node.address(), WORKERS, EACH)?;
    cycles::run((node.address(), WORKERS), EACH, |client, _| {
        let start = Instant::now();
        let claimed = work::claim(client, token, 0)?.ok_or("nothing to claim")?;
        let took = start.elapsed();
        work::complete(client, token, &claimed)?;
        Ok(took)
    })
}

fn commit_once(server: &Server, count: u64) -> Result<Cycles> {
    cycles::run((server.address, WORKERS), count, |client, number| {
        let body = messages::send_body(number, false);
        let start = Instant::now();
        client.post("/", body.as_bytes())?;
        Ok::<Duration, _>(start.elapsed())
    })
}
