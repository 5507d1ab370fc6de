//! What an attempt has to report: gathered, so that a chatty child costs few commits, and taken to the log in order.
//!
//! Knows nothing of children. Times come in as arguments.

use std::sync::Arc;
use std::time::Duration;

use baton_core::model::{Artifact, Content, Message, Part, Role};
use baton_core::task::{Chunk, Reason};
use tokio::time::{Instant, sleep};

use crate::crash;
use crate::runner::{Fact, Refused, Reporter};

/// Pieces of an artifact are gathered this long, or until [`GATHER_BYTES`] (DESIGN §5).
pub const GATHER: Duration = Duration::from_millis(100);
pub const GATHER_BYTES: usize = 32 * 1024;

/// Everything else waits this long for company: the end of a short task then shares a commit with its result.
pub const SOON: Duration = Duration::from_millis(5);

/// After so many commits pieces are gathered twice as long, again and again: a task has at most 10,000 events, and an
/// agent that writes a line now and then may do so for a day.
const COMMITS_PER_PACE: u32 = 1_000;

/// Waits between tries of a report that the store could not commit, although the reporter has tried for a while: the work
/// is done, and a busy disk recovers.
const RETRIES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(5)];

/// One attempt's reports.
#[derive(Debug)]
pub struct Outbox {
    reporter: Reporter,
    facts: Vec<Fact>,
    bytes: usize,
    due: Option<Instant>,
    urgent: bool,
    commits: u32,
    /// A piece of an artifact was not heard, since the task is to be cancelled.
    cut: bool,
}

impl Outbox {
    pub fn new(reporter: Reporter) -> Self {
        Self { reporter, facts: Vec::new(), bytes: 0, due: None, urgent: false, commits: 0, cut: false }
    }

    /// When [`Outbox::flush`] should be called, unless there is more to be had at once; `None` while there is nothing to
    /// report.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// [`Outbox::flush`] should be called before anything else is listened to.
    pub fn is_urgent(&self) -> bool {
        self.urgent
    }

    pub fn push(&mut self, fact: Fact, now: Instant) {
        crash::pass(crash::HEARD);
        self.bytes += weight(&fact);
        let hold = if self.bytes >= GATHER_BYTES { Duration::ZERO } else { self.hold(&fact) };
        self.urgent |= hold.is_zero();
        let due = now + hold;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        match (self.facts.last_mut(), fact) {
            (Some(Fact::Artifact(last)), Fact::Artifact(next)) => {
                if let Some(next) = join(last, next) {
                    self.facts.push(Fact::Artifact(next));
                }
            }
            (_, fact) => self.facts.push(fact),
        }
    }

    fn hold(&self, fact: &Fact) -> Duration {
        match fact {
            Fact::Artifact(chunk) if !chunk.last_chunk && only_text(&chunk.artifact) => {
                GATHER * 2_u32.pow((self.commits / COMMITS_PER_PACE).min(9))
            }
            Fact::Artifact(_) | Fact::Progress(_) | Fact::Usage(_) => SOON,
            Fact::Ask { .. }
            | Fact::Reply(_)
            | Fact::Complete(_)
            | Fact::Reject(_)
            | Fact::Fail { .. }
            | Fact::Canceled
            | Fact::Released
            | Fact::HolderGone(_) => Duration::ZERO,
        }
    }

    /// Forgets what has not been reported: it would not be heard any more.
    pub fn clear(&mut self) {
        self.facts.clear();
        self.bytes = 0;
        self.due = None;
        self.urgent = false;
    }

    /// Takes everything to the log as one commit. A refusal says what the agent may not do, and of what was pushed
    /// only what came before it is in the log.
    pub async fn flush(&mut self) -> Result<(), Refused> {
        let mut facts = std::mem::take(&mut self.facts);
        self.clear();
        if facts.is_empty() {
            return Ok(());
        }
        self.commits += 1;
        if self.cut {
            facts = facts.into_iter().map(without_a_piece).collect();
        }
        match self.commit(facts.clone()).await {
            Err(Refused::Invalid(_)) if facts.len() > 1 => {
                for fact in facts {
                    self.commit(vec![fact]).await?;
                }
                Ok(())
            }
            // Only the end is heard now; what came before it does not matter any more.
            Err(Refused::Canceling) => {
                self.cut |= facts.iter().any(|fact| matches!(fact, Fact::Artifact(_)));
                let end = facts.into_iter().find_map(end);
                match end.map(|end| if self.cut { without_a_piece(end) } else { end }) {
                    Some(end) => self.commit(vec![end]).await,
                    None => Ok(()),
                }
            }
            result => result,
        }
    }

