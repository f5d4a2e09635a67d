//! Counts signals: those that would end the process are requests to end; SIGUSR1 is a request for
//! an interim report.
//!
//! The handler only increments a counter, which is all that a handler may safely do. Forked
//! children inherit it and count for themselves; their parent tells them what to do. Programs that
//! are executed do not inherit it. Unsafe because a signal handler is installed through a C
//! structure.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many signals have arrived that request the end.
pub static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
/// How many SIGUSR1 have arrived.
pub static REPORTS_ASKED: AtomicU32 = AtomicU32::new(0);

/// Signals that are sent on purpose. They request the end even if a shell has set them to be
/// ignored.
const ASKED: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];
/// The other signals that end a process by default (signal(7)): a lost terminal, a timer, a limit
/// of processor time, and signals without a fixed meaning.
const ENDING: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];

extern "C" fn count(signal: libc::c_int) {
    match signal {
        libc::SIGUSR1 => REPORTS_ASKED.fetch_add(1, Ordering::Relaxed),
        // The call that exceeds a size limit, or writes to a closed pipe, returns the error itself.
        libc::SIGXFSZ | libc::SIGPIPE => 0,
        _ => INTERRUPTS.fetch_add(1, Ordering::Relaxed),
    };
}

/// Starts counting. System calls in progress are interrupted, not restarted, so that waits end.
/// Signals that were ignored when this process started (`nohup`) stay ignored.
pub fn count_signals() {
    let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let others = ENDING.into_iter().chain([libc::SIGXFSZ, libc::SIGPIPE]).chain(real_time);
    for signal in others.filter(|signal| !is_ignored(*signal)) {
        handle(signal);
    }
    ASKED.into_iter().chain([libc::SIGUSR1]).for_each(handle);
}

/// From now on, a write beyond the file size limit (`ulimit -f`) fails, as on a full disk, instead
/// of ending the process.
pub fn survive_size_limits() {
    handle(libc::SIGXFSZ);
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only writes the old one to the given place; all zero
    // is a valid value of it if the call fails.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn handle(signal: libc::c_int) {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid (no flags, empty mask). The handler is a C function
    // that lives as long as the program and only does an atomic addition.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = count as *const () as libc::sighandler_t;
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
    }
}
