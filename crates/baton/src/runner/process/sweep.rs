//! The second line: when a warden dies, its tree falls to the node, which kills it.
//!
//! Owns the list of children that are wardens; every other child of this process is an orphan. That holds only in a
//! process that has taken it on with [`adopt_orphans`]: elsewhere (in a test, in a program that embeds Baton) other
//! children are none of our business, and a sweep does nothing.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::process::{Child, Command};

use super::tree::{self, Process};

/// Passes of one sweep, [`BETWEEN_PASSES`] apart: about a second. What is stuck in the kernel for longer is left to
/// the next sweep.
const PASSES: u32 = 100;
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

static ADOPTING: AtomicBool = AtomicBool::new(false);

/// Process ids of wardens that were started and may still be there.
static WARDENS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// Makes this process the adoptive parent of every orphan below it. For the node's `main`, which starts no children
/// but wardens.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTING.store(true, Ordering::Relaxed);
    Ok(())
}

/// Starts a warden and remembers it, as one step: no sweep sees it as an orphan in between.
pub(super) fn spawn_known(command: &mut Command) -> io::Result<Child> {
    let mut wardens = WARDENS.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
        wardens.get_or_insert_default().insert(pid);
    }
    Ok(child)
}

/// Kills and reaps every child of this process that is not a warden. Idempotent; also for a timer.
pub async fn sweep() {
    if !ADOPTING.load(Ordering::Relaxed) {
        return;
    }
    for _ in 0..PASSES {
        if !matches!(tokio::task::spawn_blocking(pass).await, Ok(true)) {
            return;
        }
        tokio::time::sleep(BETWEEN_PASSES).await;
    }
    tracing::warn!("orphans of a dead warden could not be killed yet, trying again later");
}

/// One pass; says whether another is needed.
fn pass() -> bool {
    let Ok((orphans, all)) = orphans() else { return false };
    for orphan in &orphans {
        for below in tree::descendants(orphan.pid, &all) {
            below.kill();
        }
        orphan.kill();
        bury(orphan.pid);
    }
    !orphans.is_empty()
}

/// This process's children that are not wardens, and all processes. Wardens that are gone are forgotten on the way,
/// before the kernel gives their ids to others.
fn orphans() -> io::Result<(Vec<Process>, Vec<Process>)> {
    // Locked before the look: a warden that starts meanwhile would be taken for an orphan, or forgotten.
    let mut wardens = WARDENS.lock().unwrap_or_else(PoisonError::into_inner);
    let wardens = wardens.get_or_insert_default();
    let all = tree::snapshot()?;
    let mut children = tree::children(getpid(), &all);
    let present: HashSet<Pid> = children.iter().map(|child| child.pid).collect();
    wardens.retain(|pid| present.contains(pid));
    children.retain(|child| !wardens.contains(&child.pid));
    Ok((children, all))
}

fn bury(orphan: Pid) {
    while let Err(Errno::INTR) = waitpid(Some(orphan), WaitOptions::NOHANG) {}
}
