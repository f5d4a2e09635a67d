//! CPUs, priorities, identity, memory policy and limits of the calling thread.
//!
//! Unsafe because these are C functions that read masks and names through pointers.

use std::io;

fn check(answer: i64) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The calling thread, for calls that take the number of a thread.
const SELF: i32 = 0;

/// Restricts the calling thread to these CPUs (sched_setaffinity(2)).
pub fn set_cpus(cpus: &[usize]) -> io::Result<()> {
    set_cpus_of(SELF, cpus)
}

/// Restricts any thread of this user to these CPUs.
///
/// # Errors
/// The thread is gone, belongs to another user, or may use none of these CPUs.
pub fn set_cpus_of(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET checks its index against the set's
    // size.
    let set = unsafe {
        for &cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut *set.as_mut_ptr());
        }
        set.assume_init()
    };
    // SAFETY: the set is valid for its size.
    check(i64::from(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set) }))
}

/// The CPUs the calling thread may run on, ascending.
pub fn cpus_allowed() -> Vec<usize> {
    cpus_allowed_to(SELF)
}

/// The CPUs that a thread may run on, ascending; none if there is no such thread.
pub fn cpus_allowed_to(thread: i32) -> Vec<usize> {
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the place is valid for its size, and all-zero is the empty set if the call fails;
    // CPU_ISSET checks its index.
    unsafe {
        libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        let set = set.assume_init();
        (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
    }
}

/// The CPU on which the calling thread runs now; `None` if the kernel does not say.
pub fn cpu_now() -> Option<usize> {
    // SAFETY: sched_getcpu has no arguments and touches no memory.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Adds to the calling thread's nice value (setpriority(2)).
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: setpriority touches no memory; id 0 is the caller.
    check(i64::from(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) }))
}

/// Makes the calling thread one that does not preempt others when it wakes up (`SCHED_BATCH`,
/// sched(7)). This needs no privilege.
pub fn set_batch() -> io::Result<()> {
    set_scheduler(libc::SCHED_BATCH)
}

/// Lets the calling thread run only where nothing else would (`SCHED_IDLE`, sched(7)). This needs
/// no privilege.
pub fn set_idle() -> io::Result<()> {
    set_scheduler(libc::SCHED_IDLE)
}

/// sched_setscheduler(2) of the calling thread, as the kernel has it: musl has only a function that
/// refuses, because POSIX means the process.
fn set_scheduler(policy: i32) -> io::Result<()> {
    // `struct sched_param` of the kernel.
    let priority = 0i32;
    // SAFETY: the parameters are valid for the call; thread 0 is the caller.
    check(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) })
}

/// Sets the calling thread's I/O priority: class, level and hint as ioprio_set(2) packs them.
pub fn set_io_priority(class: u8, level: u8, hint: u16) -> io::Result<()> {
    const WHO_PROCESS: i32 = 1;
    let packed = i32::from(class) << 13 | i32::from(hint) << 3 | i32::from(level);
    // SAFETY: ioprio_set touches no memory; id 0 is the caller.
    check(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, packed) })
}

/// Switches group and user identity, in that order.
pub fn set_identity(uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    if let Some(gid) = gid {
        // SAFETY: setgid touches no memory.
        check(i64::from(unsafe { libc::setgid(gid) }))?;
    }
    if let Some(uid) = uid {
        // SAFETY: setuid touches no memory.
        check(i64::from(unsafe { libc::setuid(uid) }))?;
    }
    Ok(())
}

/// Sets the calling thread's memory policy (set_mempolicy(2)): `default`, `prefer`, `bind`,
/// `interleave`, `local`.
pub fn set_numa_memory(mode: &str, nodes: &[usize]) -> io::Result<()> {
    let mode = match mode {
        "prefer" => 1,
        "bind" => 2,
        "interleave" => 3,
        "local" => 4,
        _ => 0,
    };
    let mask = nodes.iter().filter(|node| **node < 64).fold(0_u64, |mask, node| mask | 1 << node);
    let (mask, bits) = if matches!(mode, 0 | 4) { (std::ptr::null(), 0) } else { (&raw const mask, 64_u64) };
    // SAFETY: the mask, if there is one, is 64 bits long and outlives the call.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) })
}

/// Maps and locks this many bytes for the life of the process (fio's `lockmem`).
pub fn lock_memory(bytes: usize) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists. It
    // is never unmapped.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping that was just made.
    check(i64::from(unsafe { libc::mlock(address, bytes) }))
}

/// Names the calling thread for `ps` and `top` (15 bytes are kept).
pub fn name_thread(name: &str) {
    let mut bytes = [0_u8; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name.bytes().filter(|byte| *byte != 0)) {
        *to = from;
    }
    // SAFETY: the name is a NUL-terminated string of at most 16 bytes, as PR_SET_NAME requires.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// Requests the most precise timers of the kernel for this thread (PR_SET_TIMERSLACK of 1 ns).
pub fn sharpen_timers() {
    // SAFETY: prctl with these arguments only sets an attribute of this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Raises the soft limit of open files to the hard limit, if possible.
pub fn raise_open_files_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place is valid for both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Makes the allocator use a separate mapping for every block of more than a few pages, not only
/// for very large ones. Zeroed memory that is never written then uses no pages; otherwise the
/// allocator would write the zeros. This is for a process whose allocations live as long as it
/// does. If the C library has no such setting, nothing changes.
pub fn map_large_allocations() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE_BYTES: i32 = 16 << 10;
        // SAFETY: mallopt takes only numbers, and changes where later allocations come from.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
    }
}

/// Makes the allocator keep what is freed instead of giving it back to the kernel, so that a
/// measured loop that allocates waits for no page. Undoes [`map_large_allocations`] for later
/// allocations. If the C library has no such setting, nothing changes.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        // The most that mallopt(3) takes on 64 bits.
        const MOST_MAPPED_BYTES: i32 = 32 << 20;
        // SAFETY: mallopt takes only numbers, and changes where later allocations come from.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MOST_MAPPED_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        }
    }
}

/// Tells the file system how long written data will live (fcntl F_SET_RW_HINT, `RWH_WRITE_LIFE_*`).
pub fn set_write_life_hint(fd: i32, hint: u64) -> io::Result<()> {
    const F_SET_RW_HINT: i32 = 1036;
    // SAFETY: the hint outlives the call, which reads 8 bytes from it.
    check(i64::from(unsafe { libc::fcntl(fd, F_SET_RW_HINT, &raw const hint) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_can_be_bound_to_a_cpu_it_may_use() {
        let first = cpus_allowed()[0];
        std::thread::spawn(move || {
            set_cpus(&[first]).unwrap();
            assert_eq!(cpus_allowed(), [first]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_empty_set_of_cpus_is_refused() {
        assert!(set_cpus(&[]).is_err());
    }
}
