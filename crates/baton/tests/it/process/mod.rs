//! The `process` runner with real children, on a scripted reporter.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use baton::clock::{Clock, new_id};
use baton::runner::process::Process;
use baton::runner::process::child::Spawner;
use baton::runner::process::settings::{Protocol, Settings};
use baton::runner::process::spec::Spec;
use baton::runner::{Fact, Job, Refused, Report, Reporter, Runner as _, Signal, Signals};
use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::model::{Message, Part, Role};
use baton_core::task::{Reason, Request};
use baton_core::time::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

mod examples;
mod jsonl;
mod text;

/// Far more than anything here takes, so that only a hang fails on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Which facts are refused, and how.
pub type Refusal = (fn(&Fact) -> bool, Refused);

/// Takes every fact, and lets a test wait for them.
pub struct Log {
    facts: watch::Sender<Vec<Fact>>,
    /// Comes once for a fact of its own.
    refusal: Mutex<Option<Refusal>>,
    commits: Mutex<usize>,
}

#[async_trait]
impl Report for Log {
    async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        let mut refusal = self.refusal.lock().unwrap();
        if let Some((matches, why)) = refusal.clone().filter(|(matches, _)| facts.iter().any(matches)) {
            // A commit of several is tried again one by one, and must meet the same refusal.
            *refusal = (facts.len() > 1).then_some((matches, why.clone()));
            return Err(why);
        }
        *self.commits.lock().unwrap() += 1;
        self.facts.send_modify(|all| all.extend(facts));
        Ok(())
    }
}

/// An agent, and whatever it is told to do.
pub struct Agent {
    runner: Arc<Process>,
}

/// One attempt under way.
pub struct Attempt {
    pub signals: mpsc::Sender<Signal>,
    pub log: Arc<Log>,
    run: JoinHandle<()>,
}

/// What an attempt is about.
pub struct Order {
    pub context: &'static str,
    pub owner: &'static str,
    pub history: Vec<Message>,
    pub request: Request,
    pub deadline: Option<Timestamp>,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            context: "c",
            owner: "o",
            history: vec![user("hi")],
            request: Request::default(),
            deadline: None,
        }
    }
}

pub fn user(text: &str) -> Message {
    Message::text(Role::User, "m", text)
}

pub fn settings(protocol: Protocol, script: &str) -> Settings {
    let command = ["sh", "-c", script].map(String::from).to_vec();
    Settings::new(protocol, Spec { command, ..Spec::default() })
}

impl Agent {
    pub fn new(settings: Settings) -> Self {
        let spawner = Spawner::with_warden(env!("CARGO_BIN_EXE_baton"));
        Self { runner: Arc::new(Process::new(settings, spawner)) }
    }

    pub fn start(&self, order: Order) -> Attempt {
        self.start_refusing(order, None)
    }

    pub fn start_refusing(&self, order: Order, refusal: Option<Refusal>) -> Attempt {
        let log = Arc::new(Log {
            facts: watch::channel(Vec::new()).0,
            refusal: Mutex::new(refusal),
            commits: Mutex::default(),
        });
        let (sender, signals) = Signals::channel();
        let job = Job {
            task_id: TaskId::new(new_id()),
            agent: AgentName::parse("agent").unwrap(),
            owner: Owner::new(order.owner, ""),
            context_id: ContextId::parse(order.context).unwrap(),
            attempt: 1,
            history: order.history.into_iter().map(Arc::new).collect(),
            request: order.request,
            deadline: order.deadline,
            reporter: Reporter::new(log.clone()),
            signals,
        };
        let runner = Arc::clone(&self.runner);
        Attempt { signals: sender, log, run: tokio::spawn(async move { runner.run(job).await }) }
    }

    /// Runs one attempt to its end.
    pub async fn run(&self, order: Order) -> Vec<Fact> {
        self.start(order).end().await
    }

    pub async fn say(&self, text: &str) -> Vec<Fact> {
        self.run(Order { history: vec![user(text)], ..Order::default() }).await
    }

    pub async fn close(&self) {
        timeout(PATIENCE, self.runner.close()).await.expect("children that rest can be ended");
    }
}

impl Attempt {
    pub async fn signal(&self, signal: Signal) {
        self.signals.send(signal).await.unwrap();
    }

    /// Waits until a fact that `matches` has been reported.
    pub async fn until(&self, matches: impl Fn(&Fact) -> bool) {
        self.until_count(1, matches).await;
    }

    /// Waits until so many facts that `matches` have been reported.
    pub async fn until_count(&self, count: usize, matches: impl Fn(&Fact) -> bool) {
        let mut facts = self.log.facts.subscribe();
        let wait = facts.wait_for(|facts| facts.iter().filter(|fact| matches(fact)).count() >= count);
        timeout(PATIENCE, wait).await.expect("the facts come").unwrap();
    }

    /// Waits for the end of the attempt: all that was reported.
    pub async fn end(self) -> Vec<Fact> {
        timeout(PATIENCE, self.run).await.expect("the attempt ends").unwrap();
        self.log.facts.borrow().clone()
    }
}

/// The text of all artifacts, piece by piece.
pub fn written(facts: &[Fact]) -> String {
    let chunks = facts.iter().filter_map(|fact| match fact {
        Fact::Artifact(chunk) => Some(chunk),
        _ => None,
    });
    chunks.flat_map(|chunk| &chunk.artifact.parts).filter_map(Part::as_text).collect()
}

/// Reason, words and whether it is tried again.
pub fn failure(facts: &[Fact]) -> (Reason, String, bool) {
    match facts.last() {
        Some(Fact::Fail { reason, message, retryable }) => {
            (*reason, message.as_ref().map(Message::joined_text).unwrap_or_default(), *retryable)
        }
        other => panic!("no failure: {other:?}"),
    }
}

pub fn is_ask(fact: &Fact) -> bool {
    matches!(fact, Fact::Ask { .. })
}

pub fn is_progress(fact: &Fact) -> bool {
    matches!(fact, Fact::Progress(_))
}

pub fn is_artifact(fact: &Fact) -> bool {
    matches!(fact, Fact::Artifact(_))
}

/// Looks until the process is gone.
pub async fn until_gone(pid: &str) {
    let path = format!("/proc/{pid}");
    let gone = async {
        while std::path::Path::new(&path).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("the process goes");
}

/// The wall clock, `ahead` of now.
pub fn soon(ahead: Duration) -> Timestamp {
    Clock::default().now().after(ahead)
}
