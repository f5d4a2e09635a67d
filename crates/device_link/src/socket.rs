//! One packet at a time, with at most one descriptor, over a Unix socket.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, recvmsg, sendmsg, socket_with,
};

use crate::message::{MOST_BYTES, Message};

/// A new socket of the right kind.
pub(crate) fn open() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// The address of a path; paths longer than a socket's name may be are refused with a message that says so.
pub(crate) fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    SocketAddrUnix::new(path)
        .map_err(|errno| io::Error::new(io::Error::from(errno).kind(), format!("{}: {errno}", path.display())))
}

/// Sends one message, with a descriptor if there is one.
pub(crate) fn send(socket: impl AsFd, message: &Message, with: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let packet = message.encode();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = with.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let parts = [io::IoSlice::new(&packet)];
    retry_on_intr(|| sendmsg(&socket, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Waits for one message; `None` when the other end has closed.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    let mut packet = vec![0; MOST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut parts = [io::IoSliceMut::new(&mut packet)];
        retry_on_intr(|| recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC))?
    };
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut sent) = message {
            descriptor = sent.next();
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = Message::decode(&packet[..received.bytes]);
    let message = message.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a packet of another protocol"))?;
    Ok(Some((message, descriptor)))
}
