//! From the C convention (-1 and errno) to a result with the errno in it.
//!
//! Unsafe because errno is read through a pointer of the C library.

use std::io;

/// Calls `call` until it is not interrupted; returns what it returned, or the negative errno if it
/// returned -1.
#[inline]
pub fn retry(mut call: impl FnMut() -> isize) -> i32 {
    loop {
        let returned = call();
        if returned >= 0 {
            // The kernel caps every transfer at 0x7ffff000 bytes (read(2), NOTES).
            return i32::try_from(returned).unwrap_or(i32::MAX);
        }
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        if errno != libc::EINTR {
            return -errno;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_calls_are_made_again() {
        let set_errno = |errno| {
            // SAFETY: the address of the calling thread's own errno, always valid.
            unsafe { *libc::__errno_location() = errno };
            -1
        };
        let mut calls = 0;
        let result = retry(|| {
            calls += 1;
            if calls < 3 { set_errno(libc::EINTR) } else { 512 }
        });
        assert_eq!((calls, result), (3, 512));
        assert_eq!(retry(|| set_errno(libc::ENOSPC)), -libc::ENOSPC);
        assert_eq!(retry(|| 0), 0);
    }
}
