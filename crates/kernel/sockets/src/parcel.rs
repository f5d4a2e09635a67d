//! Bytes to be sent: the parcel's own bytes, with windows of shared memory between them.
//!
//! ```text
//! own bytes   | header   | header   | header |
//!             0          24         48       72
//! inserted               ^ 4096     ^ 4096          data that stays where it is
//! ```
//!
//! Unsafe because a ring gets the addresses of all parts ([`Parcel::describe`]).

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use iolab_memory::SharedBytes;

use crate::piece_list::{PieceList, WrittenPieces, shared_piece};

/// The most pieces that are passed to one call.
const MOST_PIECES: usize = 1000;

/// A window that is sent before the own byte at `at`.
#[derive(Debug)]
struct Insert {
    at: usize,
    memory: SharedBytes,
    /// The number of its bytes that were sent.
    gone: usize,
}

/// A sequence of bytes, some of which are in other memory.
#[derive(Debug, Default)]
pub struct Parcel {
    /// The parcel's own bytes, to which more are appended.
    pub bytes: Vec<u8>,
    /// The number of own bytes that were sent.
    gone: usize,
    inserts: VecDeque<Insert>,
    /// The number of bytes of windows that were not sent yet.
    inserted: usize,
}

/// The end of a parcel at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParcelEnd {
    bytes: usize,
    inserts: usize,
}

/// A part that was split off a parcel.
#[derive(Debug, Default)]
pub struct ParcelPart {
    bytes: Vec<u8>,
    inserts: Vec<(usize, SharedBytes)>,
}

impl ParcelPart {
    /// The number of its bytes, including those of windows.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.inserts.iter().map(|(_, memory)| memory.len()).sum::<usize>()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Parcel {
    /// The number of bytes that were not sent yet.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.gone + self.inserted
    }

    /// Inserts a window after the present own bytes. The memory is read when it is sent.
    #[inline]
    pub fn insert(&mut self, memory: SharedBytes) {
        self.inserted += memory.len();
        self.inserts.push_back(Insert { at: self.bytes.len(), memory, gone: 0 });
    }

    /// Removes everything, and frees memory above `kept` bytes.
    #[inline]
    pub fn clear(&mut self, kept: usize) {
        self.bytes.clear();
        self.inserts.clear();
        (self.gone, self.inserted) = (0, 0);
        if self.bytes.capacity() > 2 * kept {
            self.bytes.shrink_to(kept);
        }
    }

    /// The present end.
    #[inline]
    pub fn end(&self) -> ParcelEnd {
        ParcelEnd { bytes: self.bytes.len(), inserts: self.inserts.len() }
    }

    /// Splits off everything that was added after an end. Nothing may have been sent since then.
    pub fn split_off(&mut self, end: ParcelEnd) -> ParcelPart {
        let start = end.bytes;
        let split = self.inserts.drain(end.inserts..);
        let inserts: Vec<_> = split.map(|insert| (insert.at - start, insert.memory)).collect();
        self.inserted -= inserts.iter().map(|(_, memory)| memory.len()).sum::<usize>();
        ParcelPart { bytes: self.bytes.split_off(start), inserts }
    }

    /// Appends a part that was split off.
    pub fn append(&mut self, part: ParcelPart) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&part.bytes);
        for (at, memory) in part.inserts {
            self.inserted += memory.len();
            self.inserts.push_back(Insert { at: start + at, memory, gone: 0 });
        }
    }

    /// Calls `each` with the unsent pieces in order, for as long as it returns true.
    #[inline]
    fn each_piece<'a>(&'a self, mut each: impl FnMut(Piece<'a>) -> bool) {
        let mut from = self.gone;
        for insert in &self.inserts {
            if insert.at > from && !each(Piece::Own(&self.bytes[from..insert.at])) {
                return;
            }
            from = insert.at;
            let bytes = insert.memory.len() - insert.gone;
            if !each(Piece::Shared(&insert.memory, insert.gone, bytes)) {
                return;
            }
        }
        if from < self.bytes.len() {
            each(Piece::Own(&self.bytes[from..]));
        }
    }

    /// Records that this many bytes were sent.
    #[inline]
    pub fn advance(&mut self, mut bytes: usize) {
        while let Some(insert) = self.inserts.front_mut() {
            let own = (insert.at - self.gone).min(bytes);
            self.gone += own;
            bytes -= own;
            if self.gone < insert.at || bytes == 0 {
                return;
            }
            let shared = (insert.memory.len() - insert.gone).min(bytes);
            insert.gone += shared;
            self.inserted -= shared;
            bytes -= shared;
            if insert.gone < insert.memory.len() {
                return;
            }
            self.inserts.pop_front();
        }
        self.gone += bytes;
        assert!(self.gone <= self.bytes.len(), "no more goes than there is");
    }

    /// Sends what a socket accepts, without waiting. Returns whether everything was sent; then the
    /// parcel is empty and keeps about `kept` bytes of memory.
    ///
    /// # Errors
    /// The error of sendmsg(2).
    #[inline]
    pub fn send(&mut self, socket: impl AsFd, list: &mut PieceList, kept: usize) -> io::Result<bool> {
        self.send_by(|pieces| pieces.send(&socket), list, kept)
    }

    /// As [`Parcel::send`], by whatever takes pieces and says how many bytes it has taken.
    ///
    /// # Errors
    /// Those of `send`, other than `WouldBlock`.
    #[inline]
    pub fn send_by(
        &mut self,
        mut send: impl FnMut(WrittenPieces<'_, '_>) -> io::Result<usize>,
        list: &mut PieceList,
        kept: usize,
    ) -> io::Result<bool> {
        while self.unsent() > 0 {
            let mut pieces = list.writing();
            self.each_piece(|piece| {
                match piece {
                    Piece::Own(bytes) => pieces.bytes(bytes),
                    Piece::Shared(memory, offset, bytes) => pieces.shared(memory, offset, bytes),
                }
                pieces.has_room()
            });
            match send(pieces) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => self.advance(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.clear(kept);
        Ok(true)
    }

    /// Writes the addresses of the unsent pieces to a list. They are valid until the parcel is
    /// changed or dropped.
    pub(crate) fn describe(&self, list: &mut Vec<libc::iovec>) {
        list.clear();
        self.each_piece(|piece| {
            list.push(match piece {
                Piece::Own(bytes) => libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() },
                Piece::Shared(memory, offset, bytes) => shared_piece(memory, offset, bytes),
            });
            list.len() < MOST_PIECES
        });
    }
}

