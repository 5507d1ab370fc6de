//! Two nodes on one PostgreSQL database, under load: either is killed, the database is, and what they tell one another is
//! cut off.
//!
//! `conformance/chaos --nodes 2` runs this for longer, on the release binary.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::account::Account;
use super::database::Database;
use super::dice::{Dice, asked};
use super::load::Load;
use super::node::{Node, Place};
use super::trial::{ENDING, settled};

/// What is done to them in a run that says nothing else.
const HARMS: u64 = 8;

/// How long they are left alone in between, at most.
const PEACE: Duration = Duration::from_millis(700);

/// How long a node or the database is away, at most.
const AWAY: Duration = Duration::from_millis(1_500);

/// How often what they tell is cut off in a row: they call again after a quarter of a second.
const CUTS: usize = 6;
const CALLED_AGAIN: Duration = Duration::from_millis(200);

/// What was done to them.
#[derive(Debug, Default)]
struct Harms {
    kills: u64,
    both: u64,
    database: u64,
    cuts: u64,
}

/// A node that may be away.
struct Slot {
    place: Place,
    node: Option<Node>,
}

impl Slot {
    /// SIGKILL, and nothing is left of it.
    async fn kill(&mut self) {
        let Some(node) = self.node.take() else { return };
        node.kill().await;
        self.place.childless().await;
    }

    async fn start(&mut self) {
        if self.node.is_none() {
            self.node = Some(self.place.start().await);
        }
    }
}

struct Nodes {
    database: Database,
    slots: [Slot; 2],
    load: Arc<Load>,
    harms: Harms,
}

impl Nodes {
    fn tell(&self) {
        let there: Vec<SocketAddr> =
            self.slots.iter().filter_map(|slot| slot.node.as_ref().map(|node| node.address)).collect();
        self.load.nodes_are_at(there);
    }

    async fn start(&mut self) {
        for slot in &mut self.slots {
            slot.start().await;
        }
        self.tell();
    }

    async fn kill(&mut self, which: &[usize], away: Duration) {
        for n in which {
            self.harms.kills += 1;
            self.slots[*n].kill().await;
            self.tell();
        }
        self.harms.both += u64::from(which.len() > 1);
        tokio::time::sleep(away).await;
        self.start().await;
    }

    /// One of what can be done to them.
    async fn harm(&mut self, dice: &mut Dice) {
        let away = dice.within(AWAY);
        match dice.number(8) {
            0 | 1 => {
                self.harms.database += 1;
                self.database.kill().await;
                tokio::time::sleep(away).await;
                self.database.begin().await;
            }
            2 | 3 => {
                for _ in 0..CUTS {
                    self.harms.cuts += self.database.cut().await;
                    tokio::time::sleep(CALLED_AGAIN).await;
                }
            }
            4 => self.kill(&[0, 1], away).await,
            _ => {
                let one = dice.number(2);
                self.kill(&[one], away).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_on_two_nodes() {
    let seed = asked("BATON_CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = asked("BATON_CHAOS_SECONDS").map(Duration::from_secs);
    let most = asked("BATON_CHAOS_KILLS").unwrap_or(if seconds.is_some() { u64::MAX } else { HARMS });
    println!("seed {seed}");
    let begun = Instant::now();
    let mut dice = Dice(seed);
    let database = Database::start().await;
    let slot = || Slot { place: Place::on(database.url()), node: None };
    let slots = [slot(), slot()];
    let load = Load::new();
    let clients = load.start();
    let mut nodes = Nodes { database, slots, load, harms: Harms::default() };
    nodes.start().await;
    let mut done = 0;
    while done < most && seconds.is_none_or(|seconds| begun.elapsed() < seconds) {
        tokio::time::sleep(dice.within(PEACE)).await;
        nodes.harm(&mut dice).await;
        done += 1;
    }
    let harmed = begun.elapsed();
    let accounts = end(&nodes, clients).await;
    let Harms { kills, both, database, cuts } = nodes.harms;
    let account = &accounts[0];
    println!(
        "kills {kills} ({both} times of both), of the database {database}, connections cut {cuts}, in {harmed:.0?}; \
         acknowledged {}, found {}, lost {}, unanswered {}, tasks {}; events {}, lost {}, doubled {}; {:.0?} in all",
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
    for account in &accounts {
        account.assert_sound();
    }
    assert!(accounts[0].acknowledged > 0 && accounts[0].events > 0);
    for Slot { place, node } in nodes.slots {
        node.unwrap().stop(&place).await;
    }
    nodes.database.audit().await;
}

/// Ends the load, waits for the end of every task, and accounts for all of them at either node.
async fn end(nodes: &Nodes, clients: tokio::task::JoinSet<()>) -> Vec<Account> {
    let mut accounts = Vec::new();
    let ended = timeout(ENDING, async {
        nodes.load.finish(clients).await;
        let mut client = nodes.slots[0].node.as_ref().unwrap().client();
        settled(&mut client).await.unwrap();
    });
    assert!(ended.await.is_ok(), "not everything has ended");
    for slot in &nodes.slots {
        let mut client = slot.node.as_ref().unwrap().client();
        accounts.push(Account::of(&nodes.load.ledger, &mut client).await);
    }
    accounts
}
