//! How a child's standard input travels to its warden.
//!
//! A warden's own standard input is its control socket, so that the node needs nothing between fork and exec and can
//! spawn with `posix_spawn`; the child's standard input follows as a descriptor in the socket's first byte.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The byte that carries the descriptor; it is no order.
const CARRIER: [u8; 1] = *b"0";

/// Puts `stdin` on the way; the socket's peer owns a copy from then on.
pub fn send(socket: impl AsFd, stdin: BorrowedFd<'_>) -> Result<(), Errno> {
    let fds = [stdin];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)), "the space was made for one descriptor");
    sendmsg(socket, &[IoSlice::new(&CARRIER)], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Takes what [`send`] sent; waits for it.
pub fn receive(socket: impl AsFd) -> Result<OwnedFd, Errno> {
    let mut byte = [0_u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    ancillary
        .drain()
        .find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        })
        .ok_or(Errno::PROTO)
}
