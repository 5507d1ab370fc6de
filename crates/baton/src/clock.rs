//! The only place that asks what time it is and makes identifiers up.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_core::time::Timestamp;
use uuid::Uuid;

/// The system's time, moved on by what a test asked for.
#[derive(Clone, Debug)]
pub struct Clock {
    ahead_ms: Arc<AtomicI64>,
    begun: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { ahead_ms: Arc::default(), begun: Instant::now() }
    }
}

impl Clock {
    pub fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one clock")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(millis.saturating_add(self.ahead_ms.load(Ordering::Relaxed)))
    }

    /// How long this clock has run: it never goes back, whatever becomes of the system's time.
    pub fn elapsed(&self) -> Duration {
        let ahead = u64::try_from(self.ahead_ms.load(Ordering::Relaxed)).unwrap_or(0);
        self.begun.elapsed() + Duration::from_millis(ahead)
    }

    /// Moves this clock on, for tests of what only time does.
    pub fn advance(&self, by: Duration) {
        self.ahead_ms.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

/// A new identifier, later ones larger (UUID version 7).
#[expect(clippy::disallowed_methods, reason = "this is the one source of identifiers")]
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// 256 bits from the kernel that nobody can guess.
pub fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    bytes
}
