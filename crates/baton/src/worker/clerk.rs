//! Writes down what is only counted while it happens: when grants were used, and who was refused.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::service::Service;

/// How often it is written down: a crash loses no more than this of it.
const EVERY: Duration = Duration::from_mins(1);

pub async fn run(service: Service, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
        sweep(&service).await;
    }
}

/// Writes down what came since the last time. Also before the store is closed.
pub async fn sweep(service: &Service) {
    if let Err(why) = service.store.store_uses().await {
        warn!(error = %why, "could not store when grants were used");
    }
    let refused = service.refusals.take();
    let rows = refused.rows();
    if !rows.is_empty()
        && let Err(why) = service.store.append_audit(rows).await
    {
        service.refusals.put_back(refused);
        warn!(error = %why, "could not tell the audit log who was refused: it is told the next time");
    }
}
