//! What is PostgreSQL's own: two nodes on one database, lost connections, its clock, its privileges.

mod cluster;
mod copied;
mod encrypted;
mod listener;
mod nodes;
mod outages;
mod rows;

use std::sync::Arc;

use baton_store::Observer;
use baton_store::postgres::{Clock, Postgres, Settings};

use self::cluster::{Cluster, Schema};
use crate::conformance::{Backend, suite};

/// The suite tells its own time.
fn in_own_time(schema: &Schema) -> Settings {
    let mut settings = schema.settings();
    settings.clock = Clock::Caller;
    settings.connections = 4;
    settings
}

impl Backend for Schema {
    type Store = Postgres;

    async fn fresh() -> Self {
        Self::fresh(Cluster::shared()).await
    }

    async fn open(&self, observer: Arc<dyn Observer>) -> Postgres {
        Postgres::open(in_own_time(self), observer).await.unwrap()
    }

    async fn close(store: Postgres) {
        store.close().await;
    }
}

suite!(Schema);
