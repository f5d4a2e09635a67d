//! Frames over a stream socket or a pair of pipes, without blocking.
//!
//! ```text
//!  frame:  length: u32 little-endian │ kind: u8 │ payload: length bytes │ tag: 32 bytes, if the ends share a secret
//! ```
//!
//! Whatever the other end sends is bounded before memory is used for it: a frame that claims to be
//! longer than allowed at this moment is refused by its first five bytes, and a frame that is
//! allowed takes memory as it arrives.

use std::io;
use std::os::fd::OwnedFd;

use iolab_clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::seal::{Seals, TAG_BYTES};

const HEADER_BYTES: usize = 5;
/// Bytes read at once when much comes.
const READ_BYTES: usize = 256 << 10;
/// Bytes read first: of thousands of channels, most have little or nothing.
const FIRST_BYTES: usize = 4 << 10;
/// Most bytes of a frame before the ends have greeted each other.
const GREETING_BYTES: usize = 4 << 10;

/// A kind of frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// A message as JSON.
    Message = 1,
    /// The recording of a run before it has begun, as JSON.
    Planned = 2,
    /// The recording of a run so far, as JSON.
    SoFar = 3,
    /// The recording of a run, as JSON.
    Recording = 4,
    /// A piece of what a worker left for a log.
    Piece = 5,
    /// Where a run stands, as JSON. It is a kind of its own, so that who only passes it on does not
    /// read it.
    Progress = 6,
}

impl FrameKind {
    fn from_number(number: u8) -> Option<FrameKind> {
        let all = [
            FrameKind::Message,
            FrameKind::Planned,
            FrameKind::SoFar,
            FrameKind::Recording,
            FrameKind::Piece,
            FrameKind::Progress,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) payload: Vec<u8>,
}

/// Why no more frames can come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    /// The other end closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// It did not send anything for too long.
    #[error("nothing came for {seconds} s")]
    Silent {
        /// For how long.
        seconds: u64,
    },
    /// What it sent is no frame.
    #[error("{0}")]
    Malformed(String),
    /// A tag was wrong.
    #[error("a frame was not made by the other end, or was changed on its way")]
    Forged,
    /// The kernel.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What a connection consists of.
enum Ends {
    Socket(OwnedFd),
    /// To read from and to write to.
    Pipes(OwnedFd, OwnedFd),
}

/// A connection.
pub(crate) struct Channel {
    ends: Ends,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    sent: usize,
    most_bytes: usize,
    seals: Option<Seals>,
    is_closed: bool,
}

impl Channel {
    /// Of a connected stream socket. Frames are short until [`Channel::allow`] says otherwise.
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel::over(Ends::Socket(socket))
    }

    /// Of two descriptors of any kind, as a remote shell gives them to a program.
    ///
    /// # Errors
    /// They cannot be used without blocking.
    pub(crate) fn of_pipes(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        for end in [&input, &output] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Channel::over(Ends::Pipes(input, output)))
    }

    fn over(ends: Ends) -> Channel {
        Channel {
            ends,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            most_bytes: GREETING_BYTES,
            seals: None,
            is_closed: false,
        }
    }

    /// From now on, frames of the other end may have this many bytes.
    pub(crate) fn allow(&mut self, most_bytes: u64) {
        self.most_bytes = usize::try_from(most_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize);
    }

    /// From now on, frames have tags.
    pub(crate) fn seal(&mut self, seals: Seals) {
        self.seals = Some(seals);
    }

    /// Whether the other end has closed the connection, or it broke.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Bytes that wait to be sent.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.outgoing.len() - self.sent
    }

    /// Puts a frame into the queue.
    pub(crate) fn queue(&mut self, kind: FrameKind, payload: &[u8]) {
        // A recording that is longer than any reader accepts cannot be sent; it stays where it is.
        let Ok(length) = u32::try_from(payload.len()) else { return };
        self.outgoing.extend_from_slice(&length.to_le_bytes());
        self.outgoing.push(kind as u8);
        self.outgoing.extend_from_slice(payload);
        if let Some(seals) = &mut self.seals {
            self.outgoing.extend_from_slice(&seals.tag(kind as u8, payload));
        }
    }

    /// Puts bytes that are no frame into the queue.
    pub(crate) fn queue_raw(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
    }

    /// Sends what can be sent now.
    pub(crate) fn flush(&mut self) -> Result<(), ChannelError> {
        while self.sent < self.outgoing.len() {
            match self.ends.send(&self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => {
                    self.is_closed = true;
                    return Err(closed_or(errno));
                }
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(())
    }

    /// Receives what has come. An end that closed the connection is [`Channel::is_closed`]; what it
    /// sent before can still be taken.
    pub(crate) fn fill(&mut self) -> Result<(), ChannelError> {
        let most = HEADER_BYTES + TAG_BYTES + self.most_bytes;
        let mut room = FIRST_BYTES;
        while !self.is_closed && self.incoming.len() < most {
            let before = self.incoming.len();
            self.incoming.resize(before + room.min(most - before), 0);
            let answer = self.ends.receive(&mut self.incoming[before..]);
            let count = answer.unwrap_or(0);
            self.incoming.truncate(before + count);
            if count == room {
                room = READ_BYTES;
            }
            match answer {
                Ok(0) => self.is_closed = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => {
                    self.is_closed = true;
                    return Err(closed_or(errno));
                }
            }
        }
        Ok(())
    }

    /// The next frame, if it is whole.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, ChannelError> {
        next_frame(&mut self.incoming, self.most_bytes, self.seals.as_mut())
    }

    /// Takes bytes that are no frame, if there are so many.
    pub(crate) fn take_raw(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.incoming.len() >= count).then(|| self.incoming.drain(..count).collect())
    }

    /// What has come and was not taken.
    pub(crate) fn untaken(&self) -> &[u8] {
        &self.incoming
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    /// The connection is over, or nothing came until then.
    pub(crate) fn receive(&mut self, patience: Patience<'_>) -> Result<Frame, ChannelError> {
        loop {
            if let Some(frame) = self.next()? {
                return Ok(frame);
            }
            self.wait_for_more(&patience)?;
        }
    }

    /// Sends what is queued and waits until something has come.
    pub(crate) fn wait_for_more(&mut self, patience: &Patience<'_>) -> Result<(), ChannelError> {
        if self.is_closed {
            return Err(ChannelError::Closed);
        }
        self.flush()?;
        let left_ns = patience.left_ns()?;
        wait(&[&*self], left_ns);
        self.fill()
    }

    /// Waits until all is sent.
    ///
    /// # Errors
    /// The connection is over, or the other end does not take it in time.
    pub(crate) fn send_all(&mut self, patience: &Patience<'_>) -> Result<(), ChannelError> {
        self.flush()?;
        while self.waiting_bytes() > 0 {
            let left_ns = patience.left_ns()?;
            wait(&[&*self], left_ns);
            self.flush()?;
        }
        Ok(())
    }

    /// What to wait for.
    fn interest(&self) -> Vec<PollFd<'_>> {
        let full = self.is_closed || self.incoming.len() >= HEADER_BYTES + TAG_BYTES + self.most_bytes;
        let read = if full { PollFlags::empty() } else { PollFlags::IN };
        let write = if self.waiting_bytes() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        match &self.ends {
            Ends::Socket(socket) => vec![PollFd::new(socket, read | write)],
            // A pipe whose other end has gone is ready for ever, whatever is waited for.
            Ends::Pipes(input, output) => {
                let input = (!read.is_empty()).then(|| PollFd::new(input, read));
                input.into_iter().chain((!write.is_empty()).then(|| PollFd::new(output, write))).collect()
            }
        }
    }
}

