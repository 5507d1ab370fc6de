//! The keys of one issuer: what was had last, and how often it may be asked again.
//!
//! A loop asks (`worker::issuers`); whoever meets a key that is not known wakes it and waits for what it brings. However
//! many made-up keys are named, it asks once in [`BETWEEN`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::clock::Clock;

/// The least time between two times of asking.
const BETWEEN: Duration = Duration::from_secs(30);

/// How long keys are taken when their issuer cannot be reached: it may have withdrawn one.
const STALE: Duration = Duration::from_hours(24);

/// How long a request waits for keys.
const WAIT: Duration = Duration::from_secs(10);

/// Keys that are kept of one issuer.
const KEYS: usize = 64;

/// A key that tokens are checked with.
#[derive(Clone, Debug)]
struct Key {
    kid: Option<String>,
    /// The only algorithm that it may be used with, where it says one.
    algorithm: Option<Algorithm>,
    public: DecodingKey,
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The issuer has no such key.
    Unknown,
    /// Nobody knows now what keys it has.
    Unreachable,
}

/// The keys of one issuer.
#[derive(Debug)]
pub struct Keys {
    clock: Clock,
    known: RwLock<Known>,
    turn: Mutex<Turn>,
    wanted: Notify,
    /// Counts the times of asking.
    asked: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Arc<[Key]>,
    /// When they were had.
    at: Option<Duration>,
}

/// Whether somebody asks, or may.
#[derive(Debug, Default)]
struct Turn {
    going_on: bool,
    last: Option<Duration>,
}

/// A set as its issuer writes it; what cannot be read in it is left out.
#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Keys {
    pub fn new(clock: Clock) -> Self {
        let asked = watch::Sender::default();
        Self { clock, known: RwLock::default(), turn: Mutex::default(), wanted: Notify::new(), asked }
    }

    /// The key that a token names, or the only one that fits where it names none.
    pub async fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, Missing> {
        match self.look(kid, algorithm) {
            Err(_) if self.ask().await => self.look(kid, algorithm),
            found => found,
        }
    }

    /// Lets the issuer be asked, where it is time to, and waits for what comes of it; whether it was worth waiting.
    pub async fn ask(&self) -> bool {
        let mut asked = self.asked.subscribe();
        let may = self.may_ask();
        if may {
            self.wanted.notify_one();
            let _ = tokio::time::timeout(WAIT, asked.changed()).await;
        }
        may
    }

    fn look(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, Missing> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.at.is_some_and(|at| self.clock.elapsed().saturating_sub(at) < STALE);
        if !fresh {
            return Err(Missing::Unreachable);
        }
        let fits = |key: &&Key| {
            key.public.family() == algorithm.family() && key.algorithm.is_none_or(|own| own == algorithm)
        };
        let mut fitting = known.keys.iter().filter(fits);
        let found = match kid {
            Some(kid) => fitting.find(|key| key.kid.as_deref() == Some(kid)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        found.map(|key| key.public.clone()).ok_or(Missing::Unknown)
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is worth waiting: somebody asks now, or it is time to.
    fn may_ask(&self) -> bool {
        let turn = self.turn();
        turn.going_on || turn.last.is_none_or(|at| self.clock.elapsed().saturating_sub(at) >= BETWEEN)
    }

    /// Waits until somebody meets a key that is not known.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Takes the turn to ask, where it is time; whoever has it says what came of it.
    pub fn begin(&self) -> bool {
        if !self.may_ask() {
            return false;
        }
        *self.turn() = Turn { going_on: true, last: Some(self.clock.elapsed()) };
        true
    }

    /// What came of asking: the text of a set, or nothing.
    pub fn end(&self, set: Option<&[u8]>) -> Result<usize, serde_json::Error> {
        let keys = set.map(parse).transpose();
        if let Ok(Some(keys)) = &keys {
            let known = Known { keys: Arc::clone(keys), at: Some(self.clock.elapsed()) };
            *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        }
        self.turn().going_on = false;
        self.asked.send_modify(|count| *count += 1);
        keys.map(|keys| keys.map_or(0, |keys| keys.len()))
    }
}

fn parse(set: &[u8]) -> Result<Arc<[Key]>, serde_json::Error> {
    let Set { keys } = serde_json::from_slice(set)?;
    let jwks = keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    Ok(jwks.filter_map(|jwk| Key::of(&jwk)).take(KEYS).collect())
}

impl Key {
    /// A public key for signatures; none where it is for something else, or a shared secret.
    fn of(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let usage = common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let verifies = |all: &Vec<KeyOperations>| all.contains(&KeyOperations::Verify);
        if !usage || !common.key_operations.as_ref().is_none_or(verifies) {
            return None;
        }
        let public = DecodingKey::from_jwk(jwk).ok()?;
        let algorithm = common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
        let shared = public.family() == jsonwebtoken::AlgorithmFamily::Hmac;
        (!shared).then(|| Self { kid: common.key_id.clone(), algorithm, public })
    }
}
