//! Sends and receives packets over a Unix socket, each with at most one descriptor. Every call has
//! a time limit.
//!
//! Waiting is divided into polls ([`LOOK_MS`]), so that a waiting thread can be stopped.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, recvmsg, sendmsg, socket_with,
};

use crate::message::{MOST_BYTES, Message};

/// The time limit of one poll.
pub(crate) const LOOK_MS: u64 = 50;
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: LOOK_MS as i64 * 1_000_000 };

/// Creates a socket of the right kind.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// The address of a path. A path that is too long for a socket's name is refused with a message
/// that says so.
pub(crate) fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    SocketAddrUnix::new(path)
        .map_err(|errno| io::Error::new(io::Error::from(errno).kind(), format!("{}: {errno}", path.display())))
}

/// Connects; a server whose listen queue stays full for `looks` counts as absent.
pub(crate) fn connect(socket: impl AsFd, address: &SocketAddrUnix, looks: u32) -> io::Result<()> {
    for _ in 0..looks {
        match rustix::net::connect(&socket, address) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(Duration::from_millis(LOOK_MS)),
            done => return Ok(done?),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Whether one of the events has occurred within one poll.
pub(crate) fn is_ready(socket: impl AsFd, events: PollFlags) -> bool {
    poll(&mut [PollFd::new(&socket, events)], Some(&LOOK)).is_ok_and(|count| count > 0)
}

/// Whether the other end has closed, or was killed. Does not wait.
pub(crate) fn is_closed(socket: impl AsFd) -> bool {
    let mut watched = [PollFd::new(&socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let found = poll(&mut watched, Some(&now)).is_ok_and(|count| count > 0);
    found && watched[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
}

/// Sends one message, with a descriptor if there is one; `WouldBlock` if the other end has not
/// received earlier messages.
pub(crate) fn send(socket: impl AsFd, message: &Message, with: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let packet = message.encode();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = with.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let parts = [io::IoSlice::new(&packet)];
    retry_on_intr(|| sendmsg(&socket, &parts, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))?;
    Ok(())
}

/// Sends one message, retrying after every poll as long as `goes_on` returns true.
pub(crate) fn send_patiently(
    socket: impl AsFd,
    message: &Message,
    with: Option<BorrowedFd<'_>>,
    mut goes_on: impl FnMut() -> bool,
) -> io::Result<()> {
    loop {
        match send(&socket, message, with) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && goes_on() => {
                is_ready(&socket, PollFlags::OUT);
            }
            done => return done,
        }
    }
}

/// Receives one message; `None` if the other end has closed, `WouldBlock` if there is none yet.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    let mut packet = vec![0; MOST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut parts = [io::IoSliceMut::new(&mut packet)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        retry_on_intr(|| recvmsg(&socket, &mut parts, &mut control, flags))?
    };
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut sent) = message {
            // The kernel closes descriptors beyond this space; others are closed here by being
            // dropped.
            descriptor = sent.next();
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = Message::decode(&packet[..received.bytes]);
    let message =
        message.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a packet of a different protocol"))?;
    Ok(Some((message, descriptor)))
}

/// Receives one message; waits for up to `looks` polls.
pub(crate) fn receive_within(socket: impl AsFd, looks: u32) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    for _ in 0..looks {
        if !is_ready(&socket, PollFlags::IN) {
            continue;
        }
        match receive(&socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The other end closed without having read everything; its earlier messages can still
            // be read (unix(7)).
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return receive(&socket),
            done => return done,
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}
