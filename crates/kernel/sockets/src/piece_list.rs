//! Many pieces of memory for one non-blocking call on a socket.
//!
//! A list is filled again for every call and keeps only its memory, so that filling it does not
//! allocate. Where something stands between the bytes and the socket (encryption), pieces are
//! copied to and from its memory instead ([`ReadPieces::place`], [`WrittenPieces::take`]). Unsafe
//! because it converts borrowed memory to addresses for readv(2), writev(2) and copies; the borrows
//! last until the call is over.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};

use iolab_memory::{MappingAccess, SharedBytes};

/// The most pieces of a call (`IOV_MAX`).
const MOST_PIECES: usize = 1024;

/// The memory of a list.
#[derive(Default)]
pub struct PieceList {
    list: Vec<libc::iovec>,
}

// SAFETY: between two calls, the addresses in the list have no meaning, and nothing uses them.
unsafe impl Send for PieceList {}
// SAFETY: as above.
unsafe impl Sync for PieceList {}

impl fmt::Debug for PieceList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PieceList({} pieces)", self.list.len())
    }
}

impl PieceList {
    /// Begins a list of memory to fill.
    #[inline]
    pub fn reading<'m>(&mut self) -> ReadPieces<'_, 'm> {
        self.list.clear();
        ReadPieces { list: &mut self.list, memory: PhantomData }
    }

    /// Begins a list of memory to send.
    #[inline]
    pub fn writing<'m>(&mut self) -> WrittenPieces<'_, 'm> {
        self.list.clear();
        WrittenPieces { list: &mut self.list, memory: PhantomData }
    }
}

/// Memory that one call fills, in order.
#[derive(Debug)]
pub struct ReadPieces<'l, 'm> {
    list: &'l mut Vec<libc::iovec>,
    memory: PhantomData<&'m mut [u8]>,
}

impl<'m> ReadPieces<'_, 'm> {
    /// Whether one more piece can be added.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.list.len() < MOST_PIECES
    }

    /// Adds a buffer.
    #[inline]
    pub fn bytes(&mut self, to: &'m mut [u8]) {
        self.list.push(libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() });
    }

    /// Adds `bytes` from `offset` of shared memory.
    ///
    /// # Panics
    /// If they are not within the window, or must not be written.
    #[inline]
    pub fn shared(&mut self, to: &'m SharedBytes, offset: usize, bytes: usize) {
        assert!(to.access() == MappingAccess::ReadWrite, "memory to be filled may be written");
        self.list.push(shared_piece(to, offset, bytes));
    }

    /// Copies bytes to the pieces, in order, as far as there is room, which becomes less by them.
    /// Returns how many were copied.
    pub fn place(&mut self, from: &[u8]) -> usize {
        let mut placed = 0;
        for piece in self.list.iter_mut() {
            let bytes = piece.iov_len.min(from.len() - placed);
            // SAFETY: the piece is memory that is borrowed for `'m`, either exclusively or as a
            // window that is only written by copies; no more is copied than it and `from` have.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr().add(placed), piece.iov_base.cast(), bytes) };
            shorten(piece, bytes);
            placed += bytes;
        }
        placed
    }

    /// The bytes that there is room for.
    pub fn room(&self) -> usize {
        self.list.iter().map(|piece| piece.iov_len).sum()
    }

    /// Fills the pieces with the available bytes of a socket, without waiting. Returns how many
    /// bytes were received; 0 if the peer has closed the connection.
    ///
    /// # Errors
    /// `WouldBlock` if the socket has no bytes; otherwise the error of recvmsg(2).
    #[inline]
    pub fn receive(self, socket: impl AsFd) -> io::Result<usize> {
        transfer(self.list, |message| {
            // SAFETY: the pieces are memory that is borrowed for `'m`, which outlives this call:
            // either exclusively, or as a window that is only written by copies.
            unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), message, libc::MSG_DONTWAIT) }
        })
    }
}

/// Memory that one call sends, in order.
#[derive(Debug)]
pub struct WrittenPieces<'l, 'm> {
    list: &'l mut Vec<libc::iovec>,
    memory: PhantomData<&'m [u8]>,
}

