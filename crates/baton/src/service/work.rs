//! What workers do with the tasks of an agent whose runner is `pull`: claim them, report on them, end them. A worker is whoever
//! calls with a grant that has the verb `work`. Its right to a task is the lease token: the number of the attempt that holds it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::limits::{ATTEMPTS_TOLD, CLAIM_MAX, LEASE_MAX, LEASE_MIN};
use baton_core::model::{Artifact, Message, Role};
use baton_core::task::{Chunk, Input, Interruption, Outcome, Reason, Refusal, Snapshot, Task};
use baton_core::time::Timestamp;
use baton_store::{Applied, AttemptRecord, By, Claim, Error as StoreError, HeldBack, Verb, worker};

use tokio::time::Instant;

use super::{Error, Scope, Service, parse_id};
use crate::clock::new_id;
use crate::config::settings::Pull;

/// Events that are looked through for what the owner said meanwhile.
const LOOKED_AT: usize = 256;

/// The longest that a claim waits: shorter than any proxy keeps a silent connection.
const CLAIM_WAIT: Duration = Duration::from_secs(50);

/// When a claim that waits looks again whether what is due can be had, and whether what kept tasks back does so still.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const HELD_AGAIN: Duration = Duration::from_secs(1);

/// Digits of a task's id that its lease tokens end with: a token that strayed to another task is found out.
const TAIL: usize = 12;

/// What a worker asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// This task; otherwise those whose turn it is.
    pub task: Option<String>,
    pub most: usize,
    /// How long the worker may be silent; the agent's own where it does not say.
    pub lease: Option<Duration>,
    /// How long it waits for a task where there is none yet.
    pub wait: Duration,
}

/// What it gets.
#[derive(Clone, Debug)]
pub struct HandOut {
    pub tasks: Vec<Assignment>,
    /// Why there are not more, where there may be.
    pub held_back: Option<Held>,
    /// When there may be something to claim, where nothing keeps it back: in the past where that is now.
    pub next: Option<Timestamp>,
}

/// A task in a worker's hands.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub snapshot: Arc<Snapshot>,
    pub token: Token,
    /// The newest attempts before this one, oldest first.
    pub attempts: Vec<AttemptRecord>,
}

/// What keeps tasks from being handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The operator paused the agent, or the node.
    Paused,
    Concurrency,
    Budget {
        until: Timestamp,
    },
}

/// The right to one attempt at a task: a fence, not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub attempt: u32,
    task: TaskId,
}

impl Token {
    pub const fn new(task: TaskId, attempt: u32) -> Self {
        Self { attempt, task }
    }

    /// Reads the token of an attempt at `task`.
    fn parse(text: &str, task: TaskId) -> Result<Self, Error> {
        let wrong = || {
            Error::invalid(
                "lease_token",
                "is no lease token of this task; take the one that its claim answered",
            )
        };
        let (number, tail) = text.split_once('.').ok_or_else(wrong)?;
        let attempt = number.parse().map_err(|_| wrong())?;
        let token = Self { attempt, task };
        if token.tail() == tail { Ok(token) } else { Err(wrong()) }
    }

    fn tail(&self) -> String {
        let id = self.task.to_string();
        id[id.len().saturating_sub(TAIL)..].to_owned()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.attempt, self.tail())
    }
}

/// What a worker says of a task that it holds. Messages may lack their ids and have any role: they are the agent's.
#[derive(Clone, Debug)]
pub enum Report {
    /// It is alive: its lease begins anew.
    Heartbeat {
        lease: Option<Duration>,
    },
    /// It goes on, and says how, or has a piece of a result.
    Progress {
        message: Option<Message>,
        chunk: Option<Chunk>,
    },
    /// It needs something of the owner.
    Ask {
        kind: Interruption,
        message: Message,
    },
    Complete {
        message: Option<Message>,
        artifacts: Vec<Artifact>,
    },
    Fail {
        message: Option<Message>,
        retryable: bool,
    },
    /// It gives the task back unharmed.
    Release {
        message: Option<Message>,
    },
    Reject {
        message: Option<Message>,
    },
}

