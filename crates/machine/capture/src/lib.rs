//! Recording what a program does to storage, call by call.
//!
//! ```text
//!  fork ─▶ PTRACE_SEIZE ─▶ seccomp filter (filter.rs) ─▶ exec          (tracee.rs)
//!            every call of the table (calls.rs) stops twice: before it, with its arguments, and after it, with its result
//!            └─▶ descriptors of each process (descriptors.rs), native AIO (aio.rs), io_uring (uring.rs)
//!                   └─▶ operations ─▶ iolab_trace::Writer
//! ```
//! The filter lets all other calls pass at the kernel's own speed. Threads, forks and programs that
//! are started belong to the capture. No root is needed; the command gets `no_new_privs`, so that
//! programs that would change their user do not (prctl(2)).
//!
//! Seen are the calls of the machine's own kind (x86-64 or aarch64). Entries of io_uring are read
//! from the ring that the program shares with the kernel, when the program submits them; a ring
//! that a kernel thread polls (`IORING_SETUP_SQPOLL`) needs no call and is not seen. I/O through
//! mapped memory is not seen either. The trace reports both, and the bytes that calls moved are
//! compared with the kernel's counts for the same threads (`/proc/PID/io`).
//!
//! A program that runs already is captured by tracepoints (attach.rs), which needs root or
//! CAP_PERFMON, and does not stop it.
//!
//! Not here: what the operations mean.

mod aio;
mod attach;
mod by_number;
mod call_ends;
mod calls;
mod capture;
mod descriptors;
mod devices;
mod filter;
mod kernel_counts;
mod memory;
mod one_cpu;
mod open_file;
mod overhead;
mod processes;
mod stop_loop;
mod tracee;
mod uring;

pub use attach::{AttachError, AttachRequest, Attached, attach};
pub use capture::{CaptureError, CaptureRequest, Captured, capture};
pub use overhead::{Overhead, stop_only};
