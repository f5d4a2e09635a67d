//! One end of a stream socket, without blocking.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags};

/// Bytes that are read at once; an MPI message has at most so many.
const PIECE_BYTES: usize = 64 << 10;

/// A socket with what waits to be written.
pub(crate) struct Stream {
    socket: UnixStream,
    outgoing: Vec<u8>,
    /// How many of them are written.
    written: usize,
    /// Nothing more comes.
    has_ended: bool,
    /// What waits is the last.
    is_last: bool,
    /// The other end reads no more.
    is_broken: bool,
}

impl Stream {
    pub(crate) fn new(socket: UnixStream) -> io::Result<Stream> {
        socket.set_nonblocking(true)?;
        Ok(Stream { socket, outgoing: Vec::new(), written: 0, has_ended: false, is_last: false, is_broken: false })
    }

    /// The next bytes, if some have come; an empty piece is the end, and comes once.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let mut piece = vec![0; PIECE_BYTES];
        match self.socket.read(&mut piece) {
            Ok(count) => {
                self.has_ended = count == 0;
                piece.truncate(count);
                Some(piece)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(_) => {
                self.has_ended = true;
                Some(Vec::new())
            }
        }
    }

    /// Writes bytes, now or later; an empty piece is the end.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
        self.is_last |= bytes.is_empty();
        self.flush();
    }

    /// Writes what can be written now.
    pub(crate) fn flush(&mut self) {
        while self.written < self.outgoing.len() && !self.is_broken {
            match self.socket.write(&self.outgoing[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.is_broken = true,
            }
        }
        self.outgoing.clear();
        self.written = 0;
        if std::mem::take(&mut self.is_last) {
            // An end that has gone needs not be told.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// What to wait for; reading only if there is room for what comes.
    pub(crate) fn interest(&self, reads: bool) -> Option<PollFd<'_>> {
        let read = if reads && !self.has_ended { PollFlags::IN } else { PollFlags::empty() };
        let waits = self.written < self.outgoing.len() && !self.is_broken;
        let write = if waits { PollFlags::OUT } else { PollFlags::empty() };
        let flags = read | write;
        (!flags.is_empty()).then(|| PollFd::new(&self.socket, flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_arrives_in_order_and_the_end_comes_once() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut one, mut other) = (Stream::new(one).unwrap(), Stream::new(other).unwrap());
        let sent: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        sent.chunks(100_000).for_each(|piece| one.write(piece));
        one.write(&[]);
        let mut come = Vec::new();
        loop {
            one.flush();
            match other.read() {
                Some(piece) if piece.is_empty() => break,
                Some(piece) => come.extend(piece),
                None => {}
            }
        }
        assert!(come == sent && other.read().is_none());
        assert!(other.interest(true).is_none(), "a stream that has ended is not waited for");
    }
}
