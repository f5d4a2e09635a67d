//! Waits for a word of shared memory to change, across processes (futex(2)).
//!
//! Unsafe because futex(2) has no wrapper: the address of the word is passed directly to the
//! kernel.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`, at most `timeout_ns`; may also return spuriously.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: u64) {
    let time =
        libc::timespec { tv_sec: (timeout_ns / 1_000_000_000) as i64, tv_nsec: (timeout_ns % 1_000_000_000) as i64 };
    // SAFETY: the word and the time outlive the call; FUTEX_WAIT only reads them.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &raw const time) };
}

/// Wakes everyone who waits for `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address only as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
