//! The connector under HTTP and TLS: it dials what the guard judged, and nothing else.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::guard::{Error, Guard};
use super::target::{Host, Refused};

/// How long a connection may take to be made, with all addresses of a name together.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long the first addresses of a name may take each, so that a dead one does not hide a living one.
const ADDRESS_WITHIN: Duration = Duration::from_secs(3);

/// Opens a connection to one address.
#[async_trait]
pub trait Connect: Send + Sync + 'static {
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream>;
}

/// The network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

#[async_trait]
impl Connect for Tcp {
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// From a URI to a connection.
#[derive(Clone)]
pub struct Connector {
    guard: Guard,
    connect: Arc<dyn Connect>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Connector {
    pub fn new(guard: Guard, connect: Arc<dyn Connect>) -> Self {
        Self { guard, connect }
    }

    async fn dial(self, uri: Uri) -> Result<TokioIo<TcpStream>, Error> {
        let host = Host::of(&uri).ok_or_else(|| Refused::NoUrl("it names no host".to_owned()))?;
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let addresses = self.guard.addresses(&host).await?;
        let mut last = Error::Unreachable("no address".to_owned());
        for (left, address) in (0..addresses.len()).rev().zip(addresses) {
            let within = if left == 0 { CONNECT_WITHIN } else { ADDRESS_WITHIN };
            match tokio::time::timeout(within, self.connect.connect((address, port).into())).await {
                Ok(Ok(stream)) => return Ok(TokioIo::new(stream)),
                Ok(Err(why)) => last = Error::Unreachable(why.to_string()),
                Err(_) => last = Error::TooSlow(within),
            }
        }
        Err(last)
    }
}

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = self.clone().dial(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_WITHIN, dial).await {
                Ok(dialled) => dialled,
                Err(_) => Err(Error::TooSlow(CONNECT_WITHIN)),
            }
        })
    }
}
