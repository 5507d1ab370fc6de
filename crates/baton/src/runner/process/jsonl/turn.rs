//! One attempt at one task, on one child.

use std::time::Duration;

use baton_core::model::Role;
use baton_core::task::Reason;
use tokio::time::{Instant, timeout};

use super::down::{Down, Task};
use super::numbering::Numbering;
use super::resident::Resident;
use crate::runner::process::ending::{self, Ending};
use crate::runner::process::exit::How;
use crate::runner::process::ladder::Rung;
use crate::runner::process::outbox::Outbox;
use crate::runner::process::settings::Settings;
use crate::runner::process::watchdog::{Watchdog, Woken, ending_of, later};
use crate::runner::{Fact, Job, Signals};

/// How long an exit may come after the end of standard output: they are one event to the child.
const EXIT_AFTER_CLOSE: Duration = Duration::from_secs(1);

/// How long standard error is read on for the words of a failure.
const LAST_WORDS: Duration = Duration::from_millis(200);

mod hear;
mod obey;

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
    pub fn new(settings: &'a Settings, resident: &'a mut Resident, job: Job, watchdog: Watchdog) -> Self {
        let now = Instant::now();
        let mut held = Vec::new();
        hand_over(&job, &mut held);
        let mut turn = Self {
            settings,
            task_id: job.task_id.to_string(),
            outbox: Outbox::new(job.reporter),
            watchdog,
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
        let gone = self.resident.gone().is_some();
        self.last.is_some() || gone && (self.resident.is_silent() || self.watchdog.gave_up_streams())
    }

    /// Time comes last: what can be read at once belongs to the same report.
    async fn wait(&mut self) -> Woken {
        let wake_at = self.wake_at();
        tokio::select! {
            biased;
            signal = self.signals.next(), if !self.watchdog.is_lost() => self.obey(signal),
            heard = self.resident.hear() => self.hear(heard),
            () = later(wake_at) => return Woken::ByTime,
        }
        Woken::ByEvent
    }

    /// Reports what is due.
    async fn report(&mut self) {
        let now = Instant::now();
        if !self.outbox.is_urgent() && self.outbox.due().is_none_or(|due| due > now) {
            return;
        }
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
        let Settings { ping_after, stall, .. } = self.settings;
        due.then(|| self.watchdog.heard() + stall.map_or(*ping_after, |stall| (stall / 2).min(*ping_after)))
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

    fn fault(&mut self, reason: Reason, words: &str) {
        self.watchdog.end(Ending::fault(reason, format!("The agent {words}.")), Instant::now());
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
        extensions: &job.request.extensions,
        metadata: job.request.metadata.as_ref(),
        deadline: job.deadline,
    };
    Down::Task(task).write(out);
}