impl Report {
    /// How the attempt ends with it, if it does.
    const fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Heartbeat { .. } | Self::Progress { .. } | Self::Ask { .. } => None,
            Self::Complete { .. } => Some(Outcome::Completed),
            Self::Fail { .. } => Some(Outcome::Failed(Reason::Failed)),
            Self::Release { .. } => Some(Outcome::Released),
            Self::Reject { .. } => Some(Outcome::Rejected),
        }
    }
}

/// How the task stands after a report.
#[derive(Clone, Debug)]
pub struct Standing {
    pub task: Arc<Task>,
    /// The report had been made before; nothing was changed.
    pub repeated: bool,
    /// What the owner said after the event that the worker saw last.
    pub said: Vec<Arc<Message>>,
    /// The event up to which that is: what to name the next time.
    pub seen: u64,
}

impl Service {
    /// Claims tasks of an agent, up to [`CLAIM_MAX`]. Where there are none, it waits for the first, as long as it is told to.
    pub async fn claim(&self, scope: &Scope, wanted: Wanted) -> Result<HandOut, Error> {
        if wanted.wait > CLAIM_WAIT {
            let most = CLAIM_WAIT.as_secs();
            return Err(Error::invalid("wait_seconds", format!("is a number of seconds up to {most}")));
        }
        let (bell, mut alarm) = (self.hub.ready(scope.agent.name()), self.alarm.subscribe());
        let until = Instant::now() + wanted.wait;
        loop {
            let given = self.claim_now(scope, &wanted).await?;
            if !given.tasks.is_empty() {
                // One bell may stand for several tasks: whoever waits beside this one looks too.
                bell.notify_one();
                return Ok(given);
            }
            if Instant::now() >= until {
                return Ok(given);
            }
            let due = given.next.map_or(CLAIM_WAIT, |at| at.since(self.now()).max(LOOK_AGAIN));
            let due = if given.held_back.is_some() { due.min(HELD_AGAIN) } else { due };
            tokio::select! {
                () = bell.notified() => {}
                () = tokio::time::sleep(due) => {}
                () = tokio::time::sleep_until(until) => {}
                // A grant or the node itself may have come to its end.
                _ = alarm.changed() => {}
            }
        }
    }

    async fn claim_now(&self, scope: &Scope, wanted: &Wanted) -> Result<HandOut, Error> {
        let pull = pull_of(scope)?;
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        if !(1..=CLAIM_MAX).contains(&wanted.most) {
            return Err(Error::invalid("max", format!("is a number from 1 to {CLAIM_MAX}")));
        }
        let task = wanted.task.as_deref().map(parse_id).transpose()?;
        let lease = wanted.lease.map(checked).transpose()?.unwrap_or(pull.lease);
        let agent = scope.agent.name();
        if self.controls.pauses(agent) {
            return Ok(HandOut { tasks: Vec::new(), held_back: Some(Held::Paused), next: None });
        }
        let claim = Claim {
            agent: agent.clone(),
            holder: worker(scope.owner()),
            by: Some(scope.owner().clone()),
            lease: Some(lease),
            task,
            most: if task.is_some() { 1 } else { wanted.most },
            concurrency: pull.concurrency,
            budget: scope.agent.settings.budget,
            now: self.now(),
        };
        let asked_for = claim.most;
        let claimed = self.store.claim(claim).await.map_err(refused)?;
        let mut tasks = Vec::with_capacity(claimed.tasks.len());
        for snapshot in claimed.tasks {
            tasks.push(self.assignment(snapshot).await?);
        }
        let held_back = claimed.held_back.map(|why| match why {
            HeldBack::Concurrency => Held::Concurrency,
            HeldBack::Budget { until } => Held::Budget { until },
        });
        let all = tasks.len() == asked_for || held_back.is_some();
        let next = if all { None } else { self.store.next_ready(agent).await? };
        Ok(HandOut { tasks, held_back, next })
    }

