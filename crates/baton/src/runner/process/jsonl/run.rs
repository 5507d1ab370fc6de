//! Finds a child for an attempt, and lets it rest afterwards.

use super::pool::{Key, Pool};
use super::resident::Resident;
use super::turn::Turn;
use crate::runner::Job;
use crate::runner::process::child::{SpawnError, Spawner};
use crate::runner::process::outbox::Outbox;
use crate::runner::process::settings::Settings;
use crate::runner::process::watchdog::Watchdog;
use crate::runner::process::{ending, environ};

/// Works on one attempt, on a child that rests for this owner and context or on a new one.
pub async fn run(settings: &Settings, spawner: &Spawner, pool: &Pool, job: Job, watchdog: Watchdog) {
    let key = Key { owner: job.owner.clone(), context_id: job.context_id.clone() };
    let mut resident = match pool.take(&key).await {
        Some(resident) => resident,
        None => match start(settings, spawner, &job) {
            Ok(resident) => resident,
            Err(error) => {
                let fact = ending::no_child(&job.agent, &error);
                return Outbox::new(job.reporter).finish(fact).await;
            }
        },
    };
    if Turn::new(settings, &mut resident, job, watchdog).run().await {
        resident.warm = true;
        pool.put(key, resident);
    }
}

fn start(settings: &Settings, spawner: &Spawner, job: &Job) -> Result<Resident, SpawnError> {
    let mut spec = settings.spec.clone();
    spec.env.extend(environ::of_context(job));
    spawner.spawn(&spec).map(Resident::new)
}
