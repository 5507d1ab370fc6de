//! The node's own socket, `<data-dir>/baton.sock`: whoever the kernel says has the node's user id and does not descend
//! from the node is its operator. An agent's process must not be able to approve its own grant.

use std::io;
use std::path::Path;

use axum::serve::Listener;
use tokio::net::UnixStream;
use tokio::net::unix::UCred;
use tracing::warn;

use super::serve::Served;
use super::{PeerInfo, UnixListener};
use crate::access::Peer;

/// Parents that are followed up from a caller.
const GENERATIONS: usize = 1_024;

/// The bound socket.
#[derive(Debug)]
pub struct OperatorListener(UnixListener);

impl OperatorListener {
    pub fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self(UnixListener::bind(path, 0o600)?))
    }
}

impl Listener for OperatorListener {
    type Io = UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        self.0.accept().await
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Served for OperatorListener {
    fn peer(io: &Self::Io, _: &Self::Addr) -> PeerInfo {
        let operator = io.peer_cred().is_ok_and(|peer| is_operator(&peer));
        PeerInfo::new(if operator { Peer::Operator } else { Peer::Unix }, None)
    }
}

fn is_operator(peer: &UCred) -> bool {
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0) else {
        warn!("a caller on the node's socket has no process id here; refused");
        return false;
    };
    peer.uid() == rustix::process::geteuid().as_raw() && !descends_from(pid, std::process::id(), parent)
}

/// Whether `ancestor` is among the parents of `pid`. Where the line cannot be followed to its end, it counts as one.
fn descends_from(pid: u32, ancestor: u32, parent: impl Fn(u32) -> Option<u32>) -> bool {
    let mut at = pid;
    for _ in 0..GENERATIONS {
        if at == ancestor && at != pid {
            return true;
        }
        match parent(at) {
            Some(0) => return false,
            Some(up) => at = up,
            None => return true,
        }
    }
    true
}

/// The fourth field of `/proc/PID/stat`, counted from behind the command's closing parenthesis.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_at_any_depth() {
        let family = |pid| match pid {
            30 => Some(20),
            20 => Some(10),
            10 => Some(1),
            1 => Some(0),
            _ => None,
        };
        assert!(descends_from(30, 10, family));
        assert!(descends_from(20, 10, family));
        assert!(!descends_from(10, 20, family));
        assert!(!descends_from(10, 10, family));
        assert!(descends_from(99, 10, family), "an unknown line is not trusted");
    }

    #[test]
    fn this_process_has_a_parent() {
        assert!(parent(std::process::id()).is_some_and(|pid| pid > 0));
    }
}
