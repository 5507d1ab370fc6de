//! Deletes the events of tasks that ended long ago, of which their snapshot is left, tasks that need not be kept, friend
//! requests that came to nothing, and access tokens and registrations of clients that nobody uses; and ends friend requests and
//! what clients were allowed whose time is over.

use std::collections::BTreeSet;
use std::time::Duration;

use baton_core::time::Timestamp;
use baton_store::Retire;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::config::settings::Retention;
use crate::service::Service;

/// How long a task that is over keeps its events: streams can be resumed that long.
const KEEP: Duration = Duration::from_hours(7 * 24);

/// How often it is looked for.
const EVERY: Duration = Duration::from_hours(1);

/// Tasks of one transaction.
const BATCH: usize = 500;

pub async fn run(service: Service, stop: CancellationToken) {
    loop {
        if let Err(why) = sweep(&service).await {
            warn!(error = %why, "could not prune events");
        }
        if let Err(why) = retire(&service).await {
            warn!(error = %why, "could not delete tasks that need not be kept");
        }
        if let Err(why) = service.sweep_friends().await {
            warn!(error = %why, "could not end friend requests whose time is over");
        }
        if let Err(why) = service.sweep_oauth().await {
            warn!(error = %why, "could not end what clients did not use in time");
        }
        if let Err(why) = service.store.tidy_access_tokens(service.now()).await {
            warn!(error = %why, "could not delete access tokens that are over");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Deletes the tasks of each agent that are over and beyond what is to be kept, in small transactions.
pub async fn retire(service: &Service) -> Result<usize, baton_store::Error> {
    let Retention { age, tasks } = service.retention;
    if age.is_none() && tasks.is_none() {
        return Ok(0);
    }
    let mut retired = 0;
    let agents: BTreeSet<_> =
        service.store.status().await?.tasks.into_iter().map(|(agent, ..)| agent).collect();
    for agent in agents {
        let before = age.map(|age| {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(service.now().as_millis().saturating_sub(age))
        });
        let retire = Retire { agent, before, beyond: tasks, most: BATCH };
        loop {
            let batch = service.store.retire(retire.clone()).await?.len();
            retired += batch;
            if batch == 0 {
                break;
            }
        }
    }
    if retired > 0 {
        info!(tasks = retired, "deleted tasks that need not be kept any more");
    }
    Ok(retired)
}

/// Prunes all that is old enough, in small transactions.
pub async fn sweep(service: &Service) -> Result<usize, baton_store::Error> {
    let keep = i64::try_from(KEEP.as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp::from_millis(service.now().as_millis().saturating_sub(keep));
    let mut pruned = 0;
    loop {
        let batch = service.store.prune_events(before, BATCH).await?;
        pruned += batch;
        if batch < BATCH {
            debug!(tasks = pruned, "pruned events");
            return Ok(pruned);
        }
    }
}