    /// Says the last word, after everything that is still waiting. Whatever is refused, the task gets an end.
    pub async fn finish(&mut self, fact: Fact) {
        self.push(fact, Instant::now());
        if let Err(Refused::Invalid(why)) = self.flush().await {
            let message = Some(Message::text(Role::Agent, "", refused_words(&why)));
            self.push(
                Fact::Fail { reason: Reason::InvalidAgentResponse, message, retryable: false },
                Instant::now(),
            );
            // Whoever is not heard now is taken for crashed, which is true.
            let _ = self.flush().await;
        }
    }

    async fn commit(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        for wait in RETRIES {
            match self.reporter.report(facts.clone()).await {
                Err(Refused::Unavailable) => sleep(wait).await,
                result => return result,
            }
        }
        self.reporter.report(facts).await
    }
}

/// Words for the owner about a report that was not taken.
pub fn refused_words(why: &str) -> String {
    format!("The agent's answer was not taken: {why}.")
}

/// The fact as it can be said of a task that is being cancelled, if it ends the task.
fn end(fact: Fact) -> Option<Fact> {
    match fact {
        Fact::Progress(_) | Fact::Artifact(_) | Fact::Usage(_) | Fact::Ask { .. } => None,
        Fact::Reply(_) => Some(Fact::Canceled),
        Fact::Complete(_)
        | Fact::Reject(_)
        | Fact::Fail { .. }
        | Fact::Canceled
        | Fact::Released
        | Fact::HolderGone(_) => Some(fact),
    }
}

/// The fact as it can be said where a piece of the answer was not heard: an answer that lacks one is not complete.
fn without_a_piece(fact: Fact) -> Fact {
    match fact {
        Fact::Complete(_) => Fact::Canceled,
        other => other,
    }
}

fn weight(fact: &Fact) -> usize {
    match fact {
        Fact::Progress(message) | Fact::Reply(message) => message.weight(),
        Fact::Artifact(chunk) => chunk.artifact.weight(),
        Fact::Usage(usage) => usage.as_str().len(),
        Fact::Ask { .. }
        | Fact::Complete(_)
        | Fact::Reject(_)
        | Fact::Fail { .. }
        | Fact::Canceled
        | Fact::Released
        | Fact::HolderGone(_) => 0,
    }
}

/// Adds `next` to `last` where that changes nothing for a reader; gives it back otherwise.
fn join(last: &mut Chunk, next: Chunk) -> Option<Chunk> {
    let continues = next.append
        && !last.last_chunk
        && next.artifact.artifact_id == last.artifact.artifact_id
        && only_text(&next.artifact)
        && last.artifact.parts.last().is_some_and(is_plain_text);
    if !continues {
        return Some(next);
    }
    last.last_chunk = next.last_chunk;
    if let Some(Part { content: Content::Text(text), .. }) =
        Arc::make_mut(&mut last.artifact).parts.last_mut()
    {
        next.artifact.parts.iter().filter_map(Part::as_text).for_each(|more| text.push_str(more));
    }
    None
}

/// A piece of text and nothing else.
fn only_text(artifact: &Artifact) -> bool {
    artifact.name.is_none()
        && artifact.description.is_none()
        && artifact.metadata.is_none()
        && artifact.extensions.is_empty()
        && artifact.parts.iter().all(is_plain_text)
}

fn is_plain_text(part: &Part) -> bool {
    part.as_text().is_some()
        && part.metadata.is_none()
        && part.filename.is_none()
        && part.media_type.is_none()
}

#[cfg(test)]
mod tests;
