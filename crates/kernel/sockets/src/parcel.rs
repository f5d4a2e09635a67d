//! Bytes to be sent: own bytes, and windows of shared memory between them.
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

use crate::piece_list::{PieceList, shared_piece};

/// The most pieces that one call is given.
const MOST_PIECES: usize = 1000;

/// A window that is sent in front of the byte at `at`.
#[derive(Debug)]
struct Insert {
    at: usize,
    memory: SharedBytes,
    /// Bytes of it that have gone.
    gone: usize,
}

/// Bytes in order, some of them elsewhere.
#[derive(Debug, Default)]
pub struct Parcel {
    /// Own bytes are appended here.
    pub bytes: Vec<u8>,
    /// Own bytes that have gone.
    gone: usize,
    inserts: VecDeque<Insert>,
    /// Bytes of windows that have not gone.
    inserted: usize,
}

/// A place behind everything that a parcel had at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParcelEnd {
    bytes: usize,
    inserts: usize,
}

/// What was split off a parcel.
#[derive(Debug, Default)]
pub struct ParcelPart {
    bytes: Vec<u8>,
    inserts: Vec<(usize, SharedBytes)>,
}

impl ParcelPart {
    /// Bytes of it, those in windows included.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.inserts.iter().map(|(_, memory)| memory.len()).sum::<usize>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Parcel {
    /// Bytes that have not gone.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.gone + self.inserted
    }

    /// Puts a window behind the own bytes that are there now. What is sent is what the memory holds
    /// then.
    #[inline]
    pub fn insert(&mut self, memory: SharedBytes) {
        self.inserted += memory.len();
        self.inserts.push_back(Insert { at: self.bytes.len(), memory, gone: 0 });
    }

    /// Forgets everything, and gives room back that is above `kept` bytes.
    #[inline]
    pub fn clear(&mut self, kept: usize) {
        self.bytes.clear();
        self.inserts.clear();
        (self.gone, self.inserted) = (0, 0);
        if self.bytes.capacity() > 2 * kept {
            self.bytes.shrink_to(kept);
        }
    }

    /// The end, as it is now.
    #[inline]
    pub fn end(&self) -> ParcelEnd {
        ParcelEnd { bytes: self.bytes.len(), inserts: self.inserts.len() }
    }

    /// Takes off what was put behind an end. Nothing has been sent since then.
    pub fn split_off(&mut self, end: ParcelEnd) -> ParcelPart {
        let start = end.bytes;
        let split = self.inserts.drain(end.inserts..);
        let inserts: Vec<_> = split.map(|insert| (insert.at - start, insert.memory)).collect();
        self.inserted -= inserts.iter().map(|(_, memory)| memory.len()).sum::<usize>();
        ParcelPart { bytes: self.bytes.split_off(start), inserts }
    }

    /// Appends what was split off.
    pub fn append(&mut self, part: ParcelPart) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&part.bytes);
        for (at, memory) in part.inserts {
            self.inserted += memory.len();
            self.inserts.push_back(Insert { at: start + at, memory, gone: 0 });
        }
    }

    /// Calls `each` with what has not gone, in order, as long as it returns whether it takes more.
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

    /// Notes that so many bytes have gone.
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

    /// Sends what a socket takes, without waiting. Returns whether everything has gone; then the
    /// parcel is empty and keeps room for about `kept` bytes.
    ///
    /// # Errors
    /// What sendmsg(2) says.
    #[inline]
    pub fn send(&mut self, socket: impl AsFd, list: &mut PieceList, kept: usize) -> io::Result<bool> {
        while self.unsent() > 0 {
            let mut pieces = list.writing();
            self.each_piece(|piece| {
                match piece {
                    Piece::Own(bytes) => pieces.bytes(bytes),
                    Piece::Shared(memory, offset, bytes) => pieces.shared(memory, offset, bytes),
                }
                pieces.has_room()
            });
            match pieces.send(&socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => self.advance(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.clear(kept);
        Ok(true)
    }

    /// Writes the addresses of what has not gone to a list. They are valid as long as the parcel is
    /// neither changed nor dropped.
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
        // The window before the end stays, although the next own byte follows at the same place.
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
