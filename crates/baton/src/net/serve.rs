//! Connections of any listener.

use std::io;

use axum::serve::Listener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::PeerInfo;
use super::connection::{self, Handler};

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
    let mut connections = JoinSet::new();
    loop {
        let (io, remote) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        while connections.try_join_next().is_some() {}
        let peer = L::peer(&io, &remote);
        connections.spawn(connection::serve(io, peer, handler.clone(), stop.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}