impl<'m> WrittenPieces<'_, 'm> {
    /// Whether one more piece can be added.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.list.len() < MOST_PIECES
    }

    /// Adds bytes.
    #[inline]
    pub fn bytes(&mut self, from: &'m [u8]) {
        self.list.push(libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() });
    }

    /// Adds `bytes` from `offset` of shared memory.
    ///
    /// # Panics
    /// If they are not within the window.
    #[inline]
    pub fn shared(&mut self, from: &'m SharedBytes, offset: usize, bytes: usize) {
        self.list.push(shared_piece(from, offset, bytes));
    }

    /// Copies the next bytes of the pieces, which then have them no more. Returns how many were
    /// copied.
    pub fn take(&mut self, to: &mut [u8]) -> usize {
        let mut taken = 0;
        for piece in self.list.iter_mut() {
            let bytes = piece.iov_len.min(to.len() - taken);
            // SAFETY: the piece is memory that is borrowed for `'m`; no more is copied than it and
            // `to` have.
            unsafe { std::ptr::copy_nonoverlapping(piece.iov_base.cast(), to.as_mut_ptr().add(taken), bytes) };
            shorten(piece, bytes);
            taken += bytes;
        }
        taken
    }

    /// Sends what the socket accepts, without waiting. Returns the number of bytes.
    ///
    /// # Errors
    /// `WouldBlock` if the socket accepts nothing; otherwise the error of sendmsg(2).
    #[inline]
    pub fn send(self, socket: impl AsFd) -> io::Result<usize> {
        transfer(self.list, |message| {
            // SAFETY: the pieces are memory that is borrowed for `'m`, which outlives this call;
            // the kernel only reads it.
            unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) }
        })
    }
}

#[inline]
pub(crate) fn shared_piece(memory: &SharedBytes, offset: usize, bytes: usize) -> libc::iovec {
    assert!(offset <= memory.len() && bytes <= memory.len() - offset, "a piece lies in its window");
    libc::iovec { iov_base: memory.as_ptr().wrapping_add(offset).cast(), iov_len: bytes }
}

/// Removes bytes from the beginning of a piece.
fn shorten(piece: &mut libc::iovec, bytes: usize) {
    piece.iov_base = piece.iov_base.wrapping_byte_add(bytes);
    piece.iov_len -= bytes;
}

#[inline]
fn transfer(list: &mut [libc::iovec], call: impl Fn(*mut libc::msghdr) -> isize) -> io::Result<usize> {
    // SAFETY: all fields of the structure may be zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = list.as_mut_ptr();
    message.msg_iovlen = list.len().min(MOST_PIECES) as _;
    loop {
        let done = call(&mut message);
        if done >= 0 {
            return Ok(done as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn pieces_go_and_come_in_order() {
        let (near, far) = UnixStream::pair().unwrap();
        let memory = SharedBytes::anonymous(4096).unwrap();
        memory.write(100, b"shared");
        let mut list = PieceList::default();
        let mut pieces = list.writing();
        pieces.bytes(b"head ");
        pieces.shared(&memory, 100, 6);
        pieces.bytes(b" tail");
        assert_eq!(pieces.send(&near).unwrap(), 16);
        let mut head = [0; 5];
        let mut pieces = list.reading();
        pieces.bytes(&mut head);
        pieces.shared(&memory, 200, 20);
        assert_eq!(pieces.receive(&far).unwrap(), 16);
        let mut rest = [0; 11];
        memory.read(200, &mut rest);
        assert_eq!((&head, &rest), (b"head ", b"shared tail"));
        let pieces = list.reading();
        assert_eq!(pieces.receive(&far).map_err(|error| error.kind()).unwrap_or(0), 0);
        let mut one = [0];
        let mut pieces = list.reading();
        pieces.bytes(&mut one);
        assert_eq!(pieces.receive(&far).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn pieces_are_copied_in_order_wherever_they_are_cut() {
        let memory = SharedBytes::anonymous(4096).unwrap();
        memory.write(100, b"shared");
        let mut list = PieceList::default();
        for cut in 1..=16 {
            let mut pieces = list.writing();
            pieces.bytes(b"head ");
            pieces.shared(&memory, 100, 6);
            pieces.bytes(b" tail");
            let mut all = Vec::new();
            let mut part = vec![0; cut];
            while let bytes @ 1.. = pieces.take(&mut part) {
                all.extend_from_slice(&part[..bytes]);
            }
            assert_eq!(all, b"head shared tail", "{cut}");

            memory.write(200, &[0; 6]);
            let (mut head, mut tail) = ([0; 5], [0; 5]);
            let mut pieces = list.reading();
            pieces.bytes(&mut head);
            pieces.shared(&memory, 200, 6);
            pieces.bytes(&mut tail);
            let mut from = &b"head shared tail and more"[..];
            while pieces.room() > 0 {
                let most = pieces.room().min(cut);
                let placed = pieces.place(&from[..cut.min(from.len())]);
                assert_eq!(placed, most);
                from = &from[placed..];
            }
            let mut shared = [0; 6];
            memory.read(200, &mut shared);
            assert_eq!((&head, &shared, &tail), (b"head ", b"shared", b" tail"), "{cut}");
        }
    }

    #[test]
    #[should_panic(expected = "a piece lies in its window")]
    fn a_piece_outside_of_its_window_is_refused() {
        let memory = SharedBytes::anonymous(4096).unwrap();
        PieceList::default().writing().shared(&memory, 4000, 97);
    }
}
