//! Asks an issuer for its keys: at the start, every few minutes, and when a token names one that is not known.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::access::jwt::{Discovery, Issuer};
use crate::net::dialer::{Ask, Dialer, Target};

/// How long keys are taken before it is asked again: a key that was withdrawn is good that long at most.
const EVERY: Duration = Duration::from_mins(10);

/// How long until it is asked again after it was asked in vain.
const AGAIN: Duration = Duration::from_mins(1);

/// Bytes of an answer, and how long it may take.
const BOUNDS: (usize, Duration) = (256 * 1024, Duration::from_secs(10));

pub async fn run(issuer: Arc<Issuer>, dialer: Dialer, stop: CancellationToken) {
    let mut next = Duration::ZERO;
    loop {
        tokio::select! {
            () = tokio::time::sleep(next) => {}
            () = issuer.keys.wanted() => {}
            () = stop.cancelled() => return,
        }
        tokio::select! {
            asked = sweep(&issuer, &dialer) => match asked {
                Some(true) => next = EVERY,
                Some(false) => next = AGAIN,
                None => {}
            },
            () = stop.cancelled() => return,
        }
    }
}

/// Asks, where it is time to; answers whether all is well then.
pub async fn sweep(issuer: &Issuer, dialer: &Dialer) -> Option<bool> {
    if !issuer.keys.begin() {
        return None;
    }
    let url = &issuer.settings.url;
    let asked = ask(issuer, dialer).await;
    let taken = issuer.keys.end(asked.as_ref().ok().map(|set| &**set)).map_err(|why| why.to_string());
    match asked.and(taken) {
        Ok(0) => warn!(issuer = url, "an issuer has no key that tokens could be checked with"),
        Ok(keys) => debug!(issuer = url, keys, "has the keys of an issuer"),
        Err(why) => {
            warn!(issuer = url, error = %why, "cannot have the keys of an issuer; what was had before is taken for a day");
            return Some(false);
        }
    }
    Some(true)
}

/// The text of its set of keys.
async fn ask(issuer: &Issuer, dialer: &Dialer) -> Result<bytes::Bytes, String> {
    let said = get(dialer, &issuer.settings.discovery()).await?;
    let discovery = Discovery::read(&said, &issuer.settings.url)?;
    issuer.heard(&discovery);
    get(dialer, discovery.keys()).await
}

async fn get(dialer: &Dialer, url: &str) -> Result<bytes::Bytes, String> {
    let said = |why: &dyn std::fmt::Display| format!("{url}: {why}");
    let target = Target::parse(url).map_err(|why| said(&why))?;
    let answer = dialer.call(&target, Ask::default(), BOUNDS).await.map_err(|why| said(&why))?;
    if answer.status == StatusCode::OK { Ok(answer.body) } else { Err(said(&answer.status)) }
}
