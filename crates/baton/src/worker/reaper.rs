//! Ends what time has ended: leases that ran out, deadlines, questions that nobody answered, grants; what a revocation left
//! at work, and what a pause left undone where no runner asks; and processes that fell to the node when their warden died.

use std::time::Duration;

use baton_store::{By, Error};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::runner::process;
use crate::service::Service;

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// The shortest pause: what could not be ended now is looked at again then.
const SOON: Duration = Duration::from_millis(100);

/// Tasks of one look; more are met by the next.
const BATCH: usize = 256;

pub async fn run(service: Service, stop: CancellationToken) {
    loop {
        if let Err(why) = service.end_expired().await {
            warn!(error = %why, "could not end grants whose time is over, and the work of ended ones");
        }
        match sweep(&service).await {
            // After a long stop there may be more than one look's worth.
            Ok(BATCH) => continue,
            Ok(_) => {}
            Err(why) => warn!(error = %why, "could not look for what is due"),
        }
        if let Err(why) = service.work_inline().await {
            warn!(error = %why, "could not work on what was handed in during a pause");
        }
        process::sweep::sweep().await;
        tokio::select! {
            () = tokio::time::sleep(service.until_expiry(EVERY).await.max(SOON)) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// One look; answers how many tasks it changed. Safe to repeat: what is not due any more is refused by the state machine and left alone.
pub async fn sweep(service: &Service) -> Result<usize, Error> {
    let due = service.store.due(service.now(), BATCH).await?;
    let mut ended = 0;
    for (task, input) in due {
        match service.apply(By::Node, task, vec![input]).await {
            Ok(applied) if !applied.events.is_empty() => {
                ended += 1;
                info!(task.id = %task, state = ?applied.known.task().state.shown(), "ended by the clock");
            }
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(why) => warn!(task.id = %task, error = %why, "could not end what is due"),
        }
    }
    Ok(ended)
}
