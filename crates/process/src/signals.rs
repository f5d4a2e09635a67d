//! Counting signals: SIGINT and SIGTERM as requests to end, SIGUSR1 as a request for a report so far.
//!
//! The handler only adds to a counter, which is all a handler may safely do. Forked children inherit it and
//! count for themselves; their parent tells them what to do.
//! Unsafe because a signal handler is installed through a C structure.

use std::sync::atomic::{AtomicU32, Ordering};

/// How often SIGINT or SIGTERM arrived.
pub static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
/// How often SIGUSR1 arrived.
pub static REPORTS_ASKED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(signal: libc::c_int) {
    let counter = if signal == libc::SIGUSR1 { &REPORTS_ASKED } else { &INTERRUPTS };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Starts counting. System calls in progress are interrupted, not restarted, so that waits end.
pub fn count_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1] {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: an all-zero sigaction is valid (no flags, empty mask); the handler is a C function that lives as
        // long as the program and does nothing but an atomic addition.
        unsafe {
            (*action.as_mut_ptr()).sa_sigaction = count as *const () as libc::sighandler_t;
            libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
        }
    }
}
