//! Who descends from whom, read from `/proc`, and killing all of it.
//!
//! A process id may be given to another process between the look and the kill, so a kill goes through a descriptor
//! that is opened first and checked afterwards.

use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    pub parent: Option<Pid>,
    /// Clock ticks after boot; with the pid it names a process for good.
    started: u64,
    /// It has ended and only waits for its parent to look.
    ended: bool,
}

/// Every process that this one can see.
pub fn snapshot() -> io::Result<Vec<Process>> {
    let pids = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(Pid::from_raw).filter_map(look).collect())
}

/// The direct children of `of`.
pub fn children(of: Pid, all: &[Process]) -> Vec<Process> {
    all.iter().filter(|process| process.parent == Some(of)).copied().collect()
}

/// Everything below `of`, parents before their children.
pub fn descendants(of: Pid, all: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        let below = children(parent, all);
        parents.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    found
}

/// One pass of SIGKILL over everything below `of`. What is forked meanwhile needs the next pass.
pub fn kill_descendants(of: Pid) -> io::Result<()> {
    for process in descendants(of, &snapshot()?) {
        process.kill();
    }
    Ok(())
}

impl Process {
    /// SIGKILL, unless it has ended. That it may just have gone is no failure.
    pub fn kill(&self) {
        if self.ended {
            return;
        }
        let Ok(handle) = pidfd_open(self.pid, PidfdFlags::empty()) else { return };
        if look(self.pid).is_some_and(|now| now.started == self.started) {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }
}

fn look(pid: Pid) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent …`, where the name may hold anything, `)` included. See proc_pid_stat(5).
fn parse(pid: Pid, stat: &str) -> Option<Process> {
    /// Counted from the state, which is field 3 of the man page.
    const STARTED: usize = 22 - 3;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<_> = fields.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
        started: fields.get(STARTED)?.parse().ok()?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests;
