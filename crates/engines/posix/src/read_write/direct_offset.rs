//! Calls with an offset argument: `pread64`/`pwrite64` and `preadv`/`pwritev`.
//!
//! They leave the file's own position alone, so they need no state at all.
//!
//! `pread64` and `pwrite64` call the kernel without the C library's wrappers. The wrappers are
//! cancellation points (pthreads(7)): in a process with threads, they set and reset a flag by two
//! locked instructions. No thread of this program is ever cancelled.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use iolab_engine::file_calls::retry;
use iolab_engine::{LaneRequest, OpenError};

use crate::read_write::{Stretch, Transfer};

/// `pread64(2)` and `pwrite64(2)`.
#[derive(Debug)]
pub struct Pread;

impl Transfer for Pread {
    fn open(_request: &LaneRequest<'_>) -> Result<Pread, OpenError> {
        Ok(Pread)
    }

    #[inline]
    fn read(&mut self, at: &Stretch) -> i32 {
        // SAFETY: a Stretch lies within a slot, which is the lane's while it submits.
        retry(|| unsafe { transfer(libc::SYS_pread64, at) })
    }

    #[inline]
    fn write(&mut self, at: &Stretch) -> i32 {
        // SAFETY: as for read; the kernel only reads the bytes.
        retry(|| unsafe { transfer(libc::SYS_pwrite64, at) })
    }
}

/// What the call with this number returns; -1 with `errno` set on failure.
///
/// # Safety
/// `number` is that of pread64 or pwrite64, and nobody else uses the bytes of the stretch.
#[inline]
unsafe fn transfer(number: libc::c_long, at: &Stretch) -> isize {
    const { assert!(usize::BITS == 64, "elsewhere the offset takes two registers") };
    // SAFETY: the arguments are those of both calls; the caller promises the rest.
    unsafe { libc::syscall(number, at.fd, at.address, at.length, at.offset) as isize }
}

/// `preadv(2)` and `pwritev(2)` with one element.
#[derive(Debug)]
pub struct Preadv;

impl Transfer for Preadv {
    fn open(_request: &LaneRequest<'_>) -> Result<Preadv, OpenError> {
        Ok(Preadv)
    }

    #[inline]
    fn read(&mut self, at: &Stretch) -> i32 {
        let vector = at.as_iovec();
        // SAFETY: one element, alive during the call, that lies within a slot of the lane's.
        retry(|| unsafe { libc::preadv(at.fd, &vector, 1, at.offset as libc::off_t) })
    }

    #[inline]
    fn write(&mut self, at: &Stretch) -> i32 {
        let vector = at.as_iovec();
        // SAFETY: as for read; the kernel only reads the bytes.
        retry(|| unsafe { libc::pwritev(at.fd, &vector, 1, at.offset as libc::off_t) })
    }
}
