//! The `text` protocol: the message goes in, the artifact comes out, the exit status decides.

use std::sync::Arc;

use baton_core::model::{Artifact, Message, Part, Role};
use baton_core::task::Chunk;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::Instant;

use super::child::{Child, Spawner};
use super::ending::Ending;
use super::exit::How;
use super::files::{self, Files};
use super::ladder::Rung;
use super::outbox::Outbox;
use super::settings::Settings;
use super::stdio::{Stdin, Tail};
use super::watchdog::{Watchdog, Woken, ending_of, later};
use super::{ending, environ};
use crate::runner::{Fact, Job, Signal, Signals};

/// The one artifact that a `text` agent makes.
pub const ARTIFACT_ID: &str = "output";

/// Read at once from standard output; as much as a pipe holds by default.
const READ_BYTES: usize = 64 * 1024;

/// Runs the command for one attempt.
pub async fn run(settings: &Settings, spawner: &Spawner, job: Job, watchdog: Watchdog) {
    let mut outbox = Outbox::new(job.reporter.clone());
    let mut spec = settings.spec.clone();
    spec.env.extend(environ::of_task(&job));
    let files = match newest(&job) {
        Some(message) => Files::of(message, spec.user.as_deref()).await,
        None => Ok(None),
    };
    // Kept until the child is gone.
    let files = match files {
        Ok(files) => files,
        Err(error) => return outbox.finish(ending::no_files(&job.agent, &error)).await,
    };
    let folder = files.as_ref().map(|files| files.folder().to_string_lossy().into_owned());
    spec.env.extend(folder.map(|folder| (files::VARIABLE.to_owned(), folder)));
    let child = match spawner.spawn(&spec) {
        Ok(child) => child,
        Err(error) => return outbox.finish(ending::no_child(&job.agent, &error)).await,
    };
    Attempt::new(job, child, outbox, watchdog).run().await;
    drop(files);
}

/// The user's newest message: what is to be done.
fn newest(job: &Job) -> Option<&Message> {
    job.history.iter().rev().find(|message| message.role == Role::User).map(|message| &**message)
}

struct Attempt {
    signals: Signals,
    child: Child,
    stdin: Stdin,
    stdout: Option<ChildStdout>,
    tail: Tail,
    outbox: Outbox,
    watchdog: Watchdog,
    /// Bytes of standard output that are not a whole character yet, and what was read with them.
    read: Vec<u8>,
    begun: bool,
    gone: Option<How>,
}

impl Attempt {
    fn new(job: Job, mut child: Child, outbox: Outbox, watchdog: Watchdog) -> Self {
        let mut stdin = Stdin::new(child.stdin.take());
        stdin.queue(|out| {
            if let Some(message) = newest(&job) {
                out.extend_from_slice(message.joined_text().as_bytes());
            }
        });
        stdin.end();
        Self {
            signals: job.signals,
            stdin,
            stdout: child.stdout.take(),
            tail: Tail::new(child.stderr.take()),
            outbox,
            watchdog,
            child,
            read: Vec::new(),
            begun: false,
            gone: None,
        }
    }

    async fn run(mut self) {
        loop {
            let now = Instant::now();
            while let Some(rung) = self.watchdog.due(now) {
                match rung {
                    // There are no words for it.
                    Rung::Cancel => {}
                    Rung::Terminate => self.child.terminate(),
                    Rung::Kill => self.child.kill(),
                }
            }
            if self.is_over() {
                return self.conclude().await;
            }
            if self.outbox.is_urgent() {
                self.report().await;
            } else if self.wait().await == Woken::ByTime {
                self.watchdog.heard_nothing(Instant::now());
                self.report().await;
            }
        }
    }

    fn is_over(&self) -> bool {
        let read = self.stdout.is_none() && !self.tail.is_open();
        self.gone.is_some() && (read || self.watchdog.gave_up_streams())
    }

    /// Reports what is due.
    async fn report(&mut self) {
        let now = Instant::now();
        if (self.outbox.is_urgent() || self.outbox.due().is_some_and(|due| due <= now))
            && let Some(ending) = ending_of(self.outbox.flush().await)
        {
            self.watchdog.end(ending, now);
        }
    }

    /// Time comes last: what can be read at once belongs to the same report.
    async fn wait(&mut self) -> Woken {
        let wake_at = [self.watchdog.wake_at(), self.outbox.due()].into_iter().flatten().min();
        tokio::select! {
            biased;
            signal = self.signals.next(), if !self.watchdog.is_lost() => self.obey(&signal),
            exit = self.child.exited(), if self.gone.is_none() => {
                self.gone = Some(exit.how);
                self.watchdog.child_gone(Instant::now());
            }
            read = read(&mut self.stdout, &mut self.read), if self.stdout.is_some() => self.hear(read),
            () = self.tail.fill(), if self.tail.is_open() => self.watchdog.has_read(),
            () = self.stdin.push(), if self.stdin.has_waiting() => {}
            () = later(wake_at) => return Woken::ByTime,
        }
        Woken::ByEvent
    }

    fn hear(&mut self, open: bool) {
        let now = Instant::now();
        self.watchdog.life(now);
        self.watchdog.has_read();
        if !open {
            self.stdout = None;
        }
        let text = take_text(&mut self.read, !open);
        if !text.is_empty() && self.watchdog.ending().is_none() {
            self.outbox.push(self.chunk(text), now);
            self.begun = true;
        }
    }

    fn chunk(&self, text: String) -> Fact {
        let artifact = Artifact {
            artifact_id: ARTIFACT_ID.into(),
            parts: vec![Part::text(text)],
            ..Artifact::default()
        };
        Fact::Artifact(Chunk { artifact: Arc::new(artifact), append: self.begun, last_chunk: false })
    }

    fn obey(&mut self, signal: &Signal) {
        let ending = match signal {
            // There is no way in for it: standard input has ended. And a drain leaves time to finish.
            Signal::Message(_) | Signal::Drain | Signal::Evict => return,
            Signal::Cancel => Ending::Cancel,
            Signal::Lost => {
                self.outbox.clear();
                Ending::Lost
            }
            Signal::Stop => Ending::Stop,
        };
        self.watchdog.end(ending, Instant::now());
    }

    async fn conclude(mut self) {
        let tail = self.tail.text();
        let how = self.gone.take().unwrap_or(How::WardenDied);
        let fact = match (self.watchdog.ending(), how) {
            (Some(ending), _) => ending.fact(&tail),
            (None, How::Code(0)) => Some(Fact::Complete(None)),
            (None, how) => Some(ending::unasked(&how, &tail)),
        };
        if let Some(fact) = fact {
            self.outbox.finish(fact).await;
        }
    }
}

/// Reads what there is; says whether there may be more. May be dropped while it waits.
async fn read(stdout: &mut Option<ChildStdout>, into: &mut Vec<u8>) -> bool {
    let Some(pipe) = stdout else { return false };
    into.reserve(READ_BYTES);
    matches!(pipe.read_buf(into).await, Ok(count) if count > 0)
}

/// Takes the whole characters from what was read. What is no UTF-8 becomes U+FFFD; a character that may still be
/// completed stays, unless it was the end.
fn take_text(read: &mut Vec<u8>, is_end: bool) -> String {
    let whole = if is_end { read.len() } else { whole_characters(read) };
    let text = String::from_utf8_lossy(&read[..whole]).into_owned();
    read.drain(..whole);
    text
}

/// The length of `bytes` without a character at its end that has only begun.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                Some(bad) => at += error.valid_up_to() + bad,
                None => return at + error.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests;
