//! What a connection says of who is at its other end.

use std::net::IpAddr;

use super::certificate::Certificate;
use super::client::counted_as;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP client; its address, and whether that and ours are loopback.
    Tcp { from: IpAddr, loopback: bool },
    /// The node's own socket, from a process that may administer it.
    Operator,
    /// A unix socket listener; the transport says nothing of who it is.
    Unix,
}

/// What it shows of itself, without a word in any request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Of an authority that this listener takes.
    Certificate(Certificate),
    User(User),
}

/// Who a process runs as, by the word of the kernel when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client's address, whatever proxies stand in between.
    Address(IpAddr),
    /// The node's own socket.
    Socket,
    /// Another socket of this machine.
    Unix,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Socket => f.write_str("socket"),
            Self::Unix => f.write_str("unix"),
        }
    }
}

impl Origin {
    /// As refusals are told apart: whoever has a network of version 6 has all its addresses.
    pub fn counted(&self) -> String {
        match self {
            Self::Address(address) => match counted_as(*address) {
                IpAddr::V6(network) => format!("{network}/64"),
                address @ IpAddr::V4(_) => address.to_string(),
            },
            Self::Socket | Self::Unix => self.to_string(),
        }
    }
}
