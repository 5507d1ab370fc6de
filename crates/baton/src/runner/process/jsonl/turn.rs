//! One attempt at one task, on one child.

use std::time::Duration;

use baton_core::model::{Message, Role};
use baton_core::task::{Chunk, Interruption, Reason};
use tokio::time::{Instant, timeout};

use super::down::{Down, Task};
use super::numbering::Numbering;
use super::resident::{Heard, Resident};
use super::up::{Ask, Line, Piece, Up};
use crate::runner::process::ending::{self, Ending};
use crate::runner::process::exit::How;
use crate::runner::process::ladder::Rung;
use crate::runner::process::outbox::Outbox;
use crate::runner::process::settings::Settings;
use crate::runner::process::watchdog::{Watchdog, ending_of, later};
use crate::runner::{Fact, Job, Signal, Signals};

/// How long an exit may come after the end of standard output: they are one event to the child.
const EXIT_AFTER_CLOSE: Duration = Duration::from_secs(1);

/// How long standard error is read on for the words of a failure.
const LAST_WORDS: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Until the child says `ready`.
    Starting,
    Working,
    /// The owner is asked.
    Asking,
}

pub struct Turn<'a> {
    resident: &'a mut Resident,
    settings: &'a Settings,
    task_id: String,
    signals: Signals,
    outbox: Outbox,
    watchdog: Watchdog,
    phase: Phase,
    /// Lines for the child that wait until it is ready.
    held: Vec<u8>,
    started: Instant,
    pinged: bool,
    closed: Option<Instant>,
    numbering: Numbering,
    draining: bool,
    /// The child has said something in this turn.
    spoke: bool,
    /// What the child ended the task with.
    last: Option<Fact>,
}

impl<'a> Turn<'a> {
    pub fn new(settings: &'a Settings, resident: &'a mut Resident, job: Job, outbox: Outbox) -> Self {
        let now = Instant::now();
        let mut held = Vec::new();
        hand_over(&job, &mut held);
        let mut turn = Self {
            settings,
            task_id: job.task_id.to_string(),
            outbox,
            watchdog: Watchdog::new(job.deadline, settings.stall),
            phase: Phase::Starting,
            held,
            started: now,
            pinged: false,
            closed: None,
            numbering: Numbering::default(),
            draining: false,
            spoke: false,
            last: None,
            resident,
            signals: job.signals,
        };
        turn.resident.tail.forget();
        if turn.resident.ready {
            turn.begin(now);
        } else {
            // Its own time limit holds until then.
            turn.watchdog.listen(false, now);
        }
        turn
    }

    fn begin(&mut self, now: Instant) {
        self.phase = Phase::Working;
        self.watchdog.listen(true, now);
        self.resident.say_all(&std::mem::take(&mut self.held));
    }

