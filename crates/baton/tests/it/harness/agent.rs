//! Agents that a test plays: each attempt is handed to the test, which says what it does and hears what it is told.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use baton::config::settings::{Agent, Runner as Kind};
use baton::runner::{Fact, Job, Refused, Runner, Signal};
use baton::worker::dispatcher::LaneSettings;
use baton_core::model::{Artifact, Message, Part, Role};
use baton_core::task::{Chunk, Interruption, Reason};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::soon;

/// The runners of the agents that the test plays.
pub struct Scripts {
    by_agent: HashMap<&'static str, Script>,
}

struct Script {
    runner: Arc<Stage>,
    attempts: Mutex<mpsc::UnboundedReceiver<Attempt>>,
}

/// Hands every attempt to the test and waits until that lets go of it.
struct Stage(mpsc::UnboundedSender<Attempt>);

/// One attempt at one task, in the test's hands. It is over when this is dropped.
pub struct Attempt {
    pub job: Job,
    _over: oneshot::Sender<()>,
}

#[async_trait]
impl Runner for Stage {
    async fn run(&self, job: Job) {
        let (over, ended) = oneshot::channel();
        let _ = self.0.send(Attempt { job, _over: over });
        let _ = ended.await;
    }

    async fn close(&self) {}
}

impl Scripts {
    pub fn new(agents: &[&'static str]) -> Self {
        let script = |name: &&'static str| {
            let (sender, attempts) = mpsc::unbounded_channel();
            (*name, Script { runner: Arc::new(Stage(sender)), attempts: Mutex::new(attempts) })
        };
        Self { by_agent: agents.iter().map(script).collect() }
    }

    pub fn lane(&self, agent: &Agent) -> Option<LaneSettings> {
        let script = self.by_agent.get(agent.name.as_str())?;
        let concurrency = match &agent.runner {
            Kind::Process(process) => process.concurrency,
            Kind::Echo | Kind::Pull(_) => 1,
        };
        Some(LaneSettings {
            runner: Arc::clone(&script.runner) as _,
            concurrency,
            deadline: None,
            budget: None,
        })
    }

    pub async fn next(&self, agent: &str) -> Attempt {
        self.by_agent[agent].attempts.lock().await.recv().await.expect("the runner lives")
    }

    pub fn is_idle(&self, agent: &str) -> bool {
        self.by_agent[agent].attempts.try_lock().is_ok_and(|attempts| attempts.is_empty())
    }
}

fn words(text: &str) -> Message {
    Message::text(Role::Agent, "", text)
}

impl Attempt {
    pub fn task(&self) -> String {
        self.job.task_id.to_string()
    }

    /// What the newest message says.
    pub fn told(&self) -> String {
        self.job.history.last().expect("a task begins with a message").joined_text()
    }

    pub async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        soon(self.job.reporter.report(facts)).await
    }

    async fn says(&self, fact: Fact) {
        self.report(vec![fact]).await.expect("the report is taken");
    }

    pub async fn progress(&self, text: &str) {
        self.says(Fact::Progress(words(text))).await;
    }

    /// A whole artifact of one text.
    pub async fn write(&self, id: &str, text: &str) {
        self.says(chunk(id, text, false, false)).await;
    }

    /// More of an artifact.
    pub async fn append(&self, id: &str, text: &str) {
        self.says(chunk(id, text, true, false)).await;
    }

    pub async fn ask(&self, text: &str) {
        self.says(Fact::Ask { kind: Interruption::Input, message: Some(words(text)) }).await;
    }

    pub async fn ask_for_credentials(&self, text: &str) {
        self.says(Fact::Ask { kind: Interruption::Auth, message: Some(words(text)) }).await;
    }

    pub async fn complete(self) {
        self.says(Fact::Complete(None)).await;
    }

    pub async fn complete_saying(self, text: &str) {
        self.says(Fact::Complete(Some(words(text)))).await;
    }

    pub async fn reply(self, text: &str) {
        self.says(Fact::Reply(words(text))).await;
    }

    pub async fn reject(self, text: &str) {
        self.says(Fact::Reject(Some(words(text)))).await;
    }

    pub async fn fail(self, text: &str) {
        self.says(Fact::Fail { reason: Reason::Failed, message: Some(words(text)), retryable: false }).await;
    }

    /// Gives the task back unharmed.
    pub async fn release(self) {
        self.says(Fact::Released).await;
    }

    pub async fn hears(&mut self) -> Signal {
        soon(self.job.signals.next()).await
    }

    /// The text of the message that comes next.
    pub async fn hears_message(&mut self) -> String {
        match self.hears().await {
            Signal::Message(message) => message.joined_text(),
            other => panic!("no message: {other:?}"),
        }
    }

    /// Is told to stop, and does.
    pub async fn stops(mut self) {
        assert_eq!(self.hears().await, Signal::Cancel);
        self.says(Fact::Canceled).await;
    }

    /// Hears that the node stops, and gives the task back.
    pub async fn drains(mut self) {
        assert_eq!(self.hears().await, Signal::Drain);
        self.release().await;
    }
}

/// A piece of a text artifact.
pub fn chunk(id: &str, text: &str, append: bool, last_chunk: bool) -> Fact {
    let artifact =
        Artifact { artifact_id: id.to_owned(), parts: vec![Part::text(text)], ..Artifact::default() };
    Fact::Artifact(Chunk { artifact: Arc::new(artifact), append, last_chunk })
}