impl Ends {
    fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Ends::Socket(socket) => send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Ends::Pipes(_, output) => rustix::io::write(output, bytes),
        }
    }

    fn receive(&self, room: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Ends::Socket(socket) => recv(socket, room, RecvFlags::DONTWAIT).map(|(count, _)| count),
            Ends::Pipes(input, _) => rustix::io::read(input, room),
        }
    }
}

/// Takes the frame at the front of `incoming`, if it is whole.
pub(crate) fn next_frame(
    incoming: &mut Vec<u8>,
    most_bytes: usize,
    seals: Option<&mut Seals>,
) -> Result<Option<Frame>, ChannelError> {
    let Some(header) = incoming.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    let kind = FrameKind::from_number(header[4])
        .ok_or_else(|| ChannelError::Malformed(format!("a frame is of the unknown kind {}", header[4])))?;
    if length > most_bytes {
        let text = format!("a frame has {length} bytes, at most {most_bytes} are allowed here");
        return Err(ChannelError::Malformed(text));
    }
    let tag_bytes = if seals.is_some() { TAG_BYTES } else { 0 };
    let end = HEADER_BYTES + length;
    if incoming.len() < end + tag_bytes {
        return Ok(None);
    }
    let payload = incoming[HEADER_BYTES..end].to_vec();
    if let Some(seals) = seals
        && !seals.check(kind as u8, &payload, &incoming[end..end + tag_bytes])
    {
        return Err(ChannelError::Forged);
    }
    incoming.drain(..end + tag_bytes);
    Ok(Some(Frame { kind, payload }))
}

fn closed_or(errno: Errno) -> ChannelError {
    match errno {
        Errno::CONNRESET | Errno::PIPE => ChannelError::Closed,
        other => ChannelError::Io(other.into()),
    }
}

/// Until when to wait.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'c> {
    clock: &'c Clock,
    until_ns: u64,
    whole_ns: u64,
}

impl<'c> Patience<'c> {
    /// From now on for this long.
    pub(crate) fn of(clock: &'c Clock, ns: u64) -> Patience<'c> {
        Patience { clock, until_ns: clock.now_ns().saturating_add(ns), whole_ns: ns }
    }

    fn left_ns(&self) -> Result<u64, ChannelError> {
        let left_ns = self.until_ns.saturating_sub(self.clock.now_ns());
        if left_ns > 0 {
            Ok(left_ns)
        } else {
            Err(ChannelError::Silent { seconds: self.whole_ns.div_ceil(1_000_000_000) })
        }
    }
}

/// Waits until one of the channels can be read or written as it wishes, a signal comes, or the time
/// is over.
pub(crate) fn wait(channels: &[&Channel], timeout_ns: u64) {
    // A closed channel would be ready for ever.
    let open = channels.iter().filter(|channel| !channel.is_closed || channel.waiting_bytes() > 0);
    let mut fds: Vec<PollFd<'_>> = open.flat_map(|channel| channel.interest()).collect();
    let nanoseconds = (timeout_ns % 1_000_000_000) as i64;
    let timeout = Timespec { tv_sec: (timeout_ns / 1_000_000_000) as i64, tv_nsec: nanoseconds };
    // A signal ends the wait, as it should.
    let _ = poll(&mut fds, Some(&timeout));
}

#[cfg(test)]
mod tests;
