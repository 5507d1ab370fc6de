//! Who is signed in to the console: codes that open it once, and sessions.
//!
//! Both are in this node's memory, and of both only the SHA-256: a restart signs everybody out.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::time::Timestamp;
use baton_store::Actor;
use tokio_util::sync::CancellationToken;

use crate::access::{Digest, Secret};

/// How long a code opens the console.
const CODE_LIFE: Duration = Duration::from_mins(5);

/// Codes at a time; the oldest goes.
const CODES: usize = 16;

/// A session ends when nobody used it for so long, and in any case after so long.
pub const IDLE: Duration = Duration::from_hours(8);
pub const LIFE: Duration = Duration::from_hours(24);

/// Sessions at a time; the one that was used the longest ago goes.
const SESSIONS: usize = 64;

/// Somebody who is signed in.
#[derive(Clone)]
pub struct Session {
    id: Digest,
    /// What every form of this session carries.
    pub csrf: Arc<str>,
    /// Where it was opened from.
    pub origin: Arc<str>,
    /// Who has opened it, where its provider said so: the subject, and the issuer.
    pub person: Option<Arc<str>>,
    created_at: Timestamp,
    used_at: Timestamp,
    /// Cancelled when the session is over.
    pub over: CancellationToken,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Session {
    /// Who does something in it from `origin`, for the audit log.
    pub fn actor(&self, origin: &str) -> Actor {
        match &self.person {
            Some(person) => Actor::new("operator", format!("{origin} as {person}")),
            None => Actor::new("operator", origin),
        }
    }

    fn holds(&self, now: Timestamp) -> bool {
        now.since(self.used_at) < IDLE && now.since(self.created_at) < LIFE
    }
}

/// What is said on the next page of a session.
#[derive(Clone, Debug)]
pub struct Notice {
    /// It did not work.
    pub bad: bool,
    /// HTML of ours.
    pub html: String,
}

#[derive(Debug, Default)]
struct Known {
    /// Digest and end, the oldest first.
    codes: Vec<(Digest, Timestamp)>,
    sessions: HashMap<Digest, Session>,
    notices: HashMap<Digest, Notice>,
}

/// All codes and sessions of a node.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Known>);

impl Sessions {
    /// A code that opens the console once, and until when.
    pub fn invite(&self, now: Timestamp) -> (Secret, Timestamp) {
        let (code, until) = (Secret::random(), now.after(CODE_LIFE));
        let mut known = self.known();
        known.codes.retain(|(_, until)| *until > now);
        if known.codes.len() >= CODES {
            known.codes.remove(0);
        }
        known.codes.push((Secret::digest(code.reveal()), until));
        (code, until)
    }

    /// Opens a session with a code, which opens nothing after that.
    pub fn redeem(&self, code: &str, origin: &str, now: Timestamp) -> Option<(Secret, Session)> {
        let digest = Secret::digest(code);
        let mut known = self.known();
        let at = known.codes.iter().position(|(of, _)| *of == digest)?;
        let (_, until) = known.codes.remove(at);
        (until > now).then(|| known.open(origin, None, now))
    }

    /// Opens a session for somebody whom a provider has signed in.
    pub fn open(&self, origin: &str, person: Arc<str>, now: Timestamp) -> (Secret, Session) {
        self.known().open(origin, Some(person), now)
    }

    /// The session that this secret is of. What a person does prolongs it, what a page does by itself does not.
    pub fn find(&self, secret: &str, by_person: bool, now: Timestamp) -> Option<Session> {
        let mut known = self.known();
        known.forget_ended(now);
        let session = known.sessions.get_mut(&Secret::digest(secret))?;
        if by_person {
            session.used_at = now;
        }
        Some(session.clone())
    }

    /// Whether a session goes on. Looking does not prolong it.
    pub fn goes_on(&self, session: &Session, now: Timestamp) -> bool {
        let mut known = self.known();
        known.forget_ended(now);
        known.sessions.contains_key(&session.id)
    }

    pub fn end(&self, session: &Session) {
        self.known().remove(&session.id);
    }

    /// Says something on the next page of a session.
    pub fn tell(&self, session: &Session, notice: Notice) {
        self.known().notices.insert(session.id, notice);
    }

