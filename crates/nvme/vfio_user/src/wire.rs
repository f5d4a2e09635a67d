//! Messages on a Unix socket, each with up to [`MOST_DESCRIPTORS`] descriptors. Every call has a
//! time limit.
//!
//! Waiting is divided into polls ([`LOOK_MS`]), so that a waiting thread can be stopped. Memory for
//! a message is allocated as its bytes arrive, so a message that only claims to be long costs
//! nothing.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socket_with,
};

use crate::protocol::{HEADER_BYTES, MessageHeader};

/// Descriptors of a message: the maximum that QEMU accepts.
pub(crate) const MOST_DESCRIPTORS: usize = 16;
/// The most bytes of a transfer.
pub(crate) const MOST_DATA_BYTES: usize = 1 << 20;
/// The most bytes of a message: a transfer, its description, and some reserve.
const MOST_MESSAGE_BYTES: usize = MOST_DATA_BYTES + 4096;
/// Bytes received at a time.
const PART_BYTES: usize = 64 << 10;

/// The time limit of one poll.
pub(crate) const LOOK_MS: u64 = 50;
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: LOOK_MS as i64 * 1_000_000 };

/// A socket on which several threads send and one receives.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: OwnedFd,
    /// Locked while a message is sent, so that messages do not mix.
    sending: Mutex<()>,
}

/// A received message.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) header: MessageHeader,
    pub(crate) payload: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// Creates a socket of the right kind.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Waits for at most one poll; returns whether one of the events has occurred.
pub(crate) fn is_ready(socket: impl AsFd, events: PollFlags) -> bool {
    poll(&mut [PollFd::new(&socket, events)], Some(&LOOK)).is_ok_and(|count| count > 0)
}

impl Wire {
    pub(crate) fn new(socket: OwnedFd) -> Wire {
        Wire { socket, sending: Mutex::new(()) }
    }

    /// Waits for at most one poll; returns whether a message, or the end, has arrived.
    pub(crate) fn has_news(&self) -> bool {
        is_ready(&self.socket, PollFlags::IN)
    }

    /// Whether the other end has closed, or was killed. Does not wait.
    pub(crate) fn is_closed(&self) -> bool {
        let mut watched = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let found = poll(&mut watched, Some(&now)).is_ok_and(|count| count > 0);
        found && watched[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }

    /// Sends a message. If the other end does not receive, retries after every poll for as long as
    /// `goes_on` returns true.
    pub(crate) fn send(
        &self,
        header: &MessageHeader,
        payload: &[u8],
        descriptors: &[BorrowedFd<'_>],
        mut goes_on: impl FnMut() -> bool,
    ) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
        message.extend_from_slice(&header.encode());
        message.extend_from_slice(payload);
        let _alone = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = 0;
        while sent < message.len() {
            // Descriptors are sent with the first byte.
            let with = if sent == 0 { descriptors } else { &[] };
            match self.send_some(&message[sent..], with) {
                Ok(bytes) => sent += bytes,
                Err(Errno::AGAIN) if goes_on() => {
                    is_ready(&self.socket, PollFlags::OUT);
                }
                Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn send_some(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::INVAL);
        }
        let parts = [io::IoSlice::new(bytes)];
        retry_on_intr(|| sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))
    }
}

/// The received part of the next message.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Inbox {
    /// Takes the next message; `None` if the other end has closed, `WouldBlock` if the message is
    /// incomplete.
    pub(crate) fn take(&mut self, wire: &Wire) -> io::Result<Option<Incoming>> {
        loop {
            let wanted = match MessageHeader::decode(&self.bytes) {
                Some(header) if header.bytes as usize > MOST_MESSAGE_BYTES => {
                    return Err(broken(format!("a message of {} bytes", header.bytes)));
                }
                Some(header) if header.bytes as usize == self.bytes.len() => {
                    let payload = self.bytes.split_off(HEADER_BYTES);
                    self.bytes.clear();
                    return Ok(Some(Incoming { header, payload, descriptors: std::mem::take(&mut self.descriptors) }));
                }
                Some(header) => header.bytes as usize,
                None if self.bytes.len() >= HEADER_BYTES => {
                    return Err(broken("a message shorter than its header".to_owned()));
                }
                None => HEADER_BYTES,
            };
            let have = self.bytes.len();
            self.bytes.resize(wanted.min(have + PART_BYTES), 0);
            let received = self.receive_some(wire, have);
            self.bytes.truncate(have + *received.as_ref().unwrap_or(&0));
            match received {
                Ok(0) => return Ok(None),
                Ok(_) if self.descriptors.len() > MOST_DESCRIPTORS => {
                    return Err(broken(format!("more than {MOST_DESCRIPTORS} descriptors with a message")));
                }
                Ok(_) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn receive_some(&mut self, wire: &Wire, have: usize) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = {
            let mut parts = [io::IoSliceMut::new(&mut self.bytes[have..])];
            retry_on_intr(|| recvmsg(&wire.socket, &mut parts, &mut control, flags))?
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                // The kernel closes descriptors beyond this space.
                self.descriptors.extend(sent);
            }
        }
        Ok(received.bytes)
    }
}

fn broken(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::protocol::MessageCommand;

    fn pair() -> (Wire, Wire) {
        let (one, other) = UnixStream::pair().unwrap();
        (Wire::new(one.into()), Wire::new(other.into()))
    }

    #[test]
    fn messages_arrive_with_their_descriptors_and_one_by_one() {
        let (near, far) = pair();
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        let long = vec![7; 100_000];
        for (id, payload, descriptors) in [(1, &long[..], vec![pipe.as_fd()]), (2, &[], vec![]), (3, &[1], vec![])] {
            let header = MessageHeader::command(id, MessageCommand::RegionWrite, payload.len());
            near.send(&header, payload, &descriptors, || true).unwrap();
        }
        let mut inbox = Inbox::default();
        let first = inbox.take(&far).unwrap().unwrap();
        assert_eq!((first.header.id, first.payload, first.descriptors.len()), (1, long, 1));
        assert_eq!(inbox.take(&far).unwrap().unwrap().header.id, 2);
        assert_eq!(inbox.take(&far).unwrap().unwrap().payload, [1]);
        assert_eq!(inbox.take(&far).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!far.is_closed());
        drop(near);
        assert!(far.is_closed() && far.has_news());
        assert!(inbox.take(&far).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_costs_nothing_and_is_an_error() {
        for bytes in [15u32, MOST_MESSAGE_BYTES as u32 + 1, u32::MAX] {
            let (near, far) = pair();
            let mut message = MessageHeader::command(1, MessageCommand::Reset, 0).encode();
            message[4..8].copy_from_slice(&bytes.to_le_bytes());
            near.send_some(&message, &[]).unwrap();
            assert_eq!(Inbox::default().take(&far).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        // The message only claims to be long.
        let (near, far) = pair();
        near.send(&MessageHeader::command(1, MessageCommand::Reset, MOST_DATA_BYTES), &[], &[], || true).unwrap();
        let mut inbox = Inbox::default();
        assert_eq!(inbox.take(&far).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(inbox.bytes.capacity() <= 2 * PART_BYTES);
    }

    #[test]
    fn an_end_that_reads_nothing_is_given_up() {
        let (near, _far) = pair();
        let payload = vec![0; 1 << 20];
        let mut looks = 0;
        let header = MessageHeader::command(1, MessageCommand::RegionWrite, payload.len());
        let sent = near.send(&header, &payload, &[], || {
            looks += 1;
            looks < 3
        });
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