enum Piece<'a> {
    Own(&'a [u8]),
    Shared(&'a SharedBytes, usize, usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn window(text: &[u8]) -> SharedBytes {
        let memory = SharedBytes::anonymous(4096).unwrap();
        memory.write(0, text);
        memory.window(0, text.len()).unwrap()
    }

    fn content(parcel: &Parcel) -> Vec<u8> {
        let mut all = Vec::new();
        parcel.each_piece(|piece| {
            match piece {
                Piece::Own(bytes) => all.extend_from_slice(bytes),
                Piece::Shared(memory, offset, bytes) => {
                    let start = all.len();
                    all.resize(start + bytes, 0);
                    memory.read(offset, &mut all[start..]);
                }
            }
            true
        });
        all
    }

    fn parcel() -> Parcel {
        let mut parcel = Parcel::default();
        parcel.insert(window(b"AB"));
        parcel.bytes.extend_from_slice(b"cd");
        parcel.insert(window(b"EFG"));
        parcel.insert(window(b"H"));
        parcel.bytes.extend_from_slice(b"ij");
        parcel
    }

    #[test]
    fn what_has_gone_does_not_go_again_wherever_it_was_cut() {
        for first in 0..=10 {
            for second in 0..=10 - first {
                let mut parcel = parcel();
                parcel.advance(first);
                assert_eq!(content(&parcel), b"ABcdEFGHij"[first..], "{first}");
                parcel.advance(second);
                assert_eq!(content(&parcel), b"ABcdEFGHij"[first + second..], "{first} {second}");
                assert_eq!(parcel.unsent(), 10 - first - second);
            }
        }
    }

    #[test]
    fn parts_are_taken_off_and_appended() {
        let mut parcel = Parcel::default();
        parcel.bytes.extend_from_slice(b"ab");
        parcel.insert(window(b"CD"));
        parcel.advance(1);
        // The window before the end stays, although the next own byte has the same position.
        let end = parcel.end();
        parcel.bytes.extend_from_slice(b"e");
        parcel.insert(window(b"FGH"));
        parcel.bytes.extend_from_slice(b"ij");
        let part = parcel.split_off(end);
        assert_eq!((part.len(), content(&parcel), parcel.unsent()), (6, b"bCD".to_vec(), 3));
        parcel.bytes.extend_from_slice(b"--");
        parcel.append(part);
        assert_eq!(content(&parcel), b"bCD--eFGHij");
        let (near, mut far) = UnixStream::pair().unwrap();
        assert!(parcel.send(&near, &mut PieceList::default(), 64).unwrap());
        assert_eq!((parcel.unsent(), content(&parcel)), (0, Vec::new()));
        drop(near);
        let mut came = Vec::new();
        far.read_to_end(&mut came).unwrap();
        assert_eq!(came, b"bCD--eFGHij");
    }
}
