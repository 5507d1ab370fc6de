//! Unix sockets that serve like any other listener.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use axum::serve::Listener;
use tokio::net::UnixStream;

use super::PeerInfo;
use super::serve::Served;
use crate::access::{Peer, Shown, User};

/// A bound socket file; removed when this is dropped.
#[derive(Debug)]
pub struct UnixListener {
    listener: tokio::net::UnixListener,
    path: PathBuf,
}

impl UnixListener {
    /// Binds, in place of a socket that nobody listens on any more. The file gets `mode`.
    pub fn bind(path: &Path, mode: u32) -> io::Result<Self> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another process listens on this socket",
                ));
            }
            std::fs::remove_file(path)?;
        }
        let listener = tokio::net::UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        Ok(Self { listener, path: path.to_path_buf() })
    }
}

impl Drop for UnixListener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Listener for UnixListener {
    type Io = UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        Listener::accept(&mut self.listener).await
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl Served for UnixListener {
    fn peer(io: &Self::Io, _: &Self::Addr) -> PeerInfo {
        let user = io.peer_cred().map(|user| User { uid: user.uid(), gid: user.gid() });
        PeerInfo::new(Peer::Unix, user.ok().map(Shown::User))
    }
}
