//! The system calls on the paths of a tree.
//!
//! Unsafe: they take C strings, structures to fill, and addresses of slots.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use iolab_engine::file_calls::{fsync, retry};

/// Memory of a slot that the loop has lent for one operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    address: *mut u8,
    length: usize,
}

impl Lent {
    /// # Safety
    /// `length` bytes from `address` lie within one slot, which the caller owns during the call.
    pub(super) unsafe fn new(address: *mut u8, length: usize) -> Lent {
        Lent { address, length }
    }
}

/// Creates a file, or opens one that exists; writes all of `data`, makes it durable if `sync`, and
/// closes it. 0 or a negative errno.
pub(super) fn create(path: &CStr, data: Option<Lent>, sync: bool) -> i32 {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: a C string that outlives the call.
    let fd = retry(|| unsafe { libc::open(path.as_ptr(), flags, 0o600) } as isize);
    if fd < 0 {
        return fd;
    }
    let mut result = data.map_or(0, |lent| write_all(fd, lent));
    if result == 0 && sync {
        result = fsync(fd);
    }
    closed(fd, result)
}

/// Opens a file, reads `data.length` bytes and closes it. 0 or a negative errno: `ENODATA` if the
/// file is shorter.
pub(super) fn read(path: &CStr, data: Lent) -> i32 {
    // SAFETY: a C string that outlives the call.
    let fd = retry(|| unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) } as isize);
    if fd < 0 {
        return fd;
    }
    closed(fd, read_all(fd, data))
}

fn write_all(fd: RawFd, data: Lent) -> i32 {
    let mut done = 0;
    while done < data.length {
        // SAFETY: the rest of the lent memory, whose owner has promised that it stays.
        let moved = retry(|| unsafe { libc::write(fd, data.address.add(done).cast(), data.length - done) });
        match moved {
            0 => return -libc::EIO,
            moved if moved < 0 => return moved,
            moved => done += moved as usize,
        }
    }
    0
}

fn read_all(fd: RawFd, data: Lent) -> i32 {
    let mut done = 0;
    while done < data.length {
        // SAFETY: the rest of the lent memory, whose owner has promised that it stays.
        let moved = retry(|| unsafe { libc::read(fd, data.address.add(done).cast(), data.length - done) });
        match moved {
            0 => return -libc::ENODATA,
            moved if moved < 0 => return moved,
            moved => done += moved as usize,
        }
    }
    0
}

/// Closes, which may say that earlier writes failed.
fn closed(fd: RawFd, result: i32) -> i32 {
    // SAFETY: a descriptor that this module opened, closed once.
    let closing = if unsafe { libc::close(fd) } < 0 { -last_errno() } else { 0 };
    if result < 0 { result } else { closing }
}

/// The errno of the call that has just failed.
pub(super) fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// `stat(2)`.
pub(super) fn stat(path: &CStr) -> i32 {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a C string that outlives the call, and a structure to fill.
    retry(|| unsafe { libc::stat(path.as_ptr(), found.as_mut_ptr()) } as isize)
}

/// `mkdir(2)`, mode 0700.
pub(super) fn make_directory(path: &CStr) -> i32 {
    // SAFETY: a C string that outlives the call.
    retry(|| unsafe { libc::mkdir(path.as_ptr(), 0o700) } as isize)
}

/// `unlink(2)`.
pub(super) fn unlink(path: &CStr) -> i32 {
    // SAFETY: a C string that outlives the call.
    retry(|| unsafe { libc::unlink(path.as_ptr()) } as isize)
}

/// `rmdir(2)`.
pub(super) fn remove_directory(path: &CStr) -> i32 {
    // SAFETY: a C string that outlives the call.
    retry(|| unsafe { libc::rmdir(path.as_ptr()) } as isize)
}
