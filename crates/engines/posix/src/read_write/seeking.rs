//! `read(2)` and `write(2)`, with `lseek(2)` if the file is not already at the offset.
//!
//! The lane remembers each file's position, so a sequential job makes no `lseek` at all. That is
//! right as long as nothing else moves the position: every lane has its own descriptors. After an
//! error the position is treated as unknown.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use std::os::fd::RawFd;

use iolab_engine::file_calls::retry;
use iolab_engine::{LaneRequest, OpenError};

use crate::read_write::{Stretch, Transfer};

/// The positions of a lane's files, as far as they are known.
#[derive(Debug)]
pub(crate) struct Positions {
    at: Box<[u64]>,
}

/// Not a valid position: offsets are signed.
const UNKNOWN: u64 = u64::MAX;

impl Positions {
    pub(crate) fn of(files: usize) -> Positions {
        Positions { at: vec![UNKNOWN; files].into_boxed_slice() }
    }

    /// Moves `file` to `offset` if it is not there. 0 or a negative errno.
    #[inline]
    pub(crate) fn seek(&mut self, file: usize, fd: RawFd, offset: u64) -> i32 {
        if self.at[file] == offset {
            return 0;
        }
        // SAFETY: takes numbers only; the kernel checks them. Not through `retry`: the result is an
        // offset, which need not fit an i32, and lseek is never interrupted.
        if unsafe { libc::lseek(fd, offset as libc::off_t, libc::SEEK_SET) } < 0 {
            self.at[file] = UNKNOWN;
            return -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        }
        self.at[file] = offset;
        0
    }

    /// Records the position after a transfer at `offset`.
    #[inline]
    pub(crate) fn moved(&mut self, file: usize, offset: u64, result: i32) {
        self.at[file] = u64::try_from(result).map_or(UNKNOWN, |bytes| offset.wrapping_add(bytes));
    }
}

/// `lseek(2)` where needed, then `read(2)` or `write(2)`.
#[derive(Debug)]
pub struct Seeking {
    positions: Positions,
}

impl Seeking {
    #[inline]
    fn transfer(&mut self, at: &Stretch, call: impl FnMut() -> isize) -> i32 {
        let sought = self.positions.seek(at.file, at.fd, at.offset);
        if sought < 0 {
            return sought;
        }
        let result = retry(call);
        self.positions.moved(at.file, at.offset, result);
        result
    }
}

impl Transfer for Seeking {
    fn open(request: &LaneRequest<'_>) -> Result<Seeking, OpenError> {
        Ok(Seeking { positions: Positions::of(request.files.len()) })
    }

    #[inline]
    fn read(&mut self, at: &Stretch) -> i32 {
        // SAFETY: a Stretch lies within a slot, which is the lane's while it submits.
        self.transfer(at, || unsafe { libc::read(at.fd, at.address.cast(), at.length) })
    }

    #[inline]
    fn write(&mut self, at: &Stretch) -> i32 {
        // SAFETY: as for read; the kernel only reads the bytes.
        self.transfer(at, || unsafe { libc::write(at.fd, at.address.cast(), at.length) })
    }
}
