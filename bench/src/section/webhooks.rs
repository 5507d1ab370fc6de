//! Owns the section `webhooks`: notifications per second to a receiver that takes them, alone and beside one that hangs. Each
//! is a node of its own: what hangs in one round would hang in the next.
//!
//! The receiver is shut while tasks are handed in and opened then, so that what is measured is delivery and nothing else.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::messages::send_params;
use crate::node::{ECHO, Node};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::sink::{self, Sink};
use crate::{Result, stats};

const NAME: &str = "webhooks";
const RATE: Bar = Bar::AtLeast(1_500.0);
const BESIDE: Bar = Bar::AtLeast(0.95);
/// Of each round. All are handed in well within the 15 s that a receiver may take.
const TASKS: u64 = 6_000;
/// An echo is working, has its artifact, and is completed.
const EACH: u64 = 3;
const HANGING: u64 = 200;
const SENDERS: u64 = 4;
const WITHIN: Duration = Duration::from_mins(1);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let start = |name: &str| Node::start_with_webhooks(&binary, folder.path(), &folder.path().join(name));
    let (calm, beset) = (start("calm")?, start("beset")?);
    let sink = Sink::start()?;
    // The target is known to be alive, as one in use is.
    for node in [&calm, &beset] {
        round(node, &sink, TASKS / 10)?;
    }
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        alone.push(round(&calm, &sink, TASKS)?);
        let mute = sink::start_mute()?;
        hand_in(&beset, mute, HANGING)?;
        beside.push(round(&beset, &sink, TASKS)?);
        eprintln!(
            "   alone {:>8.0}/s, beside one that hangs {:>8.0}/s",
            alone[alone.len() - 1],
            beside[beside.len() - 1]
        );
    }
    let (one, other) = (stats::median(&alone), stats::median(&beside));
    let spread = |rates: &[f64]| {
        format!("{:.0} to {:.0}", stats::percentile(rates, 0.0), stats::percentile(rates, 1.0))
    };
    report.hold(NAME, "to a local sink", (one, "deliveries/s"), RATE, spread(&alone));
    report.note(NAME, "beside a receiver that hangs", other, "deliveries/s", spread(&beside));
    report.hold(
        NAME,
        "beside / alone",
        (other / one, "ratio"),
        BESIDE,
        format!("{HANGING} tasks owed to it"),
    );
    calm.stop()?;
    beset.stop()
}

/// Notifications per second, once all are owed.
fn round(node: &Node, sink: &Sink, tasks: u64) -> Result<f64> {
    sink.set_open(false);
    let before = sink.taken();
    hand_in(node, sink.address, tasks)?;
    let start = Instant::now();
    sink.set_open(true);
    let owed = tasks * EACH;
    sink.wait_for(before + owed, WITHIN)?;
    Ok(owed as f64 / start.elapsed().as_secs_f64())
}

fn hand_in(node: &Node, receiver: SocketAddr, tasks: u64) -> Result<()> {
    let share = |sender: u64| tasks / SENDERS + u64::from(sender < tasks % SENDERS);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                scope.spawn(move || -> Result<()> {
                    let mut client = node.client()?;
                    for number in 0..share(sender) {
                        let mut params = send_params(number, None);
                        params["configuration"] = json!({
                            "taskPushNotificationConfig": {"url": format!("http://{receiver}/hook"), "token": "bench"},
                        });
                        client.call(ECHO, "SendMessage", &params)?;
                    }
                    Ok(())
                })
            })
            .collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| "a sender panicked")?)
    })
}
