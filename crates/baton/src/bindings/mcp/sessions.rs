//! Whose sessions there are: each belongs to the grant and the user that began it, and ends with that grant. What is said in
//! them it does not know.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::time::Timestamp;
use http_body::Body;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{debug, info};

use super::cut::{Cut, Cuttable};
use crate::access::Caller;
use crate::service::{Error, Service};

/// Sessions of one grant: each is a task and a few channels.
const EACH: usize = 256;

/// How long a session may be silent to which nobody listens.
const IDLE: Duration = Duration::from_mins(30);

/// The longest time between two looks at whether a session is idle or somebody's time is over.
const EVERY: Duration = Duration::from_secs(4);

/// All sessions of the node.
pub struct Sessions {
    service: Service,
    manager: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, Session>>,
    /// Sessions that are about to begin, by grant.
    opening: Mutex<HashMap<Arc<str>, usize>>,
    /// Somebody listens whose time is not known.
    fresh: Notify,
}

struct Session {
    caller: Caller,
    /// When something was asked last.
    asked: Instant,
    /// When what the caller is known by ends.
    until: Until,
    presence: Arc<Presence>,
    streams: Vec<Cut>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// To be looked at.
    Unknown,
    At(Timestamp),
    /// Whatever ends it, an alarm says so.
    Open,
}

/// Whether somebody hears what a session is told.
#[derive(Debug, Default)]
pub struct Presence {
    /// Open streams.
    listeners: AtomicUsize,
    over: AtomicBool,
}

/// An open stream of a session.
pub struct Listening {
    sessions: Arc<Sessions>,
    id: String,
    presence: Arc<Presence>,
}

/// A place for a session that is about to begin.
pub struct Seat {
    sessions: Arc<Sessions>,
    caller: Caller,
}

/// What becomes of a session after a look at it.
enum Found {
    Stands(Option<Timestamp>),
    /// Its grant lets in, but not by what this caller brought: what is open ends, and the caller comes again.
    Outlived,
    Over,
    /// Nobody could be asked.
    Unknown,
}

impl Sessions {
    pub fn new(service: Service, manager: Arc<LocalSessionManager>) -> Self {
        Self { service, manager, known: Mutex::default(), opening: Mutex::default(), fresh: Notify::new() }
    }

    /// Whether a session is this caller's; it is not idle then.
    pub fn enter(&self, id: &str, caller: &Caller) -> bool {
        let mut known = self.known();
        let Some(session) = known.get_mut(id).filter(|session| session.caller.owner == caller.owner) else {
            return false;
        };
        session.asked = Instant::now();
        // What it was let in by now counts from now on.
        if session.caller.proof != caller.proof {
            session.until = Until::Unknown;
        }
        session.caller = caller.clone();
        true
    }

    /// A place for one more session of this caller's grant.
    pub fn reserve(self: &Arc<Self>, caller: &Caller) -> Result<Seat, Error> {
        let grant = &caller.owner.grant;
        let mut opening = self.opening();
        let begun = self.known().values().filter(|session| session.caller.owner.grant == *grant).count();
        let soon = opening.get(grant).copied().unwrap_or(0);
        if begun + soon >= EACH {
            return Err(Error::TooManySessions);
        }
        opening.insert(Arc::clone(grant), soon + 1);
        Ok(Seat { sessions: Arc::clone(self), caller: caller.clone() })
    }

    /// A session that was ended by its client.
    pub fn forget(&self, id: &str) {
        let Some(gone) = self.known().remove(id) else { return };
        gone.presence.over.store(true, Ordering::Relaxed);
        gone.streams.into_iter().for_each(Cut::cut);
    }

    pub fn presence(&self, id: &str) -> Option<Arc<Presence>> {
        self.known().get(id).map(|session| Arc::clone(&session.presence))
    }

    /// Somebody listens to a session: the body, which ends with it. None where the session is over already.
    pub fn listen<B>(self: &Arc<Self>, id: &str, body: B) -> Option<(Listening, Cuttable<B>)>
    where
        B: Body + Send + Unpin + 'static,
    {
        let (cut, body) = Cut::new(body);
        let mut known = self.known();
        let session = known.get_mut(id)?;
        session.streams.retain(Cut::is_open);
        session.streams.push(cut);
        let presence = Arc::clone(&session.presence);
        presence.listeners.fetch_add(1, Ordering::Relaxed);
        // Its grant may have gone between the look at the credentials and here.
        session.until = Until::Unknown;
        self.fresh.notify_one();
        Some((Listening { sessions: Arc::clone(self), id: id.to_owned(), presence }, body))
    }

