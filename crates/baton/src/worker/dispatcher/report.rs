//! What a runner says, turned into inputs and committed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::ident::{ContextId, TaskId};
use baton_core::model::{Message, Role, Violation};
use baton_core::task::{Chunk, Input, Refusal};
use baton_store::{Applied, By, Error, Op, Store};
use tokio::sync::watch;
use tracing::warn;

use crate::clock::{Clock, new_id};
use crate::crash;
use crate::runner::{Fact, Refused, Report};

/// Tries of a commit that the store could not make, and the wait before the first repeat; it doubles.
const TRIES: u32 = 6;
const WAIT: Duration = Duration::from_millis(50);

/// Reports for one attempt.
pub struct AttemptReport {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub task: TaskId,
    pub context: ContextId,
    pub attempt: u32,
    /// Rings when the node must have ended what it has in hand: who then still waits for the store waits no more, so that
    /// the child is ended. None where nothing is in hand any more.
    pub fence: Option<watch::Receiver<u64>>,
}

#[async_trait]
impl Report for AttemptReport {
    async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        let Some(mut fence) = self.fence.clone() else { return self.commit(facts).await };
        tokio::select! {
            said = self.commit(facts) => said,
            Ok(()) = fence.changed() => Err(Refused::Lost),
        }
    }
}

impl AttemptReport {
    async fn commit(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        let inputs = facts.into_iter().map(|fact| self.input(fact)).collect::<Result<Vec<_>, _>>();
        let inputs =
            inputs.map_err(|wrong| Refused::Invalid(format!("{}: {}", wrong.field, wrong.description)))?;
        let mut op = Op {
            id: new_id(),
            task: self.task,
            by: By::Node,
            create: None,
            inputs,
            push: None,
            now: self.clock.now(),
            repeat: false,
        };
        let mut wait = WAIT;
        for _ in 1..TRIES {
            match self.store.apply(op.clone()).await {
                Err(Error::Unavailable(why)) => {
                    warn!(task.id = %self.task, error = %why, "a report could not be committed; trying again");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                    op.repeat = true;
                }
                other => return said(other),
            }
        }
        said(self.store.apply(op).await)
    }

    fn input(&self, fact: Fact) -> Result<Input, Violation> {
        let attempt = self.attempt;
        Ok(match fact {
            Fact::Progress(message) => Input::Progressed { attempt, message: self.message(message)? },
            Fact::Artifact(chunk) => Input::Wrote { attempt, chunk: Arc::new(checked(chunk)?) },
            Fact::Usage(usage) => Input::Used { attempt, usage },
            Fact::Ask { kind, message } => Input::Asked { attempt, kind, message: self.optional(message)? },
            Fact::Reply(message) => Input::Replied { attempt, message: self.message(message)? },
            Fact::Complete(message) => Input::Completed { attempt, message: self.optional(message)? },
            Fact::Reject(message) => Input::Rejected { attempt, message: self.optional(message)? },
            Fact::Fail { reason, message, retryable } => {
                Input::Failed { attempt, reason, message: self.optional(message)?, retryable }
            }
            Fact::Canceled => Input::CancelConfirmed { attempt },
            Fact::Released => Input::Released { attempt, message: None },
            Fact::HolderGone(message) => Input::HolderGone { attempt, message: self.optional(message)? },
        })
    }

    fn optional(&self, message: Option<Message>) -> Result<Option<Arc<Message>>, Violation> {
        message.map(|message| self.message(message)).transpose()
    }

    /// An agent's message, with what it need not say filled in.
    fn message(&self, mut message: Message) -> Result<Arc<Message>, Violation> {
        if message.message_id.is_empty() {
            message.message_id = new_id().to_string();
        }
        message.role = Role::Agent;
        message.task_id = Some(self.task.to_string());
        message.context_id = Some(self.context.to_string());
        message.check().map_err(|wrong| wrong.within("message"))?;
        Ok(Arc::new(message))
    }
}

fn said(result: Result<Applied, Error>) -> Result<(), Refused> {
    crash::pass(crash::REPORTED);
    result.map(drop).map_err(|why| refused(&why))
}

fn checked(mut chunk: Chunk) -> Result<Chunk, Violation> {
    if chunk.artifact.artifact_id.is_empty() {
        Arc::make_mut(&mut chunk.artifact).artifact_id = new_id().to_string();
    }
    chunk.artifact.check().map_err(|wrong| wrong.within("artifact"))?;
    Ok(chunk)
}

fn refused(why: &Error) -> Refused {
    match why {
        Error::Refused(Refusal::CancelRequested) => Refused::Canceling,
        Error::Refused(
            refusal @ (Refusal::UnknownArtifact | Refusal::ArtifactsTooLarge | Refusal::TooManyEvents),
        ) => Refused::Invalid(refusal.to_string()),
        Error::Unavailable(_) => Refused::Unavailable,
        Error::Refused(_)
        | Error::NotFound
        | Error::KeyReused
        | Error::Barred(_)
        | Error::Friend(_)
        | Error::Corrupt(_) => Refused::Lost,
    }
}
