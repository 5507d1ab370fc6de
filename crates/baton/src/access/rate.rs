//! How much of a rate is used up: by grant, and by client address. Asked before any work is done.
//!
//! Memory is bounded by construction. Grants are few, and their own. Addresses are as many as an attacker likes: they share
//! a table of a fixed size, by a hash that nobody outside can work out, so that two may rarely share a cell.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;

use baton_store::{Grant, Per, Rate};
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{NotUntil, Quota, RateLimiter};

use super::counted_as;
use crate::clock::Clock;

/// Cells of a table: half a megabyte.
const CELLS: usize = 1 << 16;

/// The shortest wait that is said: less would only bring the caller back too early.
const SHORTEST: Duration = Duration::from_secs(1);

/// A caller came too often; it may come again after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOften(pub Duration);

/// The node's clock, as the limiter reads it: it never goes back.
#[derive(Clone, Debug)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Cells that addresses share by their hash; none before the first address comes.
struct Table {
    cells: LazyLock<Box<[InMemoryState]>>,
    hash: RandomState,
}

impl Default for Table {
    fn default() -> Self {
        let cells = || (0..CELLS).map(|_| InMemoryState::default()).collect();
        Self { cells: LazyLock::new(cells), hash: RandomState::new() }
    }
}

impl StateStore for Table {
    type Key = IpAddr;

    fn measure_and_replace<T, F, E>(&self, key: &IpAddr, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let cell = self.hash.hash_one(key) as usize % self.cells.len();
        self.cells[cell].measure_and_replace(&NotKeyed::NonKey, f)
    }
}

type OneGrant = RateLimiter<NotKeyed, InMemoryState, Ticks, NoOpMiddleware<Duration>>;

/// What a grant's limiter was made for, and the limiter.
type Known = (Rate, Arc<OneGrant>);

/// The rates of grants.
pub struct Grants {
    clock: Clock,
    known: RwLock<HashMap<Arc<str>, Known>>,
}

impl std::fmt::Debug for Grants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}

impl Grants {
    pub fn new(clock: Clock) -> Self {
        Self { clock, known: RwLock::default() }
    }

    /// Counts one request of a grant.
    pub fn count(&self, grant: &Grant) -> Result<(), TooOften> {
        let Some(rate) = grant.limits.rate else { return Ok(()) };
        let limiter = self.find(&grant.id, rate).unwrap_or_else(|| self.make(&grant.id, rate));
        limiter.check().map_err(|until| too_often(&until, &self.clock))
    }

    fn find(&self, id: &str, rate: Rate) -> Option<Arc<OneGrant>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(id).filter(|(of, _)| *of == rate).map(|(_, limiter)| Arc::clone(limiter))
    }

    fn make(&self, id: &Arc<str>, rate: Rate) -> Arc<OneGrant> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.get(id) {
            Some((of, limiter)) if *of == rate => Arc::clone(limiter),
            Some(_) | None => {
                let limiter =
                    Arc::new(RateLimiter::direct_with_clock(quota(rate), Ticks(self.clock.clone())));
                known.insert(Arc::clone(id), (rate, Arc::clone(&limiter)));
                limiter
            }
        }
    }
}

/// One rate for each address; none where there is no limit.
pub struct Addresses {
    clock: Clock,
    limiter: Option<RateLimiter<IpAddr, Table, Ticks, NoOpMiddleware<Duration>>>,
}

impl std::fmt::Debug for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Addresses").field("limited", &self.limiter.is_some()).finish_non_exhaustive()
    }
}

impl Addresses {
    pub fn new(rate: Option<Rate>, clock: Clock) -> Self {
        let limiter = rate.map(|rate| RateLimiter::new(quota(rate), Table::default(), Ticks(clock.clone())));
        Self { clock, limiter }
    }

    /// Counts one for an address.
    pub fn count(&self, address: IpAddr) -> Result<(), TooOften> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(&counted_as(address)).map_err(|until| too_often(&until, &self.clock))
    }
}

fn too_often(until: &NotUntil<Duration>, clock: &Clock) -> TooOften {
    TooOften(until.wait_time_from(Ticks(clock.clone()).now()).max(SHORTEST))
}

fn quota(rate: Rate) -> Quota {
    let whole = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    let quota = match rate.per {
        Per::Second => Quota::per_second(whole(rate.requests)),
        Per::Minute => Quota::per_minute(whole(rate.requests)),
    };
    quota.allow_burst(whole(rate.burst))
}

#[cfg(test)]
mod tests;