    /// Works until the task is over, one way or another. Says whether the child can have another task.
    pub async fn run(mut self) -> bool {
        loop {
            let now = Instant::now();
            self.check_times(now);
            while let Some(rung) = self.watchdog.due(now) {
                self.climb(rung);
            }
            if self.is_over(now) {
                return self.conclude().await;
            }
            if self.outbox.due().is_some_and(|due| due <= now) {
                self.report(now).await;
            } else {
                self.wait().await;
            }
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let gone = self.resident.gone().is_some();
        self.last.is_some() || gone && (self.resident.is_silent() || self.watchdog.gave_up_streams(now))
    }

    async fn wait(&mut self) {
        let wake_at = self.wake_at();
        tokio::select! {
            heard = self.resident.hear() => self.hear(heard),
            signal = self.signals.next(), if !self.watchdog.is_lost() => self.obey(signal),
            () = later(wake_at) => {}
        }
    }

    async fn report(&mut self, now: Instant) {
        if let Some(ending) = ending_of(self.outbox.flush().await) {
            self.watchdog.end(ending, now);
        } else if self.draining && self.phase == Phase::Asking {
            self.watchdog.end(Ending::Evict, now);
        }
    }

    /// The times that only this protocol has.
    fn check_times(&mut self, now: Instant) {
        if self.watchdog.ending().is_some() || self.resident.gone().is_some() {
            return;
        }
        if self.ready_by().is_some_and(|at| at <= now) {
            let seconds = self.settings.ready_within.as_secs_f32();
            let words = format!("The agent was not ready within {seconds} s.");
            self.watchdog.end(Ending::fault(Reason::Stalled, words), now);
        } else if self.exit_by().is_some_and(|at| at <= now) {
            self.fault(Reason::Crashed, "closed its standard output");
        } else if self.ping_at().is_some_and(|at| at <= now) {
            self.pinged = true;
            self.resident.ping();
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let mut times = vec![self.watchdog.wake_at(), self.outbox.due()];
        if self.watchdog.ending().is_none() && self.resident.gone().is_none() {
            times.extend([self.ready_by(), self.exit_by(), self.ping_at()]);
        }
        times.into_iter().flatten().min()
    }

    fn ready_by(&self) -> Option<Instant> {
        (self.phase == Phase::Starting).then(|| self.started + self.settings.ready_within)
    }

    fn exit_by(&self) -> Option<Instant> {
        self.closed.map(|at| at + EXIT_AFTER_CLOSE)
    }

    fn ping_at(&self) -> Option<Instant> {
        let due = self.phase == Phase::Working && !self.pinged;
        due.then(|| self.watchdog.heard() + self.settings.ping_after)
    }

    fn climb(&mut self, rung: Rung) {
        match rung {
            Rung::Cancel => {
                let reason = self.watchdog.ending().map_or("canceled", Ending::word);
                self.resident.say(&Down::Cancel { task_id: &self.task_id, reason });
            }
            Rung::Terminate => self.resident.terminate(),
            Rung::Kill => self.resident.kill(),
        }
    }

    fn hear(&mut self, heard: Heard) {
        let now = Instant::now();
        match heard {
            Heard::Gone => self.watchdog.child_gone(now),
            Heard::Closed => self.closed = Some(now),
            // Nothing that is said then is listened to.
            _ if self.watchdog.ending().is_some_and(Ending::is_urgent) => {}
            Heard::Unreadable(words) => self.fault(Reason::InvalidAgentResponse, &words),
            Heard::Line(line) => match Line::parse(&line) {
                Ok(line) => self.take(line, now),
                Err(error) => {
                    let words = format!("wrote a line that means nothing ({error})");
                    self.fault(Reason::InvalidAgentResponse, &words);
                }
            },
        }
    }

    fn take(&mut self, line: Line, now: Instant) {
        self.watchdog.life(now);
        self.pinged = false;
        if line.task_id.is_some_and(|id| id != self.task_id) {
            return;
        }
        match line.up {
            Up::Ready { .. } if self.phase == Phase::Starting => {
                self.resident.ready = true;
                self.begin(now);
            }
            Up::Ready { .. } | Up::Pong => {}
            _ if self.phase == Phase::Starting => {
                self.fault(Reason::InvalidAgentResponse, "spoke before it was ready");
            }
            up => self.take_word(up, now),
        }
    }

    /// A line about the task.
    fn take_word(&mut self, up: Up, now: Instant) {
        self.spoke = true;
        let fact = match up {
            Up::Ready { .. } | Up::Pong | Up::Status(None) => return,
            Up::Status(Some(message)) => Fact::Progress(message),
            Up::Artifact(piece) => self.artifact(piece),
            Up::Usage(usage) => Fact::Usage(usage),
            Up::Ask { kind, message } => {
                let kind = match kind {
                    Ask::Input => Interruption::Input,
                    Ask::Auth => Interruption::Auth,
                };
                Fact::Ask { kind, message }
            }
            Up::Reply(message) => return self.last = Some(Fact::Reply(message)),
            Up::Complete(message) => return self.last = Some(Fact::Complete(message)),
            Up::Reject(message) => return self.last = Some(Fact::Reject(message)),
            Up::Fail { message, retryable, reason } => {
                let reason = reason.as_deref().and_then(Reason::parse).unwrap_or(Reason::Failed);
                return self.last = Some(Fact::Fail { reason, message, retryable });
            }
        };
        // On the ladder only an end counts.
        if self.watchdog.ending().is_none() {
            let asking = matches!(fact, Fact::Ask { .. });
            self.phase = if asking { Phase::Asking } else { Phase::Working };
            self.watchdog.listen(!asking, now);
            self.outbox.push(fact, now);
        }
    }

    fn artifact(&mut self, piece: Piece) -> Fact {
        let Piece { mut artifact, append, last_chunk } = piece;
        let append = self.numbering.name(&mut artifact, append);
        Fact::Artifact(Chunk { artifact, append, last_chunk })
    }

    fn fault(&mut self, reason: Reason, words: &str) {
        self.watchdog.end(Ending::fault(reason, format!("The agent {words}.")), Instant::now());
    }

    fn obey(&mut self, signal: Signal) {
        let now = Instant::now();
        match signal {
            Signal::Message(message) => self.follow_up(&message, now),
            // It has no task yet, and nothing to say of one.
            Signal::Cancel if self.phase == Phase::Starting => {
                self.watchdog.end(Ending::Cancel, now);
                self.resident.terminate();
            }
            Signal::Cancel => self.watchdog.end(Ending::Cancel, now),
            Signal::Lost => {
                self.outbox.clear();
                self.watchdog.end(Ending::Lost, now);
            }
            Signal::Stop => self.watchdog.end(Ending::Stop, now),
            Signal::Evict if self.phase == Phase::Asking => self.watchdog.end(Ending::Evict, now),
            Signal::Evict => {}
            Signal::Drain => {
                self.draining = true;
                if self.phase == Phase::Asking {
                    self.watchdog.end(Ending::Evict, now);
                }
            }
        }
    }

    fn follow_up(&mut self, message: &Message, now: Instant) {
        if self.watchdog.ending() == Some(&Ending::Evict) {
            // The answer came while its child was being ended: the task goes back, to be taken up with it.
            self.watchdog.end(Ending::Stop, now);
            return;
        }
        let down = Down::Message { task_id: &self.task_id, message };
        if self.phase == Phase::Starting {
            down.write(&mut self.held);
        } else {
            self.resident.say(&down);
            self.phase = Phase::Working;
            self.watchdog.listen(true, now);
        }
    }

    async fn conclude(mut self) -> bool {
        let keep = self.last.is_some() && self.resident.gone().is_none() && !self.resident.is_silent();
        if let Some(fact) = self.verdict().await {
            self.outbox.finish(fact).await;
        }
        keep
    }

    async fn verdict(&mut self) -> Option<Fact> {
        if let Some(fact) = self.last.take() {
            return match self.watchdog.ending() {
                Some(ending) => ending.answered(fact),
                None => Some(fact),
            };
        }
        let tail = &mut self.resident.tail;
        let _ = timeout(LAST_WORDS, async {
            while tail.is_open() {
                tail.fill().await;
            }
        })
        .await;
        let tail = self.resident.tail.text();
        match self.watchdog.ending() {
            Some(ending) => ending.fact(&tail),
            // What it asked stays asked; the answer finds another child.
            None if self.phase == Phase::Asking => Some(Fact::HolderGone(None)),
            // It was about to leave when the task came, and has not looked at it.
            None if self.resident.warm && !self.spoke => Some(Fact::Released),
            None => Some(ending::unasked(self.resident.gone().unwrap_or(&How::WardenDied), &tail)),
        }
    }
}

/// The line that hands the task over.
fn hand_over(job: &Job, out: &mut Vec<u8>) {
    let newest = job.history.iter().rev().find(|message| message.role == Role::User);
    let Some(message) = newest.or(job.history.last()) else { return };
    let task = Task {
        task_id: &job.task_id.to_string(),
        context_id: job.context_id.as_str(),
        attempt: job.attempt,
        messages: &job.history,
        message,
        accepted_output_modes: &job.request.accepted_output_modes,
        metadata: job.request.metadata.as_ref(),
        deadline: job.deadline,
    };
    Down::Task(task).write(out);
}
