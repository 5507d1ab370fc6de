//! The `process` runner of one agent.

use async_trait::async_trait;
use tokio::time::Instant;

use super::child::Spawner;
use super::jsonl::{self, pool::Pool};
use super::settings::{Protocol, Settings};
use super::text;
use super::watchdog::Watchdog;
use crate::clock::Clock;
use crate::runner::{Job, Runner};

/// Runs one agent's command.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    spawner: Spawner,
    pool: Pool,
    clock: Clock,
}

impl Process {
    pub fn new(settings: Settings, spawner: Spawner) -> Self {
        let pool = Pool::new(settings.idle, settings.warm);
        Self { settings, spawner, pool, clock: Clock::default() }
    }

    /// Deadlines are read by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }
}

#[async_trait]
impl Runner for Process {
    async fn run(&self, job: Job) {
        let time_left = job.deadline.map(|at| at.since(self.clock.now()));
        let watchdog = Watchdog::new(time_left, self.settings.stall, Instant::now());
        match self.settings.protocol {
            Protocol::Text => text::run(&self.settings, &self.spawner, job, watchdog).await,
            Protocol::Jsonl => {
                jsonl::run(&self.settings, &self.spawner, &self.pool, job, watchdog).await;
            }
        }
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
