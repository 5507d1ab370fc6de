//! Owns the section `postgres`: whole cycles beside graphile-worker on the same database, and how soon a worker and a caller
//! hear of what was committed, by the same node and by another.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::work::{self, CLERK};
use crate::{Result, cycles, graphile, stats};

const NAME: &str = "postgres";
const OF_GRAPHILE: Bar = Bar::AtLeast(0.4);
/// Milliseconds from the answer to who handed the task in to the answer to the worker that waited for it.
const CLAIMED: Bar = Bar::AtMost(10.0);
/// Milliseconds from the answer to the worker to the answer to the caller who waits at the other node.
const SHOWN: Bar = Bar::AtMost(50.0);
const WORKERS: usize = 16;
/// Cycles of one round.
const EACH: u64 = 3_000;
/// Tasks that are handed in one after the other.
const ONE_BY_ONE: u64 = 300;
/// Seconds that a claim waits.
const WAIT: u64 = 20;
/// A request is at the node after this long.
const ON_ITS_WAY: Duration = Duration::from_millis(5);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else { return Ok(()) };
    graphile::install()?;
    let folder = options.scratch_folder()?;
    let cluster = Cluster::start(folder.path())?;
    let node = |name: &str| -> Result<Node> {
        let within = folder.path().join(name);
        std::fs::create_dir_all(&within)?;
        Node::start_with_clerk(&binary, &within, &cluster.url())
    };
    // The nodes of one store seal its secrets with one key.
    let here = node("here")?;
    std::fs::create_dir_all(folder.path().join("there/data"))?;
    std::fs::copy(folder.path().join("here/data/secret.key"), folder.path().join("there/data/secret.key"))?;
    let there = node("there")?;
    let token = here.worker_token(CLERK)?;
    cycle(report, options, &cluster, (&here, &token))?;
    for (where_, worker) in [("the same node", &here), ("another node", &there)] {
        let heard = one_by_one(&here, worker, &token)?;
        let spread = |all: &[f64]| format!("p99 {:.2} ms, {} tasks", stats::percentile(all, 0.99), all.len());
        let claimed = (stats::median(&heard.claimed), "ms");
        report.hold(NAME, &format!("send to claim, {where_}"), claimed, CLAIMED, spread(&heard.claimed));
        let shown = (stats::median(&heard.shown), "ms");
        report.hold(NAME, &format!("completion to caller, {where_}"), shown, SHOWN, spread(&heard.shown));
    }
    here.stop()?;
    there.stop()
}

/// Rates side by side.
fn cycle(report: &mut Report, options: &Options, cluster: &Cluster, node: (&Node, &str)) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first round warms everything up.
    for round in 0..=options.rounds {
        let graphile = graphile::run(cluster.host(), EACH, WORKERS)?.per_second();
        let baton = whole_cycles(node)?;
        eprintln!("   graphile-worker {graphile:>6.0}/s   cycles {baton:>6.0}/s");
        if round > 0 {
            theirs.push(graphile);
            ours.push(baton);
        }
    }
    let range = |all: &[f64]| format!("rounds {:.0}..{:.0}", stats::smallest(all), stats::largest(all));
    report.note(NAME, "graphile-worker", stats::median(&theirs), "/s", range(&theirs));
    report.note(NAME, "baton: send, claim, complete, event", stats::median(&ours), "/s", range(&ours));
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let spread =
        format!("rounds side by side {:.3}..{:.3}", stats::smallest(&ratios), stats::largest(&ratios));
    report.hold(NAME, "baton / graphile-worker", (stats::median(&ratios), "x"), OF_GRAPHILE, spread);
    Ok(())
}

/// Callers hand tasks in and wait for their results, while as many workers take and end them. A cycle is over when the
/// caller has the event that completes its task.
fn whole_cycles((node, token): (&Node, &str)) -> Result<f64> {
    let left = AtomicU64::new(EACH);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut client = node.client()?;
                    while left.load(Ordering::Relaxed) > 0 {
                        let Some(claimed) = work::claim(&mut client, token, 1)? else { continue };
                        work::complete(&mut client, token, &claimed)?;
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        let callers = cycles::run((node.address(), WORKERS), EACH, |client, number| {
            let start = Instant::now();
            work::send_and_wait(client, number)?;
            Ok(start.elapsed())
        });
        if callers.is_err() {
            left.store(0, Ordering::Relaxed);
        }
        workers.into_iter().try_for_each(joined)?;
        Ok(callers?.per_second())
    })
}

/// How long it took until others heard, in milliseconds.
#[derive(Default)]
struct Heard {
    claimed: Vec<f64>,
    shown: Vec<f64>,
}

/// One task at a time: handed in at one node, worked on at a node by a worker that waits for it, while a caller at the first
/// follows its stream.
fn one_by_one(at: &Node, worker: &Node, token: &str) -> Result<Heard> {
    let (mut sender, mut hands) = (at.client()?, worker.client()?);
    let mut heard = Heard::default();
    for number in 0..ONE_BY_ONE {
        let (ready, waits) = mpsc::sync_channel(1);
        let (task, sent, claimed, claimed_at) = std::thread::scope(|scope| -> Result<_> {
            let working = scope.spawn(|| -> Result<_> {
                ready.send(())?;
                let claimed = work::claim(&mut hands, token, WAIT)?.ok_or("nothing came")?;
                Ok((claimed, Instant::now()))
            });
            waits.recv()?;
            // It waits in the node by then, and is not on its way there.
            std::thread::sleep(ON_ITS_WAY);
            let task = work::send(&mut sender, number)?;
            let sent = Instant::now();
            let (claimed, claimed_at) = joined(working)?;
            Ok((task, sent, claimed, claimed_at))
        })?;
        let mut stream = work::Stream::open(at.address(), &task)?;
        let (ended, shown) = std::thread::scope(|scope| -> Result<_> {
            let following =
                scope.spawn(|| stream.read_until(b"TASK_STATE_COMPLETED").map(|()| Instant::now()));
            work::complete(&mut hands, token, &claimed)?;
            let ended = Instant::now();
            Ok((ended, joined(following)?))
        })?;
        // Who hears of it before who did it waits for nothing.
        heard.claimed.push(stats::millis(claimed_at.saturating_duration_since(sent)));
        heard.shown.push(stats::millis(shown.saturating_duration_since(ended)));
    }
    Ok(heard)
}

fn joined<T>(thread: ScopedJoinHandle<Result<T>>) -> Result<T> {
    thread.join().map_err(|_| "a thread panicked")?
}
