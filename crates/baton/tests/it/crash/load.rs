//! Clients that do what clients do, and go on where they were when their node comes back.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Call, Client, Fault, Frame, Lost, Send, Stream};
use super::ledger::{Ledger, Segment, is_over, is_terminal, state};

/// Between two tries of a client whose node is away, and between two tasks of the quick ones: enough load to meet every
/// moment of a commit, and not so much that the books take longer than the trial.
const PAUSE: Duration = Duration::from_millis(4);

/// Clients of each kind that starts no process.
const QUICK: usize = 4;

/// Of a stream that is resumed after its last event.
const OVER: &str = "UNSUPPORTED_OPERATION";

const NOT_CANCELABLE: &str = "TASK_NOT_CANCELABLE";

/// What all clients share.
#[derive(Debug)]
pub struct Load {
    pub ledger: Ledger,
    /// Where the nodes are that are there.
    nodes: watch::Sender<Vec<SocketAddr>>,
    turns: AtomicUsize,
    stop: CancellationToken,
    messages: AtomicU64,
}

impl Load {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            ledger: Ledger::default(),
            nodes: watch::Sender::new(Vec::new()),
            turns: AtomicUsize::new(0),
            stop: CancellationToken::new(),
            messages: AtomicU64::new(0),
        })
    }

    /// Starts a client of each kind, and more of the quickest: a commit should be for several.
    pub fn start(self: &Arc<Self>) -> JoinSet<()> {
        let mut clients = JoinSet::new();
        for _ in 0..QUICK {
            clients.spawn(Arc::clone(self).repeat(Self::echo));
            clients.spawn(Arc::clone(self).repeat(Self::shout));
        }
        clients.spawn(Arc::clone(self).repeat(Self::hello));
        clients.spawn(Arc::clone(self).repeat(Self::follow_text));
        clients.spawn(Arc::clone(self).repeat(Self::follow_jsonl));
        clients.spawn(Arc::clone(self).repeat(Self::survey));
        clients.spawn(Arc::clone(self).repeat(Self::once));
        clients.spawn(Arc::clone(self).repeat(Self::change_of_mind));
        clients
    }

    pub fn node_is_at(&self, address: Option<SocketAddr>) {
        self.nodes_are_at(address.into_iter().collect());
    }

    /// Clients turn to one after the other.
    pub fn nodes_are_at(&self, addresses: Vec<SocketAddr>) {
        self.nodes.send_replace(addresses);
    }

    /// Lets every client finish what it is at.
    pub async fn finish(&self, mut clients: JoinSet<()>) {
        self.stop.cancel();
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
    }

    async fn repeat<F: Future<Output = ()>>(self: Arc<Self>, turn: impl Fn(Arc<Self>) -> F) {
        while !self.stop.is_cancelled() {
            turn(Arc::clone(&self)).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn message(&self, agent: &'static str) -> Send {
        let n = self.messages.fetch_add(1, Ordering::Relaxed);
        Send::new(agent, &format!("m-{agent}-{n}"), &format!("text {n}"))
    }

    async fn client(&self) -> Client {
        let mut nodes = self.nodes.subscribe();
        let there = nodes.wait_for(|nodes| !nodes.is_empty()).await.unwrap();
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        Client::new(there[turn % there.len()])
    }

    /// Tries until there is an answer. What a node that drains refuses is asked again.
    async fn answered<T, F>(&self, ask: impl Fn(Client) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Call<T>>,
    {
        loop {
            match ask(self.client().await).await {
                Ok(Err(fault)) if fault.status == 503 => {}
                Ok(answer) => return answer,
                Err(Lost) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a keyed message until it is acknowledged: the task as it was answered.
    pub async fn send(&self, send: &Send) -> Value {
        self.ledger.sends(send);
        let answer = self.answered(|mut client| async move { client.send(send).await }).await;
        let task = answer.unwrap_or_else(|fault| panic!("{send:?} was refused: {fault:?}"));
        self.ledger.acknowledged(send, &task);
        self.ledger.saw(send.agent, &task);
        task
    }

    pub async fn get(&self, agent: &'static str, task: &str) -> Value {
        let got = self.answered(|mut client| async move { client.get(agent, task).await }).await;
        let task = got.unwrap_or_else(|fault| panic!("{task} is not there: {fault:?}"));
        self.ledger.saw(agent, &task);
        task
    }

    async fn echo(self: Arc<Self>) {
        let task = self.send(&self.message("echo")).await;
        // Here and there, what was just answered is asked for again.
        if task["id"].as_str().is_some_and(|id| id.ends_with('0')) {
            self.get("echo", task["id"].as_str().unwrap()).await;
        }
    }

    /// Without a key: what was not answered is not sent again.
    async fn shout(self: Arc<Self>) {
        let send = self.message("echo").unkeyed();
        self.ledger.sends(&send);
        if let Ok(answer) = self.client().await.send(&send).await {
            let Ok(task) = answer else { return };
            self.ledger.acknowledged(&send, &task);
            self.ledger.saw("echo", &task);
        }
    }

    async fn hello(self: Arc<Self>) {
        self.send(&self.message("hello")).await;
    }

    async fn follow_text(self: Arc<Self>) {
        self.follow(&self.message("slow")).await;
    }

    async fn follow_jsonl(self: Arc<Self>) {
        self.follow(&self.message("parrot").in_context("kept")).await;
    }

    async fn once(self: Arc<Self>) {
        let send = self.message("once").at_once();
        let task = self.send(&send).await;
        self.resume("once", task["id"].as_str().unwrap(), None).await;
    }

    async fn change_of_mind(self: Arc<Self>) {
        let task = self.send(&self.message("slow").at_once()).await;
        let id = task["id"].as_str().unwrap();
        self.ledger.cancels("slow", id);
        match self.answered(|mut client| async move { client.cancel("slow", id).await }).await {
            Ok(task) => self.ledger.saw("slow", &task),
            Err(fault) => assert_eq!(fault.reason, NOT_CANCELABLE, "{fault:?}"),
        }
        self.resume("slow", id, None).await;
    }

    /// Answers until nothing more is asked.
    async fn survey(self: Arc<Self>) {
        let mut task = self.send(&self.message("survey").in_context("asked")).await;
        let id = task["id"].as_str().unwrap().to_owned();
        while !is_terminal(&task) {
            if state(&task) == "TASK_STATE_INPUT_REQUIRED" {
                task = self.send(&self.message("survey").in_task(&id)).await;
            } else {
                tokio::time::sleep(PAUSE).await;
                task = self.get("survey", &id).await;
            }
        }
    }

    /// Sends over a stream and reads it to the task's end, over as many streams as it takes.
    async fn follow(&self, send: &Send) {
        self.ledger.sends(send);
        loop {
            let opened = self.answered(|mut client| async move { client.stream(send).await }).await;
            let stream = opened.unwrap_or_else(|fault| panic!("{send:?} was refused: {fault:?}"));
            let Some(read) = self.read(send.agent, stream).await else { continue };
            self.ledger.acknowledged(send, &read.first);
            if !read.over {
                self.resume(send.agent, read.first["id"].as_str().unwrap(), Some(read.last)).await;
            }
            return;
        }
    }

    /// Subscribes to a task after what was seen of it, again and again to its end.
    async fn resume(&self, agent: &'static str, task: &str, mut last: Option<u64>) {
        loop {
            let opened =
                self.answered(|mut client| async move { client.subscribe(agent, task, last).await }).await;
            let read = match opened {
                Ok(stream) => self.read(agent, stream).await,
                Err(fault) => {
                    assert_eq!(fault.reason, OVER, "{task} after {last:?}: {fault:?}");
                    let whole = self.get(agent, task).await;
                    return assert!(is_terminal(&whole), "{whole}");
                }
            };
            let Some(read) = read else { continue };
            assert!(
                last.is_none_or(|last| last == read.from),
                "{task} after {last:?} went on after {}",
                read.from
            );
            if read.over {
                return;
            }
            last = Some(read.last);
        }
    }

    /// Reads a stream as far as it goes, and writes down what it carried; nothing where not even its first frame came.
    async fn read(&self, agent: &'static str, mut stream: Stream) -> Option<Read> {
        let first = stream.next().await.ok()??;
        let (from, task) = (first.id, first.item["task"].clone());
        let id = task["id"].as_str().unwrap_or_else(|| panic!("a stream began with {task}")).to_owned();
        let mut over = is_terminal(&task);
        let mut events = Vec::new();
        while let Ok(Some(frame)) = stream.next().await {
            over |= frame.item["statusUpdate"]["status"]["state"].as_str().is_some_and(is_over);
            events.push(frame);
        }
        let last = events.last().map_or(from, |event: &Frame| event.id);
        self.ledger.streamed(agent, &id, Segment { from, events });
        Some(Read { first: task, from, last, over })
    }
}

/// What one stream carried.
struct Read {
    first: Value,
    from: u64,
    last: u64,
    /// The task's end was among it.
    over: bool,
}
