//! Memory that another process has sent: it is mapped only if its sender cannot take it away again.
//!
//! When a file is shortened, a process that touches a shared mapping of it is killed (SIGBUS,
//! mmap(2)). A memfd can be sealed against that forever (fcntl(2), `F_SEAL_SHRINK`). Memfds of huge
//! pages are refused even if they are sealed: holes punched into them have the same effect when no
//! huge page is free.
//!
//! Unsafe because it asks the kernel about descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TMPFS_MAGIC` of statfs(2), which memfds of ordinary pages have.
const TMPFS: u64 = 0x0102_1994;

/// Whether a file is a memfd that nobody can shorten any more.
pub fn is_sealed(file: BorrowedFd<'_>) -> bool {
    let mut system = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the first call takes only numbers. The second fills the structure that is passed to
    // it, which is read only after the call has succeeded.
    unsafe {
        let seals = libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS);
        seals >= 0
            && seals & libc::F_SEAL_SHRINK != 0
            && libc::fstatfs(file.as_raw_fd(), system.as_mut_ptr()) == 0
            // The field is signed in one C library, and unsigned in the other.
            && u64::try_from(system.assume_init().f_type).is_ok_and(|kind| kind == TMPFS)
    }
}

/// Refuses memory that could vanish, and a range that the file does not fully contain.
pub(super) fn check(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<()> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if !is_sealed(file) {
        return refused(
            "it is not a memfd of ordinary pages that is sealed against shrinking (memfd_create(2))".to_owned(),
        );
    }
    // The kind of a file does not change, and the seal ensures that it does not get shorter.
    let there = std::fs::File::from(file.try_clone_to_owned()?).metadata()?.len();
    if offset.checked_add(bytes as u64).is_none_or(|end| end > there) {
        return refused(format!("{bytes} bytes at {offset} do not fit into a file of {there} bytes"));
    }
    Ok(())
}
