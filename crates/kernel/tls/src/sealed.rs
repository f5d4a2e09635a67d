//! The state of TLS on one connection, between plain bytes and the socket.
//!
//! ```text
//! send      pieces ─▶ scratch ─▶ connection ─▶ socket           one copy more than without TLS
//! receive   socket ─▶ arrived ─▶ connection ─▶ scratch ─▶ pieces
//! ```

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use iolab_sockets::{ReadPieces, StreamSocket, WrittenPieces};
use rustls::Connection;

/// Bytes that one call of the socket receives.
const ARRIVED_BYTES: usize = 64 << 10;
/// Plain bytes that are copied at a time: a record of TLS.
const SCRATCH_BYTES: usize = 16 << 10;

/// TLS on a connection.
pub(crate) struct Sealed {
    connection: Connection,
    /// What the socket has brought, and how much of it was not looked at.
    arrived: Box<[u8]>,
    from: usize,
    to: usize,
    /// Plain bytes that the connection holds.
    plain: usize,
    scratch: Box<[u8]>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Sealed({} plain bytes unread)", self.plain)
    }
}

/// How a socket is used for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It waits as long as its time-outs say.
    Waits,
    /// It never waits.
    Now,
}

impl Sealed {
    pub(crate) fn new(connection: Connection) -> Sealed {
        Sealed {
            connection,
            arrived: vec![0; ARRIVED_BYTES].into(),
            from: 0,
            to: 0,
            plain: 0,
            scratch: vec![0; SCRATCH_BYTES].into(),
        }
    }

    /// Takes one step of the handshake. Returns whether it is over.
    pub(crate) fn handshake_step(&mut self, socket: &mut StreamSocket) -> io::Result<bool> {
        self.push(socket, Patience::Waits)?;
        if self.connection.is_handshaking() {
            self.bring(socket, Patience::Waits)?;
            self.push(socket, Patience::Waits)?;
        }
        Ok(!self.connection.is_handshaking())
    }

    /// Whether sealed bytes wait for room in the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// Whether bytes have come that nobody has asked for yet.
    pub(crate) fn has_unread(&self) -> bool {
        self.plain > 0 || self.from < self.to
    }

    /// Sends sealed bytes, as many as the socket takes. Returns whether none wait any more.
    pub(crate) fn push(&mut self, socket: &mut StreamSocket, patience: Patience) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Link { socket, patience }) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && patience == Patience::Now => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Looks at what the socket has brought, or lets it bring something. An error of TLS is also
    /// told to the other end.
    fn bring(&mut self, socket: &mut StreamSocket, patience: Patience) -> io::Result<()> {
        if self.from == self.to {
            let bytes = Link { socket, patience }.read(&mut self.arrived)?;
            (self.from, self.to) = (0, bytes);
            if bytes == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let mut rest = &self.arrived[self.from..self.to];
        self.from += self.connection.read_tls(&mut rest)?;
        match self.connection.process_new_packets() {
            Ok(state) => {
                self.plain = state.plaintext_bytes_to_read();
                Ok(())
            }
            Err(error) => {
                // The alert is a courtesy.
                let _ = self.push(socket, Patience::Now);
                Err(io::Error::new(ErrorKind::InvalidData, error))
            }
        }
    }

    /// Plain bytes that are there; 0 at the end of the stream. Waits at most once, and may have
    /// nothing then (`Interrupted`).
    pub(crate) fn read(&mut self, socket: &mut StreamSocket, to: &mut [u8], patience: Patience) -> io::Result<usize> {
        for is_last in [false, true] {
            match self.connection.reader().read(to) {
                Ok(bytes) => {
                    self.plain -= bytes.min(self.plain);
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == ErrorKind::WouldBlock && !is_last => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::Interrupted.into()),
                Err(error) => return Err(error),
            }
            match self.bring(socket, patience) {
                // Without a farewell, as many end.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => other?,
            }
            // What TLS itself has to answer.
            self.push(socket, Patience::Now)?;
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// Seals and sends all of this.
    pub(crate) fn write(&mut self, socket: &mut StreamSocket, from: &[u8]) -> io::Result<usize> {
        self.push(socket, Patience::Waits)?;
        let bytes = self.connection.writer().write(from)?;
        self.push(socket, Patience::Waits)?;
        Ok(bytes)
    }

    /// Fills pieces with what has come, without waiting.
    pub(crate) fn receive(&mut self, socket: &mut StreamSocket, mut pieces: ReadPieces<'_, '_>) -> io::Result<usize> {
        let mut placed = 0;
        loop {
            let room = pieces.room().min(self.scratch.len());
            if room == 0 {
                return Ok(placed);
            }
            // The scratch is lent to the read, which needs the rest of `self`.
            let mut scratch = std::mem::take(&mut self.scratch);
            let read = self.read(socket, &mut scratch[..room], Patience::Now);
            self.scratch = scratch;
            match read {
                Ok(0) => return Ok(placed),
                Ok(bytes) => placed += pieces.place(&self.scratch[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It comes again with the next call.
                Err(_) if placed > 0 => return Ok(placed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Seals pieces and sends them, as much as the socket takes and one record more.
    pub(crate) fn send(&mut self, socket: &mut StreamSocket, mut pieces: WrittenPieces<'_, '_>) -> io::Result<usize> {
        if !self.push(socket, Patience::Now)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut sent = 0;
        loop {
            let bytes = pieces.take(&mut self.scratch);
            if bytes == 0 {
                return Ok(sent);
            }
            self.connection.writer().write_all(&self.scratch[..bytes])?;
            sent += bytes;
            if !self.push(socket, Patience::Now)? {
                return Ok(sent);
            }
        }
    }

    /// Says farewell, without waiting.
    pub(crate) fn leave(&mut self, socket: &mut StreamSocket) {
        self.connection.send_close_notify();
        // The other end may have gone.
        let _ = self.push(socket, Patience::Now);
    }
}

/// The socket, as rustls sees it.
struct Link<'a> {
    socket: &'a mut StreamSocket,
    patience: Patience,
}

impl Read for Link<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.patience {
            Patience::Waits => self.socket.read(to),
            Patience::Now => self.socket.read_now(to),
        }
    }
}

impl Write for Link<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self.patience {
            Patience::Waits => self.socket.write(from),
            Patience::Now => self.socket.write_now(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
