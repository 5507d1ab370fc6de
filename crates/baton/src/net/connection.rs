//! One connection, in the version of HTTP that it speaks.

mod unread;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use futures_util::FutureExt as _;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use self::unread::watch;
use super::PeerInfo;
use super::lane::{Driven, Lane};

/// Calls at a time on one connection of HTTP/2. A client of gRPC has only one for all that it does: what a grant may follow
/// must leave room for other calls.
const CALLS: u32 = 1_024;

/// How often a connection of HTTP/2 is asked whether somebody is there, and how long it may take to answer: a stream of
/// gRPC says nothing while nothing happens, and a client that vanished would be followed for ever.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(20);

/// What a client of HTTP/2 begins with (RFC 9113 §3.4).
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What answers requests, whichever connection they come over.
pub trait Handler: Clone + Send + Sync + 'static {
    fn answer(self, request: Request<Body>) -> impl Future<Output = Response> + Send;
}

/// Serves a connection to its end; from `stop` on, to the end of the calls that it has.
pub async fn serve<I, H>(io: I, peer: PeerInfo, handler: H, stop: CancellationToken)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let begun = tokio::select! {
        begun = begin(io) => begun,
        () = stop.cancelled() => return,
    };
    let ended = match begun {
        Ok((io, Version::Http1)) => http1(io, peer, handler, stop).await,
        Ok((io, Version::Http2)) => {
            Box::pin(http2(Begun { vectored: false, ..io }, peer, handler, stop)).await
        }
        Err(why) => return debug!(error = %why, "a connection broke before its first request"),
    };
    if let Err(why) = ended {
        debug!(error = %why, "a connection broke");
    }
}

async fn http1<I, H>(io: Begun<I>, peer: PeerInfo, handler: H, stop: CancellationToken) -> hyper::Result<()>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn(move |request| answer_whole(peer.clone(), handler.clone(), request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(io), service);
    tokio::pin!(connection);
    tokio::select! {
        biased;
        ended = connection.as_mut() => return ended,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

async fn http2<I, H>(io: Begun<I>, peer: PeerInfo, handler: H, stop: CancellationToken) -> hyper::Result<()>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn(move |request| answer(peer.clone(), handler.clone(), request));
    let lane = Lane::default();
    let connection = http2::Builder::new(lane.clone())
        .timer(TokioTimer::new())
        .max_concurrent_streams(CALLS)
        .keep_alive_interval(Some(PING))
        .keep_alive_timeout(PONG)
        .serve_connection(TokioIo::new(io), service);
    let mut driven = Driven::new(connection, lane);
    tokio::select! {
        biased;
        ended = &mut driven => return ended,
        () = stop.cancelled() => driven.connection.as_mut().graceful_shutdown(),
    }
    driven.await
}

fn answer<H: Handler>(
    peer: PeerInfo,
    handler: H,
    mut request: Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> + Send {
    request.extensions_mut().insert(ConnectInfo(peer));
    handler.answer(request.map(Body::new)).map(Ok)
}

/// As [`answer`]; what nobody read of the request is out of the way then.
async fn answer_whole<H: Handler>(
    peer: PeerInfo,
    handler: H,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    let (head, body) = request.into_parts();
    match watch(body, &head.headers) {
        Ok((body, unread)) => {
            let response = handler.answer(Request::from_parts(head, Body::new(body))).await;
            unread.discard().await;
            Ok(response)
        }
        Err(body) => Ok(handler.answer(Request::from_parts(head, Body::new(body))).await),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Http1,
    Http2,
}

/// Reads as much as tells the versions apart.
async fn begin<I: AsyncRead + AsyncWrite + Unpin>(mut io: I) -> io::Result<(Begun<I>, Version)> {
    let (mut head, mut read) = ([0; PREFACE.len()], 0);
    while read < PREFACE.len() && head[..read] == PREFACE[..read] {
        match io.read(&mut head[read..]).await? {
            0 => break,
            more => read += more,
        }
    }
    let version = if head == PREFACE { Version::Http2 } else { Version::Http1 };
    Ok((Begun { vectored: io.is_write_vectored(), io, head, given: 0, read }, version))
}

/// A connection whose first bytes were read already. They are given together with those that follow them: in a read of
/// their own they would make the reader grow its buffer, for as long as the connection is open.
struct Begun<I> {
    io: I,
    head: [u8; PREFACE.len()],
    given: usize,
    read: usize,
    /// Whether several slices are written at once. Where they are not, h2 copies messages up to 1 KiB, and writes the
    /// trailers of gRPC together with them: one system call for each answer, and one packet.
    vectored: bool,
}

impl<I: AsyncRead + Unpin> AsyncRead for Begun<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.given == this.read {
            return Pin::new(&mut this.io).poll_read(context, into);
        }
        let fits = into.remaining().min(this.read - this.given);
        into.put_slice(&this.head[this.given..this.given + fits]);
        this.given += fits;
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        // What keeps it from reading on shows at the next read.
        let _ = Pin::new(&mut this.io).poll_read(context, into);
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Begun<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
