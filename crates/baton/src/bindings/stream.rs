//! An open stream of a task's events, whatever it is written as: what comes next, what ends it, and how many there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_core::model::StreamResponse;
use baton_core::time::Timestamp;
use baton_wire::fault::Fault;
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::fault;
use crate::access::Caller;
use crate::config::settings::Limits;
use crate::service::follow::Follow;
use crate::service::{Error, Service};

/// Something is written after this much silence: a widespread client gives up after five seconds.
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

/// What a stream's writer is to write.
pub enum Next {
    /// An item with the number of its event.
    Item(u64, StreamResponse),
    /// Nothing came for a while; the stream goes on.
    Quiet,
    /// The task cannot be followed any further. Nothing comes after it.
    Refused(Fault),
    /// The stream ends here, though the task does not: the node stops, or the grant is no more. Nothing comes after it.
    Cut(Fault),
}

/// A stream while it is open. The run does not depend on it: when the client goes, only this ends.
pub struct Open {
    follow: Follow,
    quiet: Interval,
    /// When something was written last.
    spoke: Instant,
    service: Service,
    alarm: watch::Receiver<u64>,
    caller: Option<Caller>,
    /// When what the caller is known by ends, as far as that is known.
    until: Option<Timestamp>,
    /// Why the stream ends after what was given last.
    cut: Option<Error>,
    over: bool,
    _place: Option<Place>,
}

impl Open {
    /// A stream for a caller in its place; for the operator where there is none.
    pub fn new(service: &Service, follow: Follow, caller: Option<(Caller, Place)>) -> Self {
        let now = Instant::now();
        let mut quiet = tokio::time::interval_at(now + SILENCE, SILENCE);
        quiet.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (caller, place) = caller.unzip();
        // The grant may have gone between the look at the credentials and here.
        let mut alarm = service.alarm.subscribe();
        alarm.mark_changed();
        let service = service.clone();
        Self {
            follow,
            quiet,
            spoke: now,
            service,
            alarm,
            caller,
            until: None,
            cut: None,
            over: false,
            _place: place,
        }
    }

    /// Whether the stream ends where the task waits for input.
    pub const fn until_input(&self) -> bool {
        self.follow.until_input
    }

    /// What comes next; `None` at the end.
    pub async fn next(&mut self) -> Option<Next> {
        while !self.over && self.cut.is_none() {
            // Looked at before every item: where items are always at hand, no silence ever comes.
            if self.is_past_its_end() {
                self.alarm.mark_changed();
            }
            tokio::select! {
                biased;
                _ = self.alarm.changed() => if let Some(last) = self.alarmed().await {
                    return Some(last);
                },
                item = self.follow.next() => return self.item(item),
                _ = self.quiet.tick() => match SILENCE.checked_sub(self.spoke.elapsed()) {
                    Some(left) if !left.is_zero() => self.quiet.reset_after(left),
                    _ => {
                        self.quiet.reset();
                        self.spoke = Instant::now();
                        return Some(Next::Quiet);
                    }
                },
            }
        }
        self.over = true;
        self.cut.take().map(|why| Next::Cut(fault::of(why, None)))
    }

    fn item(&mut self, item: Result<Option<(u64, StreamResponse)>, Error>) -> Option<Next> {
        match item {
            Ok(Some((seq, item))) => {
                self.spoke = Instant::now();
                Some(Next::Item(seq, item))
            }
            Ok(None) => {
                self.over = true;
                None
            }
            Err(why) => {
                self.over = true;
                Some(Next::Refused(fault::of(why, None)))
            }
        }
    }

    /// Looks at what may have ended this stream, and ends it. In a drain, what is at hand or was held back is given before.
    async fn alarmed(&mut self) -> Option<Next> {
        match self.standing().await {
            Ok(until) => self.until = until,
            Err(why) => {
                self.cut = Some(why);
                return None;
            }
        }
        if !self.service.draining.is_cancelled() {
            return None;
        }
        if let Some(item) = self.follow.next().now_or_never() {
            self.alarm.mark_changed();
            return self.item(item);
        }
        self.cut = Some(Error::Draining);
        let (seq, item) = self.follow.held_back(&self.service).await?;
        Some(Next::Item(seq, item))
    }

    /// Whether the caller would still be let in, and until when: a stream is a call that lasts.
    async fn standing(&self) -> Result<Option<Timestamp>, Error> {
        match &self.caller {
            Some(caller) => self.service.standing(caller).await,
            None => Ok(None),
        }
    }

    fn is_past_its_end(&self) -> bool {
        self.until.is_some_and(|until| until <= self.service.now())
    }
}