    /// What is to be said, once.
    pub fn take_notice(&self, session: &Session) -> Option<Notice> {
        self.known().notices.remove(&session.id)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn open(&mut self, origin: &str, person: Option<Arc<str>>, now: Timestamp) -> (Secret, Session) {
        self.forget_ended(now);
        if self.sessions.len() >= SESSIONS {
            let oldest = self.sessions.values().min_by_key(|session| session.used_at).map(|it| it.id);
            if let Some(id) = oldest {
                self.remove(&id);
            }
        }
        let secret = Secret::random();
        let session = Session {
            id: Secret::digest(secret.reveal()),
            csrf: Secret::random().into_text().into(),
            origin: origin.into(),
            person,
            created_at: now,
            used_at: now,
            over: CancellationToken::new(),
        };
        self.sessions.insert(session.id, session.clone());
        (secret, session)
    }

    fn forget_ended(&mut self, now: Timestamp) {
        let ended: Vec<_> =
            self.sessions.values().filter(|session| !session.holds(now)).map(|session| session.id).collect();
        for id in &ended {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: &Digest) {
        self.notices.remove(id);
        if let Some(session) = self.sessions.remove(id) {
            session.over.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).after(Duration::from_mins(minutes))
    }

    #[test]
    fn a_code_opens_one_session() {
        let sessions = Sessions::default();
        let (code, until) = sessions.invite(at(0));
        assert_eq!(until, at(5));
        assert_eq!(format!("{code:?}"), "[redacted]");
        assert!(sessions.redeem("guess", "here", at(1)).is_none());
        let (secret, session) = sessions.redeem(code.reveal(), "here", at(1)).unwrap();
        assert!(sessions.redeem(code.reveal(), "here", at(1)).is_none(), "only once");
        assert_eq!(sessions.find(secret.reveal(), true, at(2)).unwrap().csrf, session.csrf);
        assert!(sessions.find(code.reveal(), true, at(2)).is_none(), "a code is no session");
    }

    #[test]
    fn a_code_is_short_lived() {
        let sessions = Sessions::default();
        let (code, _) = sessions.invite(at(0));
        assert!(sessions.redeem(code.reveal(), "here", at(5)).is_none());
        let codes: Vec<_> = (0..=CODES).map(|_| sessions.invite(at(6)).0).collect();
        assert!(sessions.redeem(codes[0].reveal(), "here", at(6)).is_none(), "pushed out");
        assert!(sessions.redeem(codes[1].reveal(), "here", at(6)).is_some());
    }

    fn opened(sessions: &Sessions, minutes: u64) -> (Secret, Session) {
        let (code, _) = sessions.invite(at(minutes));
        sessions.redeem(code.reveal(), "here", at(minutes)).unwrap()
    }

    #[test]
    fn a_session_ends_idle_and_in_any_case() {
        let sessions = Sessions::default();
        let (idle, session) = opened(&sessions, 0);
        assert!(sessions.find(idle.reveal(), false, at(400)).is_some(), "a page looks by itself");
        assert!(sessions.goes_on(&session, at(479)));
        assert!(sessions.find(idle.reveal(), true, at(480)).is_none());
        assert!(session.over.is_cancelled());
        let (busy, _) = opened(&sessions, 0);
        for hour in 1..24 {
            assert!(sessions.find(busy.reveal(), true, at(60 * hour)).is_some());
        }
        assert!(sessions.find(busy.reveal(), true, at(60 * 24)).is_none());
    }

    #[test]
    fn signing_out_ends_one() {
        let sessions = Sessions::default();
        let ((first, one), (second, _)) = (opened(&sessions, 0), opened(&sessions, 0));
        sessions.tell(&one, Notice { bad: false, html: "done".to_owned() });
        assert!(sessions.take_notice(&one).is_some_and(|notice| notice.html == "done"));
        assert!(sessions.take_notice(&one).is_none());
        sessions.end(&one);
        assert!(one.over.is_cancelled());
        assert!(sessions.find(first.reveal(), true, at(1)).is_none());
        assert!(sessions.find(second.reveal(), true, at(1)).is_some());
    }

    #[test]
    fn whoever_signed_in_at_a_provider_is_told_by_name() {
        let sessions = Sessions::default();
        let (secret, session) = sessions.open("here", "ada at https://id.example.com".into(), at(0));
        let by = session.actor("there");
        assert_eq!((&*by.name, &*by.origin), ("operator", "there as ada at https://id.example.com"));
        assert!(sessions.find(secret.reveal(), true, at(479)).is_some());
        assert!(sessions.find(secret.reveal(), true, at(959)).is_none(), "and it ends as others do");
        assert_eq!(opened(&sessions, 0).1.actor("there").origin, "there");
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = Sessions::default();
        let (first, _) = opened(&sessions, 0);
        for _ in 0..SESSIONS {
            opened(&sessions, 1);
        }
        assert!(sessions.find(first.reveal(), true, at(2)).is_none());
        assert_eq!(sessions.known().sessions.len(), SESSIONS);
    }
}
