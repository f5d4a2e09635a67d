//! Calls that take the offset with them: `pread64`/`pwrite64` and `preadv`/`pwritev`.
//!
//! They leave the file's own position alone, so they need no state at all.
//!
//! Unsafe: the kernel is handed addresses of slot buffers.

use iolab_engine::{OpenError, OpenRequest};
use iolab_file_calls::retry;

use crate::{Stretch, Transfer};

/// `pread64(2)` and `pwrite64(2)`.
#[derive(Debug)]
pub struct Pread;

impl Transfer for Pread {
    fn open(_request: &OpenRequest<'_>) -> Result<Pread, OpenError> {
        Ok(Pread)
    }

    #[inline]
    fn read(&mut self, at: &Stretch) -> i32 {
        // SAFETY: a Stretch lies within a slot, which is the lane's while it submits.
        retry(|| unsafe { libc::pread(at.fd, at.address.cast(), at.length, at.offset as libc::off_t) })
    }

    #[inline]
    fn write(&mut self, at: &Stretch) -> i32 {
        // SAFETY: as for read; the kernel only reads the bytes.
        retry(|| unsafe { libc::pwrite(at.fd, at.address.cast(), at.length, at.offset as libc::off_t) })
    }
}

/// `preadv(2)` and `pwritev(2)` with one element.
#[derive(Debug)]
pub struct Preadv;

impl Transfer for Preadv {
    fn open(_request: &OpenRequest<'_>) -> Result<Preadv, OpenError> {
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
