//! CPU time, switches and faults of the calling thread, or of its process (getrusage(2)).
//!
//! Unsafe because getrusage(2) fills a C structure.

/// What the thread has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User time, ns (the kernel counts microseconds).
    pub user_ns: u64,
    /// System time, ns.
    pub system_ns: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
}

/// The calling thread's use so far.
pub fn thread_usage() -> Usage {
    usage_of(libc::RUSAGE_THREAD)
}

/// The use so far of all threads of this process, those that a library started included.
pub fn process_usage() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

fn usage_of(who: libc::c_int) -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is valid for the result, and all-zero is a valid rusage should the call
    // fail.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// Kernel id of the calling thread (gettid(2)); equals the process id in a single-threaded process.
pub fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}
