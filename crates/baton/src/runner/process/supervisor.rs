//! The `process` runner of one agent.

use async_trait::async_trait;

use super::child::Spawner;
use super::jsonl::{self, pool::Pool};
use super::settings::{Protocol, Settings};
use super::text;
use crate::runner::{Job, Runner};

/// Runs one agent's command.
#[derive(Debug)]
pub struct Process {
    settings: Settings,
    spawner: Spawner,
    pool: Pool,
}

impl Process {
    pub fn new(settings: Settings, spawner: Spawner) -> Self {
        let pool = Pool::new(settings.idle, settings.warm);
        Self { settings, spawner, pool }
    }
}

#[async_trait]
impl Runner for Process {
    async fn run(&self, job: Job) {
        match self.settings.protocol {
            Protocol::Text => text::run(&self.settings, &self.spawner, job).await,
            Protocol::Jsonl => jsonl::run(&self.settings, &self.spawner, &self.pool, job).await,
        }
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
