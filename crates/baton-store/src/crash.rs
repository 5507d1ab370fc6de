//! Places where a crash test has the process killed. A release build has none of this.
//!
//! `BATON_CRASH_AT=POINT` or `POINT:N` in the environment kills the process when it passes the point for the first, or
//! the N-th, time: with SIGKILL, so that nothing is tidied up.

/// The writer has a group of operations and has not begun its transaction.
pub const BEFORE_BEGIN: &str = "writer.before-begin";

/// Every statement of the group has run, and none of it is committed.
pub const BEFORE_COMMIT: &str = "writer.before-commit";

/// The group is on disk, and nobody knows.
pub const COMMITTED: &str = "writer.committed";

/// The hub knows, and none of those who asked has an answer.
pub const OBSERVED: &str = "writer.observed";

/// Goes by a point.
#[cfg(debug_assertions)]
pub fn pass(point: &str) {
    armed::pass(point);
}

/// Goes by a point.
#[cfg(not(debug_assertions))]
pub const fn pass(_point: &str) {}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    struct Target {
        point: String,
        passings: AtomicU64,
    }

    static TARGET: LazyLock<Option<Target>> = LazyLock::new(|| {
        let text = std::env::var("BATON_CRASH_AT").ok()?;
        let (point, passings) = text.split_once(':').unwrap_or((&text, "1"));
        let passings = passings.parse().expect("BATON_CRASH_AT is POINT or POINT:N");
        Some(Target { point: point.to_owned(), passings: AtomicU64::new(passings) })
    });

    pub fn pass(point: &str) {
        let Some(target) = TARGET.as_ref().filter(|target| target.point == point) else { return };
        if target.passings.fetch_sub(1, Ordering::Relaxed) == 1 {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}
