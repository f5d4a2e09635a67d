//! Bytes that wait to be sent: many PDUs leave by one call.

use std::io;
use std::net::TcpStream;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Room that a buffer keeps when all was sent.
const KEPT_BYTES: usize = 256 << 10;

/// The bytes, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// PDUs are appended here.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Bytes that were not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }

    /// Sends what the socket takes, without waiting. Returns whether everything has gone.
    #[inline]
    pub(crate) fn send(&mut self, socket: &TcpStream) -> io::Result<bool> {
        while self.sent < self.bytes.len() {
            match send(socket, &self.bytes[self.sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.clear();
        if self.bytes.capacity() > 2 * KEPT_BYTES {
            self.bytes.shrink_to(KEPT_BYTES);
        }
        Ok(true)
    }
}