    /// Ends sessions whose grant is no more, at once, and those that nobody uses.
    pub async fn watch(self: Arc<Self>) {
        let mut alarm = self.service.alarm.subscribe();
        loop {
            let rung = tokio::select! {
                rung = alarm.changed() => match rung {
                    Ok(()) => true,
                    Err(_) => return,
                },
                () = tokio::time::sleep(self.until_next()) => false,
                () = self.fresh.notified() => false,
                () = self.service.draining.cancelled() => return,
            };
            self.sweep(rung).await;
        }
    }

    /// How long to wait for the next look.
    fn until_next(&self) -> Duration {
        let known = self.known();
        let ends = known.values().filter_map(|session| match session.until {
            Until::At(at) => Some(at),
            Until::Unknown | Until::Open => None,
        });
        ends.min().map_or(EVERY, |at| at.since(self.service.now()).min(EVERY))
    }

    /// One look; after an alarm at all of them. Safe to repeat.
    async fn sweep(&self, all: bool) {
        let now = self.service.now();
        let due: Vec<_> = self
            .known()
            .iter()
            .map(|(id, session)| {
                let idle = !session.presence.listens() && session.asked.elapsed() >= IDLE;
                let look = all || session.until.is_due(now);
                (id.clone(), session.caller.clone(), idle, look)
            })
            .filter(|(_, _, idle, look)| *idle || *look)
            .collect();
        for (id, caller, idle, _) in due {
            match if idle { Found::Over } else { self.find(&caller).await } {
                Found::Unknown => {}
                Found::Stands(until) => self.stands(&id, &caller, until),
                Found::Outlived => self.outlived(&id, &caller),
                Found::Over => self.end(&id, &caller, idle),
            }
        }
    }

    async fn find(&self, caller: &Caller) -> Found {
        match self.service.standing(caller).await {
            Ok(until) => Found::Stands(until),
            Err(Error::Unavailable(_) | Error::Internal(_)) => Found::Unknown,
            Err(_) => match self.service.has_grant(caller).await {
                Ok(true) => Found::Outlived,
                Ok(false) => Found::Over,
                Err(_) => Found::Unknown,
            },
        }
    }

    fn stands(&self, id: &str, caller: &Caller, until: Option<Timestamp>) {
        let mut known = self.known();
        if let Some(session) = known.get_mut(id).filter(|session| session.caller.proof == caller.proof) {
            session.until = until.map_or(Until::Open, Until::At);
        }
    }

    fn outlived(&self, id: &str, caller: &Caller) {
        let mut known = self.known();
        let session = known.get_mut(id).filter(|session| session.caller.proof == caller.proof);
        let streams = session.map(|session| {
            session.until = Until::Open;
            std::mem::take(&mut session.streams)
        });
        drop(known);
        streams.into_iter().flatten().for_each(Cut::cut);
    }

    fn end(&self, id: &str, caller: &Caller, idle: bool) {
        info!(grant.id = %caller.owner.grant, idle, "an MCP session is over");
        // First the streams: a session whose reader does not read hears of nothing.
        self.forget(id);
        let (manager, id) = (Arc::clone(&self.manager), id.to_owned());
        tokio::spawn(async move {
            if let Err(why) = manager.close_session(&id.into()).await {
                debug!(error = %why, "an MCP session could not be closed");
            }
        });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opening(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// The session has begun.
    pub fn take(self, id: &str) {
        let session = Session {
            caller: self.caller.clone(),
            asked: Instant::now(),
            until: Until::Unknown,
            presence: Arc::default(),
            streams: Vec::new(),
        };
        self.sessions.known().insert(id.to_owned(), session);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut opening = self.sessions.opening();
        if let Some(count) = opening.get_mut(&self.caller.owner.grant) {
            *count -= 1;
            if *count == 0 {
                opening.remove(&self.caller.owner.grant);
            }
        }
    }
}

impl Presence {
    pub fn listens(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Until {
    fn is_due(self, now: Timestamp) -> bool {
        match self {
            Self::Unknown => true,
            Self::At(at) => at <= now,
            Self::Open => false,
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.presence.listeners.fetch_sub(1, Ordering::Relaxed);
        if let Some(session) = self.sessions.known().get_mut(&self.id) {
            session.asked = Instant::now();
        }
    }
}