    async fn assignment(&self, snapshot: Arc<Snapshot>) -> Result<Assignment, Error> {
        let Task { id, attempt, .. } = snapshot.task;
        let mut attempts = if attempt > 1 { self.store.attempts(id).await? } else { Vec::new() };
        attempts.retain(|known| known.number < attempt);
        attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_TOLD));
        Ok(Assignment { token: Token::new(id, attempt), snapshot, attempts })
    }

    /// A worker's report. Who holds the task no more is told so, whatever it says: but an end that was reported before, by
    /// the same worker with the same token, is answered as it was then. `seen`: the event up to which the worker knows what
    /// the owner said; where it names one, it is told what was said since.
    pub async fn report(
        &self,
        scope: &Scope,
        (id, token): (&str, &str),
        report: Report,
        seen: Option<u64>,
    ) -> Result<Standing, Error> {
        let pull = pull_of(scope)?;
        let id = parse_id(id)?;
        let token = Token::parse(token, id)?;
        let outcome = report.outcome();
        let by = By::Worker(scope.agent.name().clone(), scope.owner().clone());
        let head = self.store.find_head(&by, id).await?.ok_or(Error::TaskNotFound)?;
        let inputs = inputs(&head, token.attempt, report, pull.lease)?;
        match self.apply(by, id, inputs).await {
            Ok(applied) => self.after_report(applied, seen).await,
            Err(StoreError::Refused(why @ (Refusal::StaleAttempt | Refusal::Terminal(_)))) => {
                let said_before = match outcome {
                    Some(outcome) => self.ended_by(scope, token, outcome).await?,
                    None => false,
                };
                if !said_before {
                    return Err(refused(StoreError::Refused(why)));
                }
                let task = self.store.find_head(&By::Node, id).await?.ok_or(Error::TaskNotFound)?;
                Ok(Standing { seen: task.seq, task, repeated: true, said: Vec::new() })
            }
            Err(why) => Err(refused(why)),
        }
    }

    /// A task in the hands of this worker, to look at.
    pub async fn held(&self, scope: &Scope, id: &str) -> Result<Arc<Snapshot>, Error> {
        pull_of(scope)?;
        let snapshot = self.load_by(&By::Node, id).await?;
        let open = snapshot.task.state.open_attempt();
        let ours = open.is_some_and(|open| open.holder == worker(scope.owner()));
        if ours && snapshot.task.agent == *scope.agent.name() {
            Ok(snapshot)
        } else {
            Err(Error::TaskNotFound)
        }
    }

    /// Whether this worker ended that attempt so.
    async fn ended_by(&self, scope: &Scope, token: Token, outcome: Outcome) -> Result<bool, Error> {
        let attempts = self.store.attempts(token.task).await?;
        let attempt = attempts.iter().find(|known| known.number == token.attempt);
        Ok(attempt.is_some_and(|known| {
            known.holder == worker(scope.owner()) && known.end.is_some_and(|end| end.outcome == outcome)
        }))
    }

    async fn after_report(&self, applied: Applied, seen: Option<u64>) -> Result<Standing, Error> {
        let task = Arc::new(applied.known.task().clone());
        let Some(after) = seen.filter(|after| *after < task.seq) else {
            return Ok(Standing { seen: task.seq, task, repeated: false, said: Vec::new() });
        };
        let events = self.store.events(task.id, after, LOOKED_AT).await?;
        let seen = events.last().map_or(after, |event| event.seq);
        let said = events.iter().filter_map(|event| event.body.message());
        let said = said.filter(|message| message.role == Role::User).map(Arc::clone).collect();
        Ok(Standing { task, repeated: false, said, seen })
    }
}

/// What workers have to keep to at this agent.
fn pull_of(scope: &Scope) -> Result<&Pull, Error> {
    scope.allow(Verb::Work)?;
    scope.agent.pull().ok_or(Error::Unsupported(
        "this agent's tasks are not for workers: its runner is not of kind \"pull\"",
    ))
}

fn checked(lease: Duration) -> Result<Duration, Error> {
    if (LEASE_MIN..=LEASE_MAX).contains(&lease) {
        return Ok(lease);
    }
    let (least, most) = (LEASE_MIN.as_secs(), LEASE_MAX.as_secs());
    Err(Error::invalid("lease_seconds", format!("is a number of seconds from {least} to {most}")))
}

