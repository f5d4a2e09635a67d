//! Received bytes of a socket that have not been used yet, in one contiguous buffer.

use std::io;
use std::net::TcpStream;

use iolab_sockets::RingBuffer;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// The result of reading a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// This many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The peer has closed the connection.
    End,
}

/// Reads the available bytes without waiting.
#[inline]
pub(crate) fn look(socket: &TcpStream, to: &mut [u8]) -> io::Result<Found> {
    loop {
        return match recv(socket, &mut *to, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Ok(Found::End),
            Ok((bytes, _)) => Ok(Found::Bytes(bytes)),
            Err(Errno::AGAIN) => Ok(Found::Nothing),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

/// The bytes, in a buffer owned by the inbox or lent by a ring.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Box<[u8]>,
    lent: Option<RingBuffer>,
    from: usize,
    to: usize,
}

impl Inbox {
    pub(crate) fn new(capacity: usize) -> Inbox {
        Inbox { bytes: vec![0; capacity].into(), lent: None, from: 0, to: 0 }
    }

    /// Moves the bytes to a larger buffer.
    pub(crate) fn grow(&mut self, capacity: usize) {
        if capacity > self.bytes.len() {
            let mut larger = vec![0; capacity];
            let unread = self.unread();
            larger[..unread.len()].copy_from_slice(unread);
            (self.from, self.to, self.bytes) = (0, unread.len(), larger.into());
        }
    }

    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        match &self.lent {
            None => &self.bytes[self.from..self.to],
            Some(lent) => &lent.bytes()[self.from..self.to],
        }
    }

    /// Takes `bytes` of a buffer and keeps the buffer until [`Inbox::reclaim`]. The inbox must be
    /// empty.
    #[inline]
    pub(crate) fn lend(&mut self, buffer: RingBuffer, bytes: usize) {
        (self.lent, self.from, self.to) = (Some(buffer), 0, bytes);
    }

    /// Returns the lent buffer; its unused bytes are copied.
    #[inline]
    pub(crate) fn reclaim(&mut self) -> Option<RingBuffer> {
        let lent = self.lent.take()?;
        let left = &lent.bytes()[self.from..self.to];
        (self.from, self.to) = (0, 0);
        if !left.is_empty() {
            self.append(left);
        }
        Some(lent)
    }

    /// Whether all bytes were used.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Drops the first `bytes` unused bytes.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.from += bytes.min(self.to - self.from);
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
    }

    /// Appends bytes received in another way, however many.
    pub(crate) fn append(&mut self, from: &[u8]) {
        self.room(from.len()).copy_from_slice(from);
    }

    /// Room for bytes received in another way; they count as read.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.bytes.len() - self.to < bytes {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
            self.grow((self.to + bytes).next_power_of_two());
        }
        self.to += bytes;
        &mut self.bytes[self.to - bytes..self.to]
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        (self.from, self.to) = (0, 0);
    }

    /// Reads as many bytes as fit. An incomplete PDU is first moved to the front, unless there is
    /// much room after it. The second value says whether the socket may have more.
    #[inline]
    pub(crate) fn fill(&mut self, socket: &TcpStream) -> io::Result<(Found, bool)> {
        if self.from > 0 && self.bytes.len() - self.to < self.bytes.len() / 2 {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        let room = self.bytes.len() - self.to;
        if room == 0 {
            return Ok((Found::Nothing, true));
        }
        let found = look(socket, &mut self.bytes[self.to..])?;
        if let Found::Bytes(bytes) = found {
            self.to += bytes;
            return Ok((found, bytes == room));
        }
        Ok((found, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn bytes_stay_in_order_however_they_come_and_go() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let receiver = listener.accept().unwrap().0;
        receiver.set_nonblocking(true).unwrap();
        let mut inbox = Inbox::new(16);
        let (mut sent, mut used) = (0u8, 0u8);
        for round in 0..200usize {
            let piece: Vec<u8> = (0..1 + round % 5)
                .map(|_| {
                    sent = sent.wrapping_add(1);
                    sent
                })
                .collect();
            sender.write_all(&piece).unwrap();
            let mut left = piece.len();
            while left > 0 {
                if let (Found::Bytes(bytes), _) = inbox.fill(&receiver).unwrap() {
                    left -= bytes;
                }
                let keep = if left == 0 { round % 3 } else { 0 };
                while inbox.unread().len() > keep {
                    used = used.wrapping_add(1);
                    assert_eq!(inbox.unread()[0], used);
                    inbox.consume(1);
                }
            }
        }
        inbox.grow(64);
        assert!(inbox.unread().len() <= 2);
        drop(sender);
        inbox.clear();
        assert_eq!(inbox.fill(&receiver).unwrap().0, Found::End);
    }
}
