//! SIGKILL at random under load.
//!
//! `conformance/chaos` runs this for longer, on the release binary.

use std::time::Duration;

use baton::crash;
use baton_store::crash as writer;
use tokio::time::Instant;

use super::dice::{Dice, asked};
use super::node::{Place, Starting};
use super::trial::Trial;

/// Kills of a run that says nothing else.
const KILLS: u64 = 50;

/// How long a node lives, at most: long enough for children to start and for tasks to end.
const LIFE: Duration = Duration::from_millis(700);

/// Where a commit, and what follows from it, can be torn apart.
const POINTS: [&str; 8] = [
    writer::BEFORE_BEGIN,
    writer::BEFORE_COMMIT,
    writer::COMMITTED,
    writer::OBSERVED,
    crash::CLAIMED,
    crash::SPAWNED,
    crash::HEARD,
    crash::REPORTED,
];

/// One in so many nodes is killed while it starts.
const STILLBORN: usize = 6;

/// A start, the recovery included, that is met by such a kill.
const START: Duration = Duration::from_millis(150);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost() {
    let seed = asked("BATON_CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = asked("BATON_CHAOS_SECONDS").map(Duration::from_secs);
    let most = asked("BATON_CHAOS_KILLS").unwrap_or(if seconds.is_some() { u64::MAX } else { KILLS });
    println!("seed {seed}");
    let begun = Instant::now();
    let mut dice = Dice(seed);
    let mut trial = Trial::new(Place::new());
    let mut kills = 0;
    while kills < most && seconds.is_none_or(|seconds| begun.elapsed() < seconds) {
        if dice.number(STILLBORN) == 0 {
            let starting = Starting::new(trial.place.command());
            tokio::time::sleep(dice.within(START)).await;
            trial.kill_at_start(starting).await;
        } else {
            // Where the binary has named points, half of the nodes go for one of them, if they live to see it.
            let point = POINTS.get(dice.number(2 * POINTS.len()));
            let node = match point {
                Some(point) => trial.start_to_die(point, 1 + dice.number(40)).await,
                None => Some(trial.start().await),
            };
            match node {
                Some(node) => trial.kill_after(dice.within(LIFE), node).await,
                None => trial.is_dead().await,
            }
        }
        kills += 1;
    }
    let (killed, childless, start) = (begun.elapsed(), trial.childless, trial.start);
    let account = trial.account().await;
    println!(
        "kills {kills} in {killed:.0?}, acknowledged {}, found {}, lost {}, unanswered {}, tasks {}; \
         events {}, lost {}, doubled {}; slowest start {start:.0?}, slowest end of children {childless:.0?}; {:.0?} in all",
        account.acknowledged,
        account.found,
        account.lost,
        account.unanswered,
        account.tasks,
        account.events,
        account.lost_events,
        account.doubled_events,
        begun.elapsed(),
    );
    account.assert_sound();
}
