//! Counting signals: what would end the process, as requests to end; SIGUSR1 as a request for a
//! report so far.
//!
//! The handler only adds to a counter, which is all a handler may safely do. Forked children
//! inherit it and count for themselves; their parent tells them what to do. Programs that are
//! started begin without it. Unsafe because a signal handler is installed through a C structure.

use std::sync::atomic::{AtomicU32, Ordering};

/// How often a signal arrived that asks for the end.
pub static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
/// How often SIGUSR1 arrived.
pub static REPORTS_ASKED: AtomicU32 = AtomicU32::new(0);

/// Signals that are asked for by name: somebody wants the end even where a shell had them ignored.
const ASKED: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];
/// The others that end a process unless it says otherwise (signal(7)): a lost terminal, a timer, a
/// limit of processor time, and those of no fixed meaning.
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
        // The call that went beyond a limit on sizes, or wrote to nobody, says so itself.
        libc::SIGXFSZ | libc::SIGPIPE => 0,
        _ => INTERRUPTS.fetch_add(1, Ordering::Relaxed),
    };
}

/// Starts counting. System calls in progress are interrupted, not restarted, so that waits end.
/// What whoever started this process had ignored (`nohup`) stays ignored.
pub fn count_signals() {
    let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let others = ENDING.into_iter().chain([libc::SIGXFSZ, libc::SIGPIPE]).chain(real_time);
    for signal in others.filter(|signal| !is_ignored(*signal)) {
        handle(signal);
    }
    ASKED.into_iter().chain([libc::SIGUSR1]).for_each(handle);
}

/// From here on a write beyond the limit on sizes (`ulimit -f`) fails like one to a full disk,
/// instead of ending the process.
pub fn survive_size_limits() {
    handle(libc::SIGXFSZ);
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only writes the old one into the place given; all
    // zero is a valid value of it if the call fails.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn handle(signal: libc::c_int) {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid (no flags, empty mask); the handler is a C function
    // that lives as long as the program and does nothing but an atomic addition.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = count as *const () as libc::sighandler_t;
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
    }
}
