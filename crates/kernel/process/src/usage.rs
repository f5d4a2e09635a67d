//! CPU time, switches and faults of the calling thread, or of its process (getrusage(2)).
//!
//! Unsafe because getrusage(2) fills a C structure.

/// What a thread has used since it began.
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

/// What the calling thread has used so far.
pub fn thread_usage() -> Usage {
    usage_of(libc::RUSAGE_THREAD)
}

/// What all threads of this process have used so far, including threads of libraries.
pub fn process_usage() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

fn usage_of(who: libc::c_int) -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is valid for the result, and all-zero is a valid rusage if the call fails.
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

/// The kernel's number of the calling thread (gettid(2)), which equals the process ID in a process
/// with one thread.
pub fn thread_id() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}
