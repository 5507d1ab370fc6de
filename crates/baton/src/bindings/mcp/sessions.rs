//! Whose sessions there are: each belongs to the grant and the user that began it, and ends with what that one was let in by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::ident::Owner;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::access::Caller;
use crate::service::{Error, Service};

/// Sessions of one grant: each is a task and a few channels.
const EACH: usize = 256;

/// How long a session may be silent to which nobody listens.
const IDLE: Duration = Duration::from_mins(30);

/// How often it is looked for sessions that are idle, or whose caller's time is over.
const EVERY: Duration = Duration::from_secs(15);

/// All sessions of the node.
pub struct Sessions {
    service: Service,
    manager: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, Session>>,
}

struct Session {
    caller: Caller,
    /// When something was asked last.
    asked: Instant,
    /// Open streams.
    listening: usize,
}

/// An open stream of a session.
pub struct Listening {
    sessions: Arc<Sessions>,
    id: String,
}

impl Sessions {
    pub fn new(service: Service, manager: Arc<LocalSessionManager>) -> Self {
        Self { service, manager, known: Mutex::default() }
    }

    /// Whether a session is this caller's; it is not idle then.
    pub fn enter(&self, id: &str, caller: &Caller) -> bool {
        let mut known = self.known();
        let Some(session) = known.get_mut(id).filter(|session| session.caller.owner == caller.owner) else {
            return false;
        };
        session.asked = Instant::now();
        // What it was let in by now counts from now on.
        session.caller = caller.clone();
        true
    }

    /// Refuses one session too many.
    pub fn check_room(&self, caller: &Caller) -> Result<(), Error> {
        let of_grant = |owner: &Owner| owner.grant == caller.owner.grant;
        let count = self.known().values().filter(|session| of_grant(&session.caller.owner)).count();
        if count < EACH { Ok(()) } else { Err(Error::TooManyStreams) }
    }

    pub fn begin(&self, id: &str, caller: &Caller) {
        let session = Session { caller: caller.clone(), asked: Instant::now(), listening: 0 };
        self.known().insert(id.to_owned(), session);
    }

    pub fn forget(&self, id: &str) {
        self.known().remove(id);
    }

    /// Somebody listens to a session, as long as what is answered lives.
    pub fn listen(self: &Arc<Self>, id: &str) -> Option<Listening> {
        self.known().get_mut(id)?.listening += 1;
        Some(Listening { sessions: Arc::clone(self), id: id.to_owned() })
    }

    /// Ends sessions whose caller would be let in no more, at once, and those that nobody uses.
    pub async fn watch(self: Arc<Self>) {
        let mut alarm = self.service.alarm.subscribe();
        loop {
            tokio::select! {
                rung = alarm.changed() => if rung.is_err() { return },
                () = tokio::time::sleep(EVERY) => {}
                () = self.service.draining.cancelled() => return,
            }
            self.sweep().await;
        }
    }

    /// One look. Safe to repeat.
    async fn sweep(&self) {
        let all: Vec<_> = self
            .known()
            .iter()
            .map(|(id, session)| {
                let idle = session.listening == 0 && session.asked.elapsed() >= IDLE;
                (id.clone(), session.caller.clone(), idle)
            })
            .collect();
        for (id, caller, idle) in all {
            let barred = match self.service.standing(&caller).await {
                Ok(_) | Err(Error::Unavailable(_) | Error::Internal(_)) => false,
                Err(_) => true,
            };
            if idle || barred {
                info!(grant.id = %caller.owner.grant, barred, "an MCP session is over");
                self.known().remove(&id);
                if let Err(why) = self.manager.close_session(&id.into()).await {
                    debug!(error = %why, "an MCP session could not be closed");
                }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.known().get_mut(&self.id) {
            session.listening = session.listening.saturating_sub(1);
            session.asked = Instant::now();
        }
    }
}
