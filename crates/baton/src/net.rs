//! Listeners: TCP, TLS and unix sockets, and what each connection says of who is calling; and the guarded dialer.

mod connection;
pub mod dialer;
mod http;
mod lane;
mod operator;
mod serve;
mod tls;
mod unix;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use self::connection::Handler;
pub use self::http::HttpListener;
use crate::access::{Origin, Peer, Shown};
pub use operator::OperatorListener;
use serve::serve;
pub use tls::TlsListener;
pub use unix::UnixListener;

/// A socket that is bound, and where.
#[derive(Debug)]
pub enum Bound {
    Http(HttpListener),
    Https(TlsListener),
    Unix(UnixListener),
    Operator(OperatorListener),
}

impl Bound {
    /// The URL that a client of this machine uses; none for sockets.
    pub fn url(&self) -> Option<String> {
        let of = |scheme: &str, at: io::Result<SocketAddr>| at.ok().map(|at| format!("{scheme}://{at}"));
        match self {
            Self::Http(listener) => of("http", listener.local_addr()),
            Self::Https(listener) => of("https", listener.local_addr()),
            Self::Unix(_) | Self::Operator(_) => None,
        }
    }

    /// Serves until `stop`, then until the last connection is done.
    pub async fn serve(self, handler: impl Handler, stop: CancellationToken) -> io::Result<()> {
        match self {
            Self::Http(listener) => serve(listener, handler, stop).await,
            Self::Https(listener) => serve(listener, handler, stop).await,
            Self::Unix(listener) => serve(listener, handler, stop).await,
            Self::Operator(listener) => serve(listener, handler, stop).await,
        }
    }
}

/// What the transport knows of the other side.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    pub peer: Peer,
    /// What the other side shows of itself.
    pub shown: Option<Arc<Shown>>,
    /// Where the request comes from, once somebody has looked at its headers.
    pub origin: Option<Origin>,
}

impl PeerInfo {
    fn new(peer: Peer, shown: Option<Shown>) -> Self {
        Self { peer, shown: shown.map(Arc::new), origin: None }
    }
}

fn tcp(remote: SocketAddr, local: Option<SocketAddr>, shown: Option<Shown>) -> PeerInfo {
    let loopback = is_loopback(remote) && local.is_some_and(is_loopback);
    PeerInfo::new(Peer::Tcp { from: remote.ip(), loopback }, shown)
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
