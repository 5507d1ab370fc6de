//! Plain HTTP over TCP.

use std::io;
use std::net::SocketAddr;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

use super::serve::Served;
use super::{PeerInfo, tcp};

/// A bound TCP port.
#[derive(Debug)]
pub struct HttpListener(TcpListener);

impl HttpListener {
    pub async fn bind(at: SocketAddr) -> io::Result<Self> {
        Ok(Self(TcpListener::bind(at).await?))
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Listener for HttpListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (stream, remote) = Listener::accept(&mut self.0).await;
        // Answers are small and whole: waiting for more to send only delays them. A socket that refuses is merely slower.
        let _ = stream.set_nodelay(true);
        (stream, remote)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Served for HttpListener {
    fn peer(io: &Self::Io, remote: &Self::Addr) -> PeerInfo {
        tcp(*remote, io.local_addr().ok(), None)
    }
}
