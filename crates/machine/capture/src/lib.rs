//! Records a program's storage operations, call by call.
//!
//! ```text
//!  fork ─▶ PTRACE_SEIZE ─▶ seccomp filter (filter.rs) ─▶ exec          (tracee.rs)
//!            every call of the table (calls.rs) stops twice: before it, with its arguments, and after it, with its result
//!            └─▶ descriptors of each process (descriptors.rs), native AIO (aio.rs), io_uring (uring.rs)
//!                   └─▶ operations ─▶ iolab_trace::Writer
//! ```
//! The filter lets all other calls pass at the kernel's own speed. The capture includes threads,
//! forks and started programs. Root is not needed; the command gets `no_new_privs`, so that
//! set-user-ID programs do not change their user (prctl(2)).
//!
//! A capture sees the calls of the machine's own architecture (x86-64 or aarch64). Entries of
//! io_uring are read from the ring that the program shares with the kernel, when the program
//! submits them; a ring polled by a kernel thread (`IORING_SETUP_SQPOLL`) needs no call and is not
//! seen. I/O through mapped memory is not seen either. The trace reports both, and the bytes that
//! calls moved are compared with the kernel's counts for the same threads (`/proc/PID/io`).
//!
//! A running program is captured by tracepoints (attach.rs), which needs root or CAP_PERFMON, and
//! does not stop it.
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
