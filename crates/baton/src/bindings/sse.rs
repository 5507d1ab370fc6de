//! A task's events as server-sent events.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use baton_wire::fault::Fault;
use baton_wire::sse::{KEEP_ALIVE, Wrap};
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::fault;
use crate::access::Caller;
use crate::config::settings::Limits;
use crate::service::follow::Follow;
use crate::service::{Error, Service};

/// A comment after this much silence: a widespread client gives up after five seconds.
const SILENCE: Duration = Duration::from_secs(4);

/// Open streams by grant.
#[derive(Debug, Default)]
pub struct Streams {
    open: Mutex<HashMap<Arc<str>, usize>>,
}

/// One open stream's place in the count.
#[derive(Debug)]
pub struct Place {
    streams: Arc<Streams>,
    grant: Arc<str>,
}

impl Streams {
    /// A place for one more stream of this caller's grant.
    pub fn enter(self: &Arc<Self>, caller: &Caller, limits: &Limits) -> Result<Place, Error> {
        let most = if caller.is_local() { limits.streams_local } else { limits.streams_per_grant };
        let grant = Arc::clone(&caller.owner.grant);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(Arc::clone(&grant)).or_default();
        if *count >= most {
            return Err(Error::TooManyStreams);
        }
        *count += 1;
        Ok(Place { streams: Arc::clone(self), grant })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.grant) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.grant);
            }
        }
    }
}

/// A stream while it is open.
struct Open {
    follow: Follow,
    wrap: Wrap,
    quiet: Interval,
    service: Service,
    revocations: watch::Receiver<u64>,
    caller: Option<Caller>,
    over: bool,
    _place: Option<Place>,
}

/// The answer that carries a task's events. The run does not depend on it: when the client goes, only this ends.
pub fn respond(service: &Service, follow: Follow, wrap: Wrap, caller: Option<(Caller, Place)>) -> Response {
    let mut quiet = tokio::time::interval_at(Instant::now() + SILENCE, SILENCE);
    quiet.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (caller, place) = caller.unzip();
    // The grant may have gone between the look at the credentials and here.
    let mut revocations = service.revocations.subscribe();
    revocations.mark_changed();
    let open = Open {
        follow,
        wrap,
        quiet,
        service: service.clone(),
        revocations,
        caller,
        over: false,
        _place: place,
    };
    let frames = stream::unfold(open, |mut open| async {
        let frame = open.next().await?;
        Some((Ok::<_, Infallible>(frame), open))
    });
    stream_of(Body::from_stream(frames))
}

/// A stream of nothing but why there is none, for clients that read no refusal elsewhere.
pub fn refuse(fault: &Fault, wrap: &Wrap) -> Response {
    stream_of(Body::from(wrap.error(fault)))
}

fn stream_of(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Open {
    async fn next(&mut self) -> Option<Bytes> {
        while !self.over {
            tokio::select! {
                biased;
                _ = self.revocations.changed() => self.over = self.is_revoked().await,
                item = self.follow.next() => return match item {
                    Ok(Some((seq, item))) => {
                        self.quiet.reset();
                        Some(self.wrap.item(seq, &item, self.follow.until_input))
                    }
                    Ok(None) => None,
                    Err(why) => {
                        self.over = true;
                        Some(self.wrap.error(&fault::of(why, None)))
                    }
                },
                _ = self.quiet.tick() => return Some(Bytes::from_static(KEEP_ALIVE)),
                () = self.service.draining.cancelled() => {
                    self.over = true;
                    let last = self.follow.held_back(&self.service).await;
                    return last.map(|(seq, item)| self.wrap.item(seq, &item, self.follow.until_input));
                }
            }
        }
        None
    }

    /// Whether the caller's grant is no more.
    async fn is_revoked(&self) -> bool {
        match &self.caller {
            Some(caller) if !caller.is_local() => self.service.is_revoked(&caller.owner.grant).await,
            Some(_) | None => false,
        }
    }
}
