//! What a node does because others share its store: it renews the leases of what it has in hand, ends that where it cannot,
//! and takes on what other nodes changed. A node that is alone with its store does nothing here.

use std::time::Duration;

use baton_core::limits::{NODE_FENCE, NODE_LEASE};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::service::Service;

/// How often leases are renewed, and how soon after a renewal that failed.
const EVERY: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(1);

/// How long one renewal may take.
const WITHIN: Duration = Duration::from_secs(3);

/// Renews the leases of this node's attempts, and ends the attempts where that is not possible for [`NODE_FENCE`].
pub async fn renew(service: Service, stop: CancellationToken) {
    if !service.store.shared() {
        return;
    }
    let mut renewed = Instant::now();
    let mut fenced = false;
    loop {
        let asked = Instant::now();
        let boot = service.dispatcher.boot();
        let answer = tokio::time::timeout(WITHIN, service.store.renew(boot, NODE_LEASE)).await;
        let wait = match answer {
            Ok(Ok(_)) => {
                if fenced {
                    info!("the store answers again; this node works on");
                }
                (renewed, fenced) = (asked, false);
                EVERY
            }
            Ok(Err(why)) => {
                warn!(error = %why, "the leases of what is in hand could not be renewed");
                AGAIN
            }
            Err(_) => {
                warn!("the leases of what is in hand could not be renewed: the store does not answer");
                AGAIN
            }
        };
        if !fenced && renewed.elapsed() >= NODE_FENCE {
            error!(
                attempts = service.dispatcher.running(),
                "the store has not answered for {} s: ending what is in hand, before another node takes it over",
                NODE_FENCE.as_secs()
            );
            service.dispatcher.fence();
            fenced = true;
        }
        // Never past the moment at which what is in hand must be ended.
        let left = NODE_FENCE.saturating_sub(renewed.elapsed()).max(Duration::from_millis(100));
        tokio::select! {
            () = tokio::time::sleep(wait.min(if fenced { wait } else { left })) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Reads anew what other nodes changed and this one keeps in memory, and wakes whoever serves one caller for long.
pub async fn listen(service: Service, stop: CancellationToken) {
    if !service.store.shared() {
        return;
    }
    let mut abroad = service.hub.abroad();
    loop {
        tokio::select! {
            Ok(()) = abroad.changed() => {}
            () = stop.cancelled() => return,
        }
        service.ring();
        if let Err(why) = service.read_holds().await {
            warn!(error = %why, "could not read what is held back; trying again at the next change");
        }
    }
}
