//! Bytes that wait to be sent: one call sends many PDUs, and data is sent without a copy.

use std::io;
use std::net::TcpStream;
use std::sync::OnceLock;

use iolab_memory::SharedBytes;
use iolab_sockets::{Parcel, PieceList};

/// Capacity that a buffer keeps after everything was sent.
pub(crate) const KEPT_BYTES: usize = 64 << 10;
/// Shorter data is copied after its header, because referring to its memory would cost as much.
pub(crate) const LEAST_INSERT: usize = 1024;
/// The number of zeroes that can be sent from one buffer.
const ZERO_BYTES: usize = 1 << 20;

/// Returns this many zeroes, if the shared buffer has them.
pub(crate) fn zeroes(bytes: usize) -> Option<SharedBytes> {
    static ZEROES: OnceLock<Option<SharedBytes>> = OnceLock::new();
    // Pages that are never written use no memory.
    ZEROES.get_or_init(|| SharedBytes::anonymous(ZERO_BYTES).ok()).as_ref()?.window(0, bytes)
}

/// The bytes, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// PDUs are appended here.
    pub(crate) parcel: Parcel,
    list: PieceList,
}

impl Outbox {
    /// The buffer to which the outbox's own bytes of PDUs are appended.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.parcel.bytes
    }

    /// Bytes that were not sent yet.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.parcel.unsent()
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.parcel.clear(KEPT_BYTES);
    }

    /// Sends what the socket accepts, without waiting. Returns whether everything was sent.
    #[inline]
    pub(crate) fn send(&mut self, socket: &TcpStream) -> io::Result<bool> {
        self.parcel.send(socket, &mut self.list, KEPT_BYTES)
    }
}
