//! Connections of any listener, in the version of HTTP that each of them speaks.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use axum::serve::Listener;
use futures_util::FutureExt as _;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::PeerInfo;

/// Calls at a time on one connection of HTTP/2. A client of gRPC has only one for all that it does: what a grant may follow
/// must leave room for other calls.
const CALLS: u32 = 1_024;

/// How often a connection of HTTP/2 is asked whether somebody is there, and how long it may take to answer: a stream of
/// gRPC says nothing while nothing happens, and a client that vanished would be followed for ever.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(20);

/// What answers requests, whichever listener they come from.
pub trait Handler: Clone + Send + Sync + 'static {
    fn answer(self, request: Request<Body>) -> impl Future<Output = Response> + Send;
}

/// A listener that knows who its connections come from.
pub trait Served: Listener {
    fn peer(io: &Self::Io, remote: &Self::Addr) -> PeerInfo;
}

/// Serves until `stop`, then until the last request is answered. Dropping this ends every connection.
pub async fn serve<L, H>(mut listener: L, handler: H, stop: CancellationToken) -> io::Result<()>
where
    L: Served,
    H: Handler,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(CALLS)
        .keep_alive_interval(Some(PING))
        .keep_alive_timeout(PONG);
    let mut connections = JoinSet::new();
    loop {
        let (io, remote) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        while connections.try_join_next().is_some() {}
        let peer = L::peer(&io, &remote);
        connections.spawn(connection(io, peer, builder.clone(), handler.clone(), stop.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

async fn connection<I, H>(
    io: I,
    peer: PeerInfo,
    builder: Builder<TokioExecutor>,
    handler: H,
    stop: CancellationToken,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = handler.clone().answer(request.map(Body::new));
        answer.map(Ok::<_, Infallible>)
    });
    let connection = builder.serve_connection(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(why) = ended {
        debug!(error = %why, "a connection broke");
    }
}