fn inputs(task: &Task, attempt: u32, report: Report, lease: Duration) -> Result<Vec<Input>, Error> {
    let optional = |message: Option<Message>| message.map(|message| said(task, message)).transpose();
    Ok(match report {
        Report::Heartbeat { lease: asked } => {
            let lease = asked.map(checked).transpose()?.unwrap_or(lease);
            vec![Input::Renewed { attempt, lease: Some(lease) }]
        }
        Report::Progress { message, chunk } => {
            let chunk = chunk.map(whole).transpose()?;
            let message = optional(message)?;
            let wrote = chunk.map(|chunk| Input::Wrote { attempt, chunk: Arc::new(chunk) });
            let said = message.map(|message| Input::Progressed { attempt, message });
            said.into_iter().chain(wrote).collect()
        }
        Report::Ask { kind, message } => {
            vec![Input::Asked { attempt, kind, message: Some(said(task, message)?) }]
        }
        Report::Complete { message, artifacts } => {
            let write = |artifact| {
                let chunk = Chunk { artifact: Arc::new(artifact), append: false, last_chunk: true };
                Ok(Input::Wrote { attempt, chunk: Arc::new(whole(chunk)?) })
            };
            let mut inputs = artifacts.into_iter().map(write).collect::<Result<Vec<_>, Error>>()?;
            inputs.push(Input::Completed { attempt, message: optional(message)? });
            inputs
        }
        Report::Fail { message, retryable } => {
            vec![Input::Failed { attempt, reason: Reason::Failed, message: optional(message)?, retryable }]
        }
        Report::Release { message } => vec![Input::Released { attempt, message: optional(message)? }],
        Report::Reject { message } => vec![Input::Rejected { attempt, message: optional(message)? }],
    })
}

/// A worker's message, with what it need not say filled in.
fn said(task: &Task, mut message: Message) -> Result<Arc<Message>, Error> {
    if message.message_id.is_empty() {
        message.message_id = new_id().to_string();
    }
    message.role = Role::Agent;
    message.task_id = Some(task.id.to_string());
    message.context_id = Some(task.context_id.to_string());
    message.check().map_err(|wrong| Error::Invalid(wrong.within("message")))?;
    Ok(Arc::new(message))
}

fn whole(mut chunk: Chunk) -> Result<Chunk, Error> {
    if chunk.artifact.artifact_id.is_empty() {
        Arc::make_mut(&mut chunk.artifact).artifact_id = new_id().to_string();
    }
    chunk.artifact.check().map_err(|wrong| Error::Invalid(wrong.within("artifact")))?;
    Ok(chunk)
}

/// What a refusal means to a worker.
fn refused(why: StoreError) -> Error {
    let StoreError::Refused(refusal) = why else { return why.into() };
    let conflict = |what: String| Error::Conflict(what);
    match refusal {
        Refusal::StaleAttempt => conflict(
            "the lease token does not hold the task: the lease ran out or was given up, or another worker holds it"
                .to_owned(),
        ),
        Refusal::Terminal(state) => conflict(format!("the task is over: it is {}", state.as_str())),
        Refusal::AlreadyClaimed => conflict("another worker holds the task".to_owned()),
        Refusal::NotYet => conflict("the task is put off, waits for its next try, or is past its deadline".to_owned()),
        Refusal::Waiting => conflict("the task waits for an answer of its owner".to_owned()),
        Refusal::CancelRequested => conflict("the task is being cancelled".to_owned()),
        Refusal::UnknownArtifact => {
            Error::invalid("append", "there is no artifact of this id to append to; write it without append first")
        }
        Refusal::ArtifactsTooLarge => Error::invalid("parts", refusal.to_string()),
        Refusal::Answered | Refusal::NotWhileWorking | Refusal::TooManyEvents | Refusal::TooManyPushConfigs => {
            refusal.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_token_is_for_one_task() {
        let task = |n: u128| TaskId::new(Uuid::from_u128(n));
        let token = Token::new(task(0xabc), 7);
        assert_eq!(token.to_string(), "7.000000000abc");
        assert_eq!(Token::parse("7.000000000abc", task(0xabc)).unwrap(), token);
        for wrong in ["", "7", "7.", ".000000000abc", "-7.000000000abc", "7.000000000abd", "x.000000000abc"] {
            assert!(Token::parse(wrong, task(0xabc)).is_err(), "{wrong}");
        }
    }
}
