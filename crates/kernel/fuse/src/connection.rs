//! The beginning of a connection: INIT, which must come first.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

use crate::FuseError;
use crate::abi::opcode;
use crate::channel::{Channel, Message, Received};
use crate::negotiation::{self, Agreement, Disagreement, Offer};
use crate::uring_switch::UringSwitch;

/// Waits for INIT and answers it, in `room`, which must hold a request (`FUSE_MIN_READ_BUFFER`).
/// After that, the channel does not block.
///
/// # Errors
/// [`FuseError::Protocol`], [`FuseError::NoUring`], [`FuseError::Connection`].
pub fn negotiate(channel: &Channel, offer: Offer, room: &mut [u8]) -> Result<Agreement, FuseError> {
    let nonblocking = rustix::fs::fcntl_setfl(&channel.fd, OFlags::RDWR | OFlags::NONBLOCK);
    nonblocking.map_err(|error| FuseError::Connection("fcntl", error.into()))?;
    let mut message = Message::EMPTY;
    loop {
        let mut fds = [PollFd::new(&channel.fd, PollFlags::IN)];
        if let Err(error) = poll(&mut fds, None)
            && error != rustix::io::Errno::INTR
        {
            return Err(FuseError::Connection("poll", error.into()));
        }
        match channel.receive(&mut message, room)? {
            Received::Message if message.header.opcode == opcode::INIT => break,
            Received::Message => channel.reply(message.header.unique, -libc::EIO, &[])?,
            Received::Nothing => {}
            Received::End => {
                return Err(FuseError::Protocol("the connection ended before its first request".to_owned()));
            }
        }
    }
    match negotiation::answer(message.args(), offer, room) {
        Ok((agreement, length)) => {
            channel.reply(message.header.unique, 0, &room[..length])?;
            Ok(agreement)
        }
        Err(Disagreement::NoUring) => Err(FuseError::NoUring(UringSwitch::advice())),
        Err(Disagreement::NotInit) => Err(FuseError::Protocol("it is older than version 7.28 (Linux 4.20)".to_owned())),
    }
}
