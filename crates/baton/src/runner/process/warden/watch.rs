//! The watch over a started command: orders come down, the dead are reaped, and in the end nothing is left.

use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;

use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait};

use super::super::tree;
use super::{KILL, TERMINATE};

/// Between two passes of killing; a tree that forks while it is being killed needs several. 5 ms is long enough for
/// the kernel to bury what was killed and far below the second within which everything must be gone.
const BETWEEN_PASSES: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

pub struct Watch {
    main: Pid,
    /// How the main child ended; its process id means nothing any more from then on.
    ended: Option<WaitStatus>,
    /// None once the node has closed it.
    control: Option<UnixStream>,
    signals: SignalFd,
    /// Everything that is left must die.
    condemned: bool,
}

/// Whether there are processes to wait for.
#[derive(PartialEq, Eq)]
enum Left {
    Some,
    None,
}

impl Watch {
    pub fn new(main: Pid, control: UnixStream, signals: SignalFd) -> Self {
        Self { main, ended: None, control: Some(control), signals, condemned: false }
    }

    /// Returns when the last process of the tree has been reaped: how the main child ended, and the control socket
    /// if the node still holds its end.
    pub fn run(mut self) -> (WaitStatus, Option<UnixStream>) {
        while self.reap() == Left::Some || self.ended.is_none() {
            if self.condemned {
                self.kill_all();
            }
            self.wait();
        }
        let status = self.ended.expect("the loop ends only after the main child");
        (status, self.control)
    }

    /// Buries every process that has ended, orphans included.
    fn reap(&mut self) -> Left {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => {
                    self.ended = Some(status);
                    self.condemned = true;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Left::Some,
                Err(_) => return Left::None,
            }
        }
    }

    fn kill_all(&self) {
        // The group first: without /proc this is all that can be found.
        self.signal_group(Signal::KILL);
        let _ = tree::kill_descendants(getpid());
    }

    fn signal_group(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.main, signal);
        }
    }

    /// Sleeps until a process has ended or the node has something to say.
    fn wait(&mut self) {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(control) = &self.control {
            fds.push(PollFd::new(control, PollFlags::IN));
        }
        let timeout = self.condemned.then_some(&BETWEEN_PASSES);
        if poll(&mut fds, timeout).is_err() {
            return;
        }
        let heard = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        // The signals only wake; what has ended is found by reaping.
        while let Ok(Some(_)) = self.signals.read_signal() {}
        if heard {
            self.obey();
        }
    }

    /// Reads orders. The end of the socket is one too: the node is gone, and nothing may outlive it.
    fn obey(&mut self) {
        let Some(control) = &mut self.control else { return };
        let mut orders = [0_u8; 16];
        match control.read(&mut orders) {
            Ok(0) => {
                self.control = None;
                self.condemned = true;
            }
            Ok(count) => orders[..count].iter().for_each(|order| self.follow(*order)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                self.control = None;
                self.condemned = true;
            }
        }
    }

    fn follow(&mut self, order: u8) {
        match order {
            TERMINATE => {
                self.signal_group(Signal::TERM);
                // A stopped process hears SIGTERM only after it has been continued.
                self.signal_group(Signal::CONT);
            }
            KILL => self.condemned = true,
            _ => {}
        }
    }
}
