//! Reading the kernel's clocks, and sleeping on them.
//!
//! Unsafe because these are C functions that write through pointers.

/// The time of a clock of the kernel, ns (clock_gettime(2)).
pub(crate) fn kernel_clock_ns(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the clock ids in use always exist on Linux.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of day, ns (gettimeofday(2)).
pub(crate) fn gettimeofday_ns() -> u64 {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: `time` is a valid place for the result; a null time zone is allowed.
    unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// Sleeps for a time of `CLOCK_MONOTONIC`, ns (clock_nanosleep(2)); a signal may end it early.
pub(crate) fn kernel_sleep_ns(ns: u64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    // SAFETY: `time` is a valid request; the remaining time is not requested.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, std::ptr::null_mut()) };
}
