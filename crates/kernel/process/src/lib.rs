//! System calls that a worker makes for itself: fork, wait, CPUs, priorities, identity, memory,
//! resource use.
//!
//! Unsafe island: thin wrappers of system calls for which there is no safe wrapper, or none that
//! suffices (above all for fork). This crate does not know what a worker does.
#![allow(unsafe_code, reason = "island: fork, waitpid, futex, set_mempolicy and their kin")]

mod child;
mod futex;
mod placement;
mod signals;
mod usage;

pub use child::{ChildEnd, Fork, end_or_kill, ended_within, exit_now, fork, kill, reap_child, wait_for_child};
pub use futex::{futex_wait, futex_wake_all};
pub use placement::{
    cpu_now, cpus_allowed, cpus_allowed_to, keep_freed_memory, lock_memory, map_large_allocations, name_thread,
    raise_open_files_limit, set_batch, set_cpus, set_cpus_of, set_identity, set_idle, set_io_priority, set_nice,
    set_numa_memory, set_write_life_hint, sharpen_timers,
};
pub use signals::{INTERRUPTS, REPORTS_ASKED, count_signals, survive_size_limits};
pub use usage::{Usage, process_usage, thread_id, thread_usage};
