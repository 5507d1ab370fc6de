//! One trial: load on a node that is killed, and the account of it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::account::{Account, ask, audit};
use super::client::{Client, Lost};
use super::load::Load;
use super::node::{Node, Place, Starting};

/// How long the last tasks may take once nothing is killed any more. One that met many deaths waits long for its next
/// attempt.
pub const ENDING: Duration = Duration::from_mins(3);

/// What has not ended.
const OPEN: &str = r#"
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in db.execute("""SELECT hex(id), agent, phase, attempt, counted, not_before / 1000 - unixepoch(), holder, seq
    FROM task WHERE phase IN ('ready', 'running', 'interrupted')"""):
    print(*row)
"#;

/// Clients at work on a place whose nodes come and go.
#[derive(Debug)]
pub struct Trial {
    pub place: Place,
    pub load: Arc<Load>,
    clients: JoinSet<()>,
    /// Longest time that the children of a dead node were there.
    pub childless: Duration,
    /// Longest time from the start of a node to its first answer.
    pub start: Duration,
}

impl Trial {
    pub fn new(place: Place) -> Self {
        let load = Load::new();
        let clients = load.start();
        Self { place, load, clients, childless: Duration::ZERO, start: Duration::ZERO }
    }

    /// A node for the clients.
    pub async fn start(&mut self) -> Node {
        let begun = Instant::now();
        let node = self.place.start().await;
        self.start = self.start.max(begun.elapsed());
        self.load.node_is_at(Some(node.address));
        node
    }

    /// As [`Trial::start`], of one that will die by itself; none where it did before it answered.
    pub async fn start_to_die(&mut self, at: &str, n: usize) -> Option<Node> {
        let node = match self.place.start_to_die(at, n).ready().await {
            Ok(node) => node,
            Err(status) => {
                was_killed(status);
                return None;
            }
        };
        self.load.node_is_at(Some(node.address));
        Some(node)
    }

    pub async fn kill(&mut self, node: Node) {
        self.load.node_is_at(None);
        node.kill().await;
        self.is_dead().await;
    }

    /// Kills a node that may not have begun to answer.
    pub async fn kill_at_start(&mut self, starting: Starting) {
        starting.kill().await;
        self.is_dead().await;
    }

    /// Waits until a node has died by itself.
    pub async fn dies(&mut self, node: Node) {
        was_killed(node.ended().await);
        self.load.node_is_at(None);
        self.is_dead().await;
    }

    /// Lets a node live for a while, unless it dies by itself before that.
    pub async fn kill_after(&mut self, life: Duration, node: Node) {
        match node.ended_within(life).await {
            Ok(status) => {
                was_killed(status);
                self.load.node_is_at(None);
                self.is_dead().await;
            }
            Err(node) => self.kill(node).await,
        }
    }

    /// What must hold when a node has just died.
    pub async fn is_dead(&mut self) {
        self.childless = self.childless.max(self.place.childless().await);
    }

    /// Ends the load on a node that lives, waits for the end of every task, and accounts for all of them.
    pub async fn account(self) -> Account {
        let Self { place, load, clients, .. } = self;
        let node = place.start().await;
        load.node_is_at(Some(node.address));
        let mut client = node.client();
        let end = async {
            load.finish(clients).await;
            settled(&mut client).await.unwrap();
        };
        let ended = timeout(ENDING, end).await.is_ok();
        let open = if ended { String::new() } else { ask(&place.data(), OPEN).await };
        assert!(ended, "not everything has ended:\n{open}");
        let account = Account::of(&load.ledger, &mut client).await;
        drop(client);
        node.stop(&place).await;
        audit(&place.data()).await;
        account
    }
}

/// By SIGKILL, and did not end for a reason of its own.
pub fn was_killed(status: ExitStatus) {
    assert_eq!(status.signal(), Some(9), "{status}");
}

/// Waits until no task is open any more: those of clients that asked for nothing but an acknowledgement, too.
pub async fn settled(client: &mut Client) -> Result<(), Lost> {
    for agent in ["echo", "hello", "slow", "once", "parrot", "survey"] {
        for state in ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"] {
            let open = serde_json::json!({"pageSize": 1, "status": state});
            while client.rpc(agent, "ListTasks", &open, None).await?.unwrap()["totalSize"] != 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    Ok(())
}
