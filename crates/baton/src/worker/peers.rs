//! Looks what became of requests to peers, and fetches the credentials that came of them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::service::Service;

/// How often it is looked whether a peer is due.
const EVERY: Duration = Duration::from_secs(5);

pub async fn run(service: Service, stop: CancellationToken) {
    loop {
        tokio::select! {
            looked = service.look_at_peers() => {
                if let Err(why) = looked {
                    warn!(error = %why, "could not look which peers are due");
                }
            }
            () = stop.cancelled() => return,
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}
